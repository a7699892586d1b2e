import { z } from 'zod'
import type { Delivery } from '../../../src-shared/agent-wire.ts'
import type { DeliveryId } from '../../../src-shared/ids.ts'
import type { RuntimeProcess } from './runtime-process.ts'

const TAKE_BACK_MS = 500
const Cancelled = z.looseObject({ cancelled: z.boolean() })

/** A message as the runtime reads it, under the delivery's own id. */
export function messageLine(delivery: z.infer<typeof Delivery>): Readonly<Record<string, unknown>> {
  return {
    type: 'user',
    message: { role: 'user', content: messageContent(delivery) },
    parent_tool_use_id: null,
    uuid: delivery.id,
  }
}

/** Its text, or blocks where there are images. */
function messageContent(delivery: z.infer<typeof Delivery>): unknown {
  const text = messageText(delivery)
  const { images = [] } = delivery
  if (images.length === 0) return text
  return [
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...images.map(({ mediaType, data }) => ({
      type: 'image',
      source: { type: 'base64', media_type: mediaType, data },
    })),
  ]
}

/** A leading slash would make a command of the message. */
export function messageText(delivery: Pick<z.infer<typeof Delivery>, 'text' | 'preface'>): string {
  const text = [delivery.preface ?? '', delivery.text].filter((part) => part !== '').join('\n\n')
  return text.startsWith('/') ? `\n${text}` : text
}

/** Takes a message back that no turn has taken yet; false where the runtime does not say that it could. */
export async function takeBack(process: RuntimeProcess, id: DeliveryId): Promise<boolean> {
  try {
    const request = { subtype: 'cancel_async_message', message_uuid: id }
    return Cancelled.parse(await process.control(request, TAKE_BACK_MS)).cancelled
  } catch {
    // It may still have it: what it tells next, or its record, says so.
    return false
  }
}
