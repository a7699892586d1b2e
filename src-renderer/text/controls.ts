/**
 * Characters that a reader cannot see and that can change how the text around them reads: direction controls,
 * invisible letters, and control codes. Left alone: line feed, tab, and the two joiners, which emoji and some
 * scripts need.
 */
const hidden = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

const name = (character: string) =>
  `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`

/** The text with every hidden character shown by its number, such as `⟨U+202E⟩`. */
export function showControls(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(hidden, name)
}

/** Colours, cursor moves and titles: sequences that begin with the control code for escape. */
const escapes = sequences(String.fromCharCode(27), String.fromCharCode(7))

function sequences(esc: string, bell: string): RegExp {
  const control = '\\[[0-?]*[ -/]*[@-~]'
  const title = `\\][^${bell}${esc}]*(?:${bell}|${esc}\\\\)`
  return new RegExp(`${esc}(?:${control}|${title}|[@-Z\\\\-_])`, 'g')
}

/** What a program wrote for a terminal, as text: without colours, each line as it was left by carriage returns. */
export function plainOutput(text: string): string {
  let plain = text.includes('\u001b') ? text.replace(escapes, '') : text
  if (plain.includes('\r')) {
    plain = plain
      .replace(/\r+\n/g, '\n')
      .replace(/[^\n]*\r(?=[^\n])/g, '')
      .replace(/\r/g, '')
  }
  return showControls(plain)
}
