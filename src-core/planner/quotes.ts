const special = /[.*+?^${}()|[\]\\/-]/g

/**
 * Where a quote stands in its source: the line of its first word, from 1; undefined where it does not. White space is
 * folded, also over ends of lines; nothing else is.
 */
export function lineOfQuote(source: string, quote: string): number | undefined {
  const words = quote.split(/\s+/).filter((word) => word !== '')
  if (words.length === 0) return undefined
  const pattern = words.map((word) => word.replace(special, '\\$&')).join('\\s+')
  const found = new RegExp(pattern).exec(source)
  if (found === null) return undefined
  return source.slice(0, found.index).split('\n').length
}
