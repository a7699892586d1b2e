/**
 * Characters that a reader cannot see and that can change how the text around them reads:
 * direction controls, invisible letters, and control codes other than line feed and tab.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\uffff]|\udb40[\udc00-\udc7f]/g

const name = (character: string) =>
  `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`

/** The text with every hidden character shown by its number, such as `⟨U+202E⟩`. */
export function showControls(text: string): string {
  return text.replace(hidden, name)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control code
const escapes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g

/** What a program wrote for a terminal, as text: without colours, each line as it was left by carriage returns. */
export function plainOutput(text: string): string {
  let plain = text.includes('\u001b') ? text.replace(escapes, '') : text
  if (plain.includes('\r')) {
    plain = plain.replace(/\r+\n/g, '\n').replace(/[^\n]*\r(?=[^\n])/g, '').replace(/\r/g, '')
  }
  return showControls(plain)
}
