/** The words of a command line, with quotes as in a shell; null where a quote is not closed. */
export function wordsOf(line: string): string[] | null {
  const words: string[] = []
  let word: string | null = null
  let quote: string | null = null
  for (const char of line) {
    if (quote !== null) {
      if (char === quote) quote = null
      else word = (word ?? '') + char
    } else if (char === '"' || char === "'") {
      quote = char
      word ??= ''
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word)
      word = null
    } else word = (word ?? '') + char
  }
  if (quote !== null) return null
  if (word !== null) words.push(word)
  return words
}

/** A command line that `wordsOf` reads as these words. */
export function commandLine(words: readonly string[]): string {
  return words
    .map((word) => {
      if (word === '') return '""'
      if (!/[\s"']/.test(word)) return word
      const parts = word.match(/[^"]+|"+/g) ?? []
      return parts.map((part) => (part.startsWith('"') ? `'${part}'` : `"${part}"`)).join('')
    })
    .join(' ')
}
