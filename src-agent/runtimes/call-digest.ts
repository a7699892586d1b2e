import { createHash } from 'node:crypto'

/** sha256 of a tool's name and its whole arguments: the identical call has the same. */
export function callDigest(name: string, input: unknown): string {
  return createHash('sha256')
    .update(canonical([name, input]))
    .digest('hex')
}

/** JSON with the keys of objects in order, so that equal values give equal texts. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
