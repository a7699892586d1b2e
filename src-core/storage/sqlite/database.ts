import { closeSync, existsSync, openSync, readSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import Sqlite, { type Database } from 'better-sqlite3'
import { z } from 'zod'
import { ProjectId } from '../../../src-shared/ids.ts'
import { StageSettings } from '../../../src-shared/records.ts'
import { BalletError } from '../../../src-shared/refusal.ts'
import { RuntimeName } from '../../../src-shared/runtimes.ts'
import { storageFailure, storageRefusal } from './failure.ts'
import { sizeOf } from './file-size.ts'
import { type Migration, migrations } from './migrations/index.ts'

/** Marks the file as a database of Ballet: "BALL". */
const APPLICATION_ID = 0x42414c4c

/** How long a statement waits for another program that writes. */
export const BUSY_MS = 1_000

/** Files up to this size are checked page by page at every start (about 0.1 s for the largest). */
const CHECKED_BYTES = 32 * 1024 * 1024

const HEADER_BYTES = 100
const MAGIC = 'SQLite format 3\0'

/** SQLite writes back its log by itself at this many pages (16 MiB), inside the commit that reaches it. */
const AUTOCHECKPOINT_PAGES = 4_000

/** A log that grew larger is cut to this once it was written back. */
const LOG_BYTES = 16 * 1024 * 1024

/**
 * Opens the database, makes it where there is none, and brings an older one to this version.
 * Throws `BalletError`: `storage.newer`, `storage.corrupt`, `storage.locked`, `storage.full`, `storage.failed`; the
 * file is then left as it was.
 */
export function openDatabase(file: string, steps: readonly Migration[] = migrations): Database {
  let db: Database | undefined
  try {
    if (!existsSync(dirname(file))) {
      throw new BalletError({
        code: 'storage.failed',
        message: `The folder ${dirname(file)} of the database does not exist.`,
        hint: 'Make the folder, or name another one.',
      })
    }
    if (existsSync(file) && statSync(file).size > 0) inspect(file, steps.length)
    // SQLite would let everybody read it; the files beside it get the same mode.
    else closeSync(openSync(file, 'a', 0o600))
    db = new Sqlite(file, { timeout: BUSY_MS })
    // Nothing is written before it is certain that this program may write.
    db.exec('BEGIN IMMEDIATE')
    db.exec('ROLLBACK')
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = FULL')
    db.pragma('foreign_keys = ON')
    db.pragma('mmap_size = 0')
    db.pragma(`wal_autocheckpoint = ${AUTOCHECKPOINT_PAGES}`)
    db.pragma(`journal_size_limit = ${LOG_BYTES}`)
    migrate(db, steps)
    return db
  } catch (error) {
    db?.close()
    throw storageFailure(error, file)
  }
}

const ProjectRuntimes = z.object({
  id: ProjectId,
  name: z.string(),
  runtime: RuntimeName,
  stages: z.record(z.string(), StageSettings).default({}),
  planner: z.boolean().default(true),
  env: z.record(z.string(), z.string()).default({}),
})
/** What a project runs, and with what it adds to the environment. */
export type ProjectRuntimes = Readonly<z.infer<typeof ProjectRuntimes>>

type Seen = { schemaVersion: number; bytes: number }

/** What an existing database is, without a change of it. Throws `BalletError` as `openDatabase` does. */
export function inspectDatabase(file: string): Seen & { projects: ProjectRuntimes[] } {
  let projects: ProjectRuntimes[] = []
  try {
    const seen = inspect(file, migrations.length, (db) => {
      projects = projectsIn(db)
    })
    return { ...seen, projects }
  } catch (error) {
    throw storageFailure(error, file)
  }
}

/** Looks at an existing file without writing to it; throws when this program must not touch it. */
function inspect(file: string, known: number, read?: (db: Database) => void): Seen {
  const header = readHeader(file)
  if (header.length < HEADER_BYTES || header.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw storageRefusal('corrupt', file, 'its first bytes are not those of a database')
  }
  const log = `${file}-wal`
  if (!existsSync(log) || statSync(log).size === 0) {
    // The header is then the last word, and SQLite need not open the file, which makes files beside it.
    judge(file, header.readUInt32BE(68), header.readUInt32BE(60), known)
  }
  const hadLog = existsSync(log) || existsSync(`${file}-shm`)
  const db = new Sqlite(file, { readonly: true, fileMustExist: true, timeout: BUSY_MS })
  try {
    judge(file, number(db, 'application_id'), number(db, 'user_version'), known)
    // Reads the schema, and with it the pages that everything else hangs on.
    const schema = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get()
    if (number(db, 'application_id') === 0 && schema !== 0) throw foreign(file)
    if (number(db, 'page_count') * number(db, 'page_size') <= CHECKED_BYTES) {
      const found = db.pragma('quick_check(1)', { simple: true })
      if (found !== 'ok') throw storageRefusal('corrupt', file, String(found))
    } else if (statSync(file).size < number(db, 'page_count') * number(db, 'page_size')) {
      if (!existsSync(log)) throw storageRefusal('corrupt', file, 'its end is missing')
    }
    read?.(db)
    return { schemaVersion: number(db, 'user_version'), bytes: sizeOf(file) + sizeOf(log) }
  } finally {
    db.close()
    // A connection that may not write leaves these behind.
    if (!hadLog) for (const left of [log, `${file}-shm`]) removeEmptyLog(log, left)
  }
}

/** With what the projects run, also in a file of an older version. What does not decode is no project. */
function projectsIn(db: Database): ProjectRuntimes[] {
  const known = db.prepare("SELECT name FROM pragma_table_info('project')").pluck().all()
  const has = (column: string) => known.includes(column)
  if (!has('name') || !has('runtime')) return []
  const wanted = ['id', 'name', 'runtime', 'stages', 'planner', 'env'].filter(has)
  const rows = db.prepare<[], Record<string, unknown>>(`SELECT ${wanted} FROM project`).all()
  return rows.flatMap(({ stages, planner, env, ...row }) => {
    const more = {
      ...(typeof stages === 'string' ? { stages: JSON.parse(stages) } : {}),
      ...(typeof env === 'string' ? { env: JSON.parse(env) } : {}),
      ...(planner === undefined ? {} : { planner: planner === 1 }),
    }
    return ProjectRuntimes.safeParse({ ...row, ...more }).data ?? []
  })
}

/** The log holds nothing, so neither file says anything of the database. */
function removeEmptyLog(log: string, file: string): void {
  if (sizeOf(log) === 0) rmSync(file, { force: true })
}

function judge(file: string, application: number, version: number, known: number): void {
  // Both are 0 where an earlier start was ended before it made the first table.
  if (application !== APPLICATION_ID && (application !== 0 || version !== 0)) throw foreign(file)
  if (version > known) {
    throw new BalletError({
      code: 'storage.newer',
      message: `The database ${file} is from a newer Ballet: its version is ${version}, this Ballet knows ${known}. It was left as it is.`,
      hint: 'Update Ballet, or name another data folder.',
    })
  }
}

const foreign = (file: string) => storageRefusal('corrupt', file, 'another program made it')

function readHeader(file: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  const handle = openSync(file, 'r')
  try {
    return header.subarray(0, readSync(handle, header, 0, HEADER_BYTES, 0))
  } finally {
    closeSync(handle)
  }
}

function number(db: Database, pragma: string): number {
  return Number(db.pragma(pragma, { simple: true }))
}

/** Each step in a transaction of its own, together with the version that it leads to. */
function migrate(db: Database, steps: readonly Migration[]): void {
  const from = number(db, 'user_version')
  steps.slice(from).forEach((step, index) => {
    db.transaction(() => {
      step(db)
      db.pragma(`application_id = ${APPLICATION_ID}`)
      db.pragma(`user_version = ${from + index + 1}`)
    }).immediate()
  })
}
