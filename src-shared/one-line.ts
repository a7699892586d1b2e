/** Line breaks and other control characters, and marks that turn the direction of the text around them. */
const CONTROLS = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]+/gu

/** A text for one line of a list, a branch or a commit: without anything that moves the cursor or hides what follows. */
export function oneLine(text: string): string {
  return text.replace(CONTROLS, ' ').replace(/ {2,}/g, ' ').trim()
}
