import { createHash } from 'node:crypto'
import { chmod, lstat, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import type { DataFolder } from './data-folder.ts'
import { makeFolder } from './make-folder.ts'

/** Node cuts a longer path of a unix socket (107 bytes on Linux, 103 on macOS) without a word. */
const LIMIT_BYTES = 100

type Place = { env: NodeJS.ProcessEnv; platform: NodeJS.Platform }

/**
 * Where the socket of a data folder is; in the folder, if the path is not too long. Else the file `socket.path`
 * names it. The folder that it lies in is the user's alone.
 */
export async function placeSocket(
  folder: DataFolder,
  { env, platform }: Place = process,
): Promise<string> {
  const id = createHash('sha256').update(folder.dataDir).digest('hex').slice(0, 16)
  if (platform === 'win32') {
    return name(folder, `\\\\.\\pipe\\ballet-${id}`)
  }
  if (Buffer.byteLength(folder.socket) <= LIMIT_BYTES) {
    await rm(folder.socketPath, { force: true })
    return folder.socket
  }
  const candidates = [env.XDG_RUNTIME_DIR, tmpdir(), '/tmp'].filter(
    (base): base is string => base !== undefined && base !== '',
  )
  for (const base of candidates) {
    const own = join(base, `ballet-${userInfo().uid}`)
    const path = join(own, `${id}.sock`)
    if (Buffer.byteLength(path) <= LIMIT_BYTES && (await makePrivate(own))) {
      return name(folder, path)
    }
  }
  throw new BalletError({
    code: 'host.socket-path',
    message: `There is no place for the socket of ${folder.dataDir}: its path is too long, and none of ${candidates.join(', ')} can hold a folder of your own.`,
    hint: 'Use a data folder with a shorter path, or set XDG_RUNTIME_DIR to a folder of your own.',
  })
}

async function name(folder: DataFolder, path: string): Promise<string> {
  await writeFile(folder.socketPath, `${path}\n`, { mode: 0o600 })
  return path
}

/** Makes the folder, or takes it when it is a real one, belongs to this user, and nobody else gets in. */
async function makePrivate(path: string): Promise<boolean> {
  try {
    makeFolder(path)
    const found = await lstat(path)
    if (!found.isDirectory() || found.uid !== userInfo().uid) return false
    if ((found.mode & 0o077) !== 0) await chmod(path, 0o700)
    return true
  } catch {
    return false
  }
}
