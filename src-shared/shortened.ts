/** A text of at most so many UTF-16 code units, with … where something is missing. */
export const shortened = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text
