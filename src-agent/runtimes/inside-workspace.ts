import { readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/** Links to things that are not there yet, one leading to the next. */
const LINKS = 40

/**
 * Where a path leads within the workspace, with all of its links followed as far as it exists: relative to it, '' for
 * the workspace itself. Null where it leads out of it, or nobody can tell.
 */
export function wayInside(cwd: string, path: string): string | null {
  const root = realOf(cwd, LINKS)
  const real = realOf(resolve(cwd, path), LINKS)
  if (root === null || real === null) return null
  const way = relative(root, real)
  return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way) ? null : way
}

function realOf(path: string, links: number): string | null {
  try {
    return realpathSync(path)
  } catch {
    // What is not there is made where the nearest folder that is there leads, or where its own link leads.
    const target = linkOf(path)
    if (target !== null) return links === 0 ? null : realOf(target, links - 1)
    const parent = dirname(path)
    if (parent === path) return null
    const real = realOf(parent, links)
    return real === null ? null : join(real, basename(path))
  }
}

function linkOf(path: string): string | null {
  try {
    return resolve(dirname(path), readlinkSync(path))
  } catch {
    return null
  }
}
