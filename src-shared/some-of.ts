const MOST_NAMES = 10

/** Names for people, ten at most: `a, b and 3 more`. */
export function someOf(names: readonly string[]): string {
  const some = names.slice(0, MOST_NAMES)
  const more = names.length > some.length ? ` and ${names.length - some.length} more` : ''
  return `${some.join(', ')}${more}`
}
