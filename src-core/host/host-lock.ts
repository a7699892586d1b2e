import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import Sqlite, { type Database } from 'better-sqlite3'
import { z } from 'zod'
import { BalletError } from '../../src-shared/refusal.ts'
import type { DataFolder } from './data-folder.ts'

/** A host that was just killed lets go within this time. */
const WAIT_MS = 500

/** Who runs on a data folder; `<dataDir>/host.json`, for messages only. */
export const Holder = z.object({
  kind: z.enum(['desktop', 'headless']),
  pid: z.int(),
  startedAt: z.string(),
})
export type Holder = z.infer<typeof Holder>

/** Held by the one host that runs on a data folder. The system lets go of it at any death of the process. */
export type HostLock = { release(): void }

/** A database that nobody refers to is closed by the garbage collector, and with it the lock. */
const held = new Set<Database>()

/** Throws `BalletError`: `host.running` with who it is, or `host.lock-failed`. */
export function takeHostLock(
  folder: Pick<DataFolder, 'dataDir' | 'lock' | 'holder'>,
  holder: Holder,
): HostLock {
  let db: Database | undefined
  try {
    db = new Sqlite(folder.lock, { timeout: WAIT_MS })
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db?.close()
    throw isBusy(error) ? running(folder) : failed(folder, error)
  }
  const lock = db
  held.add(lock)
  try {
    writeFileSync(folder.holder, `${JSON.stringify(holder)}\n`, { mode: 0o600 })
  } catch (error) {
    letGo(lock)
    throw failed(folder, error)
  }
  return {
    release: () => {
      if (!held.has(lock)) return
      rmSync(folder.holder, { force: true })
      letGo(lock)
    },
  }
}

function letGo(lock: Database): void {
  held.delete(lock)
  lock.close()
}

const isBusy = (error: unknown): boolean =>
  error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')

function running({ dataDir, holder }: Pick<DataFolder, 'dataDir' | 'holder'>): BalletError {
  const who = readHolder(holder)
  const name = who?.kind === 'desktop' ? 'The application' : 'A host'
  return new BalletError({
    code: 'host.running',
    message:
      who === undefined
        ? `Another host runs on ${dataDir} already.`
        : `${name} runs on ${dataDir} already (process ${who.pid}, since ${who.startedAt}).`,
    hint: 'Use that one, end it first, or name another data folder with --data.',
  })
}

/** Undefined where the file is missing or half written: it serves messages only. */
function readHolder(file: string): Holder | undefined {
  try {
    return Holder.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data
  } catch {
    return undefined
  }
}

function failed({ lock }: Pick<DataFolder, 'lock'>, error: unknown): BalletError {
  const cause = error instanceof Error ? error.message : String(error)
  return new BalletError(
    {
      code: 'host.lock-failed',
      message: `The lock ${lock} cannot be taken: ${cause}.`,
      hint: 'The data folder has to be on a local disk that may be written; a damaged lock file may be deleted while no host runs.',
    },
    { cause: error },
  )
}
