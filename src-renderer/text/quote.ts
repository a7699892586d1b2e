/** A piece of a text, in UTF-16 code units. */
export type Place = { from: number; to: number }

const isSpace = (sign: string | undefined) => sign !== undefined && /\s/.test(sign)

/**
 * Where a quote stands in a text when white space is folded, and nothing else; the first place at or behind `from`,
 * else the first of all. Undefined where it is not in it.
 */
export function findQuote(text: string, quote: string, from = 0): Place | undefined {
  const words = quote.trim().split(/\s+/)
  if (words[0] === undefined || words[0] === '') return undefined
  const pattern = new RegExp(
    words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('\\s+'),
    'g',
  )
  pattern.lastIndex = Math.min(from, text.length)
  const found = pattern.exec(text) ?? (from > 0 ? new RegExp(pattern.source).exec(text) : null)
  if (found === null) return undefined
  let to = found.index + found[0].length
  while (to > found.index && isSpace(text[to - 1])) to -= 1
  return { from: found.index, to }
}
