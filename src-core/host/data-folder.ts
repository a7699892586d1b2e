import { chmod, open, readdir, rm, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { SPOOL_FOLDER } from '../../src-shared/agent-wire.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import type { Paths } from '../ports.ts'
import { makeFolder } from './make-folder.ts'

/** Where everything of one host lies. All absolute; the comments name what is there. */
export type DataFolder = Paths & {
  database: string
  /** The file that a running host holds, and who that is, for messages. */
  lock: string
  holder: string
  socket: string
  /** Names the socket where the path in the folder is too long for one. */
  socketPath: string
  settings: string
  /** The data key of a host without a keychain, and the one that the system's keychain wrapped. */
  key: string
  wrappedKey: string
  spool: string
  demo: string
  logs: string
}

export function layOut(dataDir: string): DataFolder {
  const root = resolve(dataDir)
  const at = (...names: string[]) => join(root, ...names)
  return {
    dataDir: root,
    mirror: (project) => at('mirrors', `${project}.git`),
    workspace: (ticket, session) => at('workspaces', `${ticket}-${session.slice(-6)}`),
    kept: (session) => at('kept', session),
    database: at('ballet.sqlite'),
    lock: at('host.lock'),
    holder: at('host.json'),
    socket: at('ballet.sock'),
    socketPath: at('socket.path'),
    settings: at('settings.json'),
    key: at('key'),
    wrappedKey: at('key.wrapped'),
    spool: at(SPOOL_FOLDER),
    demo: at('demo'),
    logs: at('logs'),
  }
}

/** Its folders, made with the data folder; agents make what they need inside. */
const FOLDERS = ['mirrors', 'workspaces', SPOOL_FOLDER, 'scratch', 'kept', 'logs']

/** What the main process and the log make there before the folder is prepared. */
const EARLY = new Set(['chromium', 'logs'])

/**
 * Makes the data folder where it is missing, for its owner alone, and checks that it can be written. A folder that
 * is open to others is closed to them only when it is Ballet's.
 * Rejects with `BalletError`, code `data.unusable` or `data.full`.
 */
export async function prepareDataFolder(dataDir: string): Promise<DataFolder> {
  const folder = layOut(dataDir)
  const root = folder.dataDir
  try {
    const found = await stat(root).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return undefined
      throw error
    })
    if (found !== undefined && !found.isDirectory()) throw unusable(root, 'it is not a folder')
    if (found === undefined) makeFolder(root)
    // Everything below is private through it: keys in the settings of projects, and the socket.
    else if (process.platform !== 'win32' && (found.mode & 0o077) !== 0) {
      await mustBeOwn(folder)
      await chmod(root, 0o700)
    }
    for (const name of FOLDERS) makeFolder(join(root, name))
    const probe = join(root, `.writable-${process.pid}`)
    await (await open(probe, 'w', 0o600)).close()
    await rm(probe, { force: true })
  } catch (error) {
    if (error instanceof BalletError) throw error
    const cause = error instanceof Error ? error.message : String(error)
    if (codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT') {
      throw new BalletError(
        {
          code: 'data.full',
          message: `The data folder ${root} cannot be used: the disk is full (${cause}).`,
          hint: 'Make room on the disk and start again.',
        },
        { cause: error },
      )
    }
    throw unusable(root, cause, error)
  }
  return folder
}

/** Closing `/tmp` or a person's own folder to others would do harm that nobody asked for. */
async function mustBeOwn({ dataDir, database, lock, settings }: DataFolder): Promise<void> {
  const names = await readdir(dataDir)
  if ([database, lock, settings].some((file) => names.includes(basename(file)))) return
  const foreign = names.find((name) => !EARLY.has(name))
  if (foreign === undefined) return
  throw new BalletError({
    code: 'data.unusable',
    message: `The data folder ${dataDir} cannot be used: others may look into it, and what is in it, such as ${foreign}, is not Ballet's.`,
    hint: 'Name an empty folder with --data or BALLET_DATA, or close this one to others yourself (chmod 700).',
  })
}

function unusable(root: string, why: string, cause?: unknown): BalletError {
  return new BalletError(
    {
      code: 'data.unusable',
      message: `The data folder ${root} cannot be used: ${why}.`,
      hint: 'Make it a folder that you may write, or name another one with --data or BALLET_DATA.',
    },
    { cause },
  )
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined
