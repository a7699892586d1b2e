import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { World } from './world.ts'

type Place = Pick<World, 'env' | 'platform' | 'home' | 'cwd'>

/** The folder that a command means: `--data`, else `BALLET_DATA`, else the application's own. */
export function dataFolder(option: string | undefined, place: Place): string {
  const named = option ?? place.env.BALLET_DATA
  if (named !== undefined && named !== '') return resolve(place.cwd, named)
  return join(configFolder(place), 'ballet')
}

/** Where Electron keeps the data of applications (its `appData`). */
function configFolder({ env, platform, home }: Place): string {
  switch (platform) {
    case 'darwin':
      return join(home, 'Library', 'Application Support')
    case 'win32':
      return env.APPDATA ?? join(home, 'AppData', 'Roaming')
    default:
      return env.XDG_CONFIG_HOME || join(home, '.config')
  }
}

/**
 * The socket of the host on a data folder. A path that is too long for a socket is kept elsewhere, and the file
 * `socket.path` names it.
 */
export async function socketPath(dataDir: string): Promise<string> {
  try {
    const elsewhere = (await readFile(join(dataDir, 'socket.path'), 'utf8')).trim()
    if (elsewhere !== '') return elsewhere
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  return join(dataDir, 'ballet.sock')
}

function isMissing(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    (error.code === 'ENOENT' || error.code === 'ENOTDIR')
  )
}
