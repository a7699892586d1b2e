import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TempFolder {
  /** Real and short: sockets and runtimes bear no long paths. */
  readonly path: string
  remove(): Promise<void>
}

export async function makeTempFolder(prefix = 'b-'): Promise<TempFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), prefix)))
  return {
    path,
    // What still ends may write for a moment: the removal tries again.
    remove: () => rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }),
  }
}

/** Runs `use` with a folder that is gone afterwards. */
export async function withTempFolder<T>(use: (path: string) => Promise<T>): Promise<T> {
  const folder = await makeTempFolder()
  try {
    return await use(folder.path)
  } finally {
    await folder.remove()
  }
}
