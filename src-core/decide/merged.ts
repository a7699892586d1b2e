/** A record with a change of it: what is null of the change goes, what is absent stays. */
export function merged<T>(
  current: Readonly<Record<string, T>>,
  change: Readonly<Record<string, T | null>> = {},
): Record<string, T> {
  const next: Record<string, T> = { ...current }
  for (const [name, value] of Object.entries(change)) {
    if (value === null) delete next[name]
    else next[name] = value
  }
  return next
}
