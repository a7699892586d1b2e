/** A source to look quotes up in: its lines with white space folded, one after another. */
export type FoldedSource = {
  text: string
  /** Where each line that is not blank begins in the text, and its number in the source, from 1. */
  lines: readonly { at: number; number: number }[]
}

const folded = (text: string) => text.trim().replace(/\s+/g, ' ')

/** White space is folded, also over ends of lines; nothing else is. Once for all quotes: it takes as long as the source. */
export function foldSource(source: string): FoldedSource {
  const kept: string[] = []
  const lines: { at: number; number: number }[] = []
  let at = 0
  for (const [index, line] of source.split('\n').entries()) {
    const text = folded(line)
    if (text === '') continue
    kept.push(text)
    lines.push({ at, number: index + 1 })
    at += text.length + 1
  }
  return { text: kept.join(' '), lines }
}

/** The line in which a quote begins in its source, from 1; undefined where it does not stand there. */
export function lineOfQuote({ text, lines }: FoldedSource, quote: string): number | undefined {
  const wanted = folded(quote)
  const at = wanted === '' ? -1 : text.indexOf(wanted)
  return at < 0 ? undefined : lines.filter((line) => line.at <= at).at(-1)?.number
}
