import { deflateRawSync, inflateRawSync } from 'node:zlib'

/** Smaller texts are not worth the time. */
const COMPRESS_FROM_BYTES = 1024

/** Compressed content is kept only where it saves at least a tenth. */
const WORTH = 0.9

const LONE_SURROGATE = /\p{Surrogate}/u

/** A text as bytes; `encoding` says how, with `+deflate` where they are compressed. */
export function encodeBlob(text: string): { encoding: string; content: Buffer } {
  // Half of a surrogate pair, where somebody cut a text, would not survive UTF-8.
  const charset = LONE_SURROGATE.test(text) ? 'utf16le' : 'utf8'
  const plain = Buffer.from(text, charset)
  if (plain.length < COMPRESS_FROM_BYTES) return { encoding: charset, content: plain }
  const packed = deflateRawSync(plain, { level: 3 })
  return packed.length < plain.length * WORTH
    ? { encoding: `${charset}+deflate`, content: packed }
    : { encoding: charset, content: plain }
}

export function decodeBlob(encoding: string, content: Buffer): string {
  const [charset, packed] = encoding.split('+')
  const plain = packed === 'deflate' ? inflateRawSync(content) : content
  return plain.toString(charset === 'utf16le' ? 'utf16le' : 'utf8')
}
