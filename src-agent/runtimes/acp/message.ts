import type { Delivery } from '../../../src-shared/agent-wire.ts'

export type PromptBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; mimeType: string; data: string }

/**
 * A message as the agent reads it. `before` are texts that come first: the protocol has no place for a system prompt,
 * so that of a new conversation begins its first message.
 */
export function promptOf(delivery: Delivery, before: readonly string[]): PromptBlock[] {
  const { preface = '', text, images = [] } = delivery
  const first = [...before, preface].filter((part) => part !== '')
  return [
    ...first.map((part) => ({ type: 'text' as const, text: `${part}\n\n` })),
    ...(text === '' && (images.length > 0 || first.length > 0)
      ? []
      : [{ type: 'text' as const, text: first.length === 0 ? asText(text) : text }]),
    ...images.map(({ mediaType, data }) => ({ type: 'image' as const, mimeType: mediaType, data })),
  ]
}

/** A leading slash would make a command of the message, also after white space. */
function asText(text: string): string {
  return text.trimStart().startsWith('/') ? `Message:\n${text}` : text
}

/** Set apart from what the person says. */
export function instructionsOf(prompt: string, notes: string | null): string {
  const parts = [prompt.trim(), notes ?? ''].filter((part) => part !== '')
  if (parts.length === 0) return ''
  return `${parts.join('\n\n')}\n\n---\n\nThe instructions above are for the whole conversation. The first message follows.`
}
