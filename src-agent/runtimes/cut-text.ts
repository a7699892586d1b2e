import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { BlobText } from '../../src-shared/agent-wire.ts'
import { BlobId } from '../../src-shared/ids.ts'
import { shortened } from '../../src-shared/shortened.ts'
import { INLINE_LIMIT_BYTES } from '../../src-shared/timeline.ts'

export type CutText = {
  /** The text itself, or its beginning, at most the limit in bytes of UTF-8. */
  text: string
  /** Set when the text was cut: the whole of it. */
  blob?: z.infer<typeof BlobText> & { id: BlobId }
}

/** Cuts a text at the inline limit, between two characters. */
export function cutText(whole: string, limitBytes = INLINE_LIMIT_BYTES): CutText {
  // UTF-8 needs at most three bytes for each UTF-16 unit.
  if (whole.length * 3 <= limitBytes) return { text: whole }
  if (Buffer.byteLength(whole) <= limitBytes) return { text: whole }
  const id = BlobId.parse(createHash('sha256').update(whole).digest('hex'))
  return { text: cutBytes(whole, limitBytes), blob: { id, text: whole } }
}

/** The longest beginning of the text that fits into so many bytes of UTF-8. */
export function cutBytes(text: string, limitBytes: number): string {
  const bytes = Buffer.from(text.slice(0, limitBytes), 'utf8')
  if (bytes.length <= limitBytes) return text.slice(0, limitBytes)
  let end = limitBytes
  // Bytes 10xxxxxx continue a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}

/** The first line of a text, at most so many characters, with … where something is missing. */
export function oneLine(text: string, limit = 200): string {
  const line = text.trim().split('\n', 1)[0]?.trimEnd() ?? ''
  if (line.length > limit) return shortened(line, limit)
  return line.length < text.trim().length ? `${line} …` : line
}
