import { accept, type Result, refuse } from '../../src-shared/refusal.ts'

/** The shortest beginning of an id that stands for it. */
export const PREFIX_MIN = 4

const PREFIX = /^[0-9a-f-]{4,36}$/

/** The beginning of an id that a reference may be, in lower case; undefined when it cannot be one. */
export function idPrefix(ref: string): string | undefined {
  const lower = ref.toLowerCase()
  return PREFIX.test(lower) ? lower : undefined
}

/** For comparing names as people read them. */
export function folded(name: string): string {
  return name.normalize('NFC').toLowerCase()
}

export type Candidate<T> = { value: T; id: string; label: string }

/**
 * Picks what a reference means: an exact match wins over beginnings of ids, of which there may be only one.
 * `what` names the kind in refusals (`ticket`), `list` the command that shows what there is.
 */
export function pick<T>(
  what: string,
  ref: string,
  exact: T | undefined,
  candidates: readonly Candidate<T>[],
  list: string,
): Result<T> {
  if (exact !== undefined) return accept(exact)
  const [first, ...others] = candidates
  if (first === undefined) {
    const short =
      ref.length < PREFIX_MIN && /^[0-9a-f-]+$/i.test(ref)
        ? ` A beginning of an id needs at least ${PREFIX_MIN} characters.`
        : ''
    return refuse(
      `${what}.not-found`,
      `There is no ${what} ${JSON.stringify(ref)}.${short}`,
      `See what there is with: ${list}`,
    )
  }
  if (others.length === 0) return accept(first.value)
  const named = candidates.slice(0, 8).map(({ id, label }) => `${id} (${label})`)
  const more = candidates.length > 8 ? `, and ${candidates.length - 8} more` : ''
  return refuse(
    `${what}.ambiguous`,
    `${JSON.stringify(ref)} is the beginning of more than one ${what}: ${named.join(', ')}${more}.`,
    'Give more of the id.',
  )
}
