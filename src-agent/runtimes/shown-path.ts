import { isAbsolute, relative } from 'node:path'

/** A path as people read it: within the workspace relative to it. */
export function shownPath(path: string, cwd: string): string {
  const inside = relative(cwd, path)
  return isAbsolute(path) && inside !== '' && !inside.startsWith('..') && !isAbsolute(inside)
    ? inside
    : path
}
