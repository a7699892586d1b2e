import { lstatSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/** So many folders that are not there yet may a path have at its end. */
const MISSING_LIMIT = 64

/**
 * The real path of a file of the workspace, every symbolic link on the way resolved; it need not be there. Null for one
 * that leads outside. `cwd` is the workspace; a relative path starts there. Throws the system's error where the
 * workspace is not there.
 */
export function pathInside(cwd: string, path: string): string | null {
  if (path.includes('\0')) return null
  const root = realpathSync(cwd)
  const real = realPathOf(isAbsolute(path) ? path : resolve(root, path))
  if (real === null) return null
  return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep) ? real : null
}

/** Names by which some file system finds `.git`: without regard to case, by a short name, with something at the end. */
const GIT_NAME = /^(\.git|git~\d+)[. ]*(:.*)?$/i
/** Characters that a file system may leave out of a name. */
const LEFT_OUT = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/**
 * Whether a path leads to the work in the workspace; nothing does where that is not there. What belongs to a `.git`, at
 * any depth, is not the work: git runs programs that are named there, for whoever calls it.
 */
export function leadsInside(cwd: string, path: string): boolean {
  try {
    const real = pathInside(cwd, path)
    if (real === null) return false
    const names = relative(realpathSync(cwd), real).split(sep)
    return !names.some((name) => GIT_NAME.test(name.replace(LEFT_OUT, '')))
  } catch {
    return false
  }
}

function realPathOf(path: string): string | null {
  const missing: string[] = []
  let there = resolve(path)
  while (missing.length < MISSING_LIMIT) {
    try {
      return join(realpathSync(there), ...missing)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      if (code !== 'ENOENT') return null
      // A link to nowhere would be followed when the file is made.
      if (isLink(there)) return null
      missing.unshift(basename(there))
      if (dirname(there) === there) return null
      there = dirname(there)
    }
  }
  return null
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
}
