/** Reasons as one, for people: each may be a sentence or a part of one; what is empty is left out. */
export function joinReasons(...reasons: readonly string[]): string {
  return reasons
    .map((reason) => reason.trim().replace(/(?<!\.)\.$/, ''))
    .filter((reason) => reason !== '')
    .join('; ')
}
