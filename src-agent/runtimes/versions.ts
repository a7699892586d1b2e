import type { Refusal } from '../../src-shared/refusal.ts'
import type { RuntimeVersions } from '../../src-shared/runtimes.ts'

/** Compares versions such as `2.1.332`. */
export function isOlder(version: string, than: string): boolean {
  const a = version.split(/[.+-]/).map(Number)
  const b = than.split(/[.+-]/).map(Number)
  for (const [index, wanted] of b.entries()) {
    const part = a[index] ?? 0
    if (part !== wanted) return part < wanted
  }
  return false
}

/** Says of a runtime that it is newer than every tested version; null where it is not. `title` is what people call it. */
export function newerNotice(
  title: string,
  version: string | null,
  { tested }: RuntimeVersions,
): Refusal | null {
  const newest = tested.at(-1)
  if (version === null || newest === undefined || !isOlder(newest, version)) return null
  return {
    code: 'runtime.newer',
    message: `${title} ${version} is newer than ${newest}, the newest that Ballet was tested with.`,
    hint: 'It is used all the same. If something is odd, install the tested one.',
  }
}
