import type { Stats } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { absolutePath, type PathBytes } from './path-bytes.ts'

/** Those that are there; a folder where a file is expected is not there either. */
export async function statAll(
  cwd: string,
  paths: readonly PathBytes[],
): Promise<Map<PathBytes, Stats>> {
  const found = new Map<PathBytes, Stats>()
  for (let at = 0; at < paths.length; at += 256) {
    const some = paths.slice(at, at + 256)
    const infos = await Promise.all(some.map((path) => statIfThere(absolutePath(cwd, path))))
    for (const [index, path] of some.entries()) {
      const info = infos[index]
      if (info?.isFile() || info?.isSymbolicLink()) found.set(path, info)
    }
  }
  return found
}

async function statIfThere(path: Buffer): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
