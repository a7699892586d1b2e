import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'

/** So many folders that are not there yet may a path have at its end. */
const MISSING_LIMIT = 64

/**
 * The real path of a file of the workspace, every symbolic link on the way resolved; it need not be there. Null for one
 * that leads outside. `cwd` is the workspace; a relative path starts there.
 */
export async function pathInside(cwd: string, path: string): Promise<string | null> {
  if (path.includes('\0')) return null
  const root = await realpath(cwd)
  const real = await realPathOf(isAbsolute(path) ? path : resolve(root, path))
  if (real === null) return null
  return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep) ? real : null
}

async function realPathOf(path: string): Promise<string | null> {
  const missing: string[] = []
  let there = resolve(path)
  while (missing.length < MISSING_LIMIT) {
    try {
      return join(await realpath(there), ...missing)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      if (code !== 'ENOENT') return null
      // A link to nowhere would be followed when the file is made.
      if (await isLink(there)) return null
      missing.unshift(basename(there))
      if (dirname(there) === there) return null
      there = dirname(there)
    }
  }
  return null
}

async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isSymbolicLink(),
    () => false,
  )
}
