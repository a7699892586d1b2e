import type { z } from 'zod'
import type { Delivery } from '../../../src-shared/agent-wire.ts'

/** A message as the server reads it. */
export function messageInput(delivery: z.infer<typeof Delivery>): object[] {
  const text = [delivery.preface ?? '', delivery.text].filter((part) => part !== '').join('\n\n')
  const images = delivery.images ?? []
  return [
    ...(text === '' && images.length > 0 ? [] : [{ type: 'text', text }]),
    ...images.map(({ mediaType, data }) => ({
      type: 'image',
      url: `data:${mediaType};base64,${data}`,
    })),
  ]
}

/** What the model is told of a denied permission beside the denial. */
export function denialText(title: string, reason: string): string {
  return `A person denied your request "${title}": ${reason}`
}
