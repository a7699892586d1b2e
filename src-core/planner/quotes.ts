/**
 * Where a quote stands in its source: the line in which it begins, from 1; undefined where it does not. White space is
 * folded, also over ends of lines; nothing else is.
 */
export function lineOfQuote(source: string, quote: string): number | undefined {
  const wanted = quote.trim().split(/\s+/).join(' ')
  if (wanted === '') return undefined
  const words = [...source.matchAll(/\S+/g)]
  const at = words
    .map(([word]) => word)
    .join(' ')
    .indexOf(wanted)
  if (at < 0) return undefined
  let end = -1
  for (const { 0: word, index } of words) {
    end += word.length + 1
    if (at < end) return source.slice(0, index).split('\n').length
  }
  return undefined
}
