import { createHash } from 'node:crypto'
import type { BlobText } from '../../src-shared/agent-wire.ts'
import { BlobId } from '../../src-shared/ids.ts'
import { INLINE_LIMIT_BYTES } from '../../src-shared/timeline.ts'

/** A text as an event carries it, and the blob that keeps the whole of a longer one. */
export type InlineText = { text: string; blob: BlobText | null; id: BlobId | null }

/** Cuts a text at the inline limit (bytes of UTF-8), never inside a character. */
export function inlineText(text: string): InlineText {
  if (text.length * 3 <= INLINE_LIMIT_BYTES) return { text, blob: null, id: null }
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length <= INLINE_LIMIT_BYTES) return { text, blob: null, id: null }
  let end = INLINE_LIMIT_BYTES
  // 10xxxxxx goes on with a character that began before.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  const id = BlobId.parse(createHash('sha256').update(bytes).digest('hex'))
  return { text: bytes.toString('utf8', 0, end), blob: { id, text }, id }
}
