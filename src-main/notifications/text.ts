/**
 * What must not reach a notification: control codes, direction controls, invisible letters, halves of characters. The
 * two joiners stay, which emoji and some scripts need.
 */
const HIDDEN = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu
const SPACE = /(?:(?!\ufeff)[\s\p{Zl}\p{Zp}])+/gu

export type PlainText = {
  text: string
  /** Nothing but white space differs from what was given. */
  whole: boolean
}

/** An agent's text as one line of at most `max` code points, without anything that a reader cannot see. */
export function plainText(given: string, max: number): PlainText {
  // Only so much is looked at: a text of megabytes must not cost a moment of the main process.
  const begin = given.slice(0, max * 8)
  const folded = begin.replace(SPACE, ' ').trim()
  const shown = folded.replace(HIDDEN, '').replace(SPACE, ' ').trim()
  const points = [...shown]
  const whole = begin.length === given.length && shown === folded && points.length <= max
  if (points.length <= max && begin.length === given.length) return { text: shown, whole }
  return {
    text: `${points
      .slice(0, max - 1)
      .join('')
      .trimEnd()}…`,
    whole: false,
  }
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const LOOKALIKES: Readonly<Record<string, string>> = { '<': '‹', '>': '›' }

/**
 * A notification's body for the freedesktop service, which may take it for markup: escaped where the service says that
 * it reads markup, and without anything that looks like a tag where it says nothing, since it may then take tags out.
 */
export function bodyFor(text: string, readsMarkup: boolean): string {
  return readsMarkup
    ? text.replace(/[&<>]/g, (sign) => ENTITIES[sign] ?? '')
    : text.replace(/[<>]/g, (sign) => LOOKALIKES[sign] ?? '')
}
