import { stripVTControlCharacters } from 'node:util'
import stringWidth from 'string-width'

/**
 * Text of an agent or of a repository, safe to print: without escape sequences, without control characters and
 * without marks that reorder what is read. Lines and tabs stay.
 */
export function plainText(text: string): string {
  return withoutControls(stripVTControlCharacters(text))
}

/** Like `plainText` for a piece of a text, whose escape sequences may be cut: their first characters go. */
export function withoutControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '')
}

/** Without the line breaks at its end. */
export function withoutLastBreaks(text: string): string {
  let end = text.length
  while (text[end - 1] === '\n') end -= 1
  return text.slice(0, end)
}

/** Plain text on one line. */
export function oneLine(text: string): string {
  return plainText(text).replace(/\s+/g, ' ').trim()
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** The beginning of one line that fits into so many cells, with `…` where it was cut. */
export function fitted(text: string, cells: number): string {
  if (stringWidth(text) <= cells) return text
  let fitting = ''
  let width = 0
  for (const { segment } of graphemes.segment(text)) {
    const next = stringWidth(segment)
    if (width + next > cells - 1) break
    fitting += segment
    width += next
  }
  return `${fitting}…`
}
