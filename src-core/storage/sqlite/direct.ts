import type { Database } from 'better-sqlite3'
import type { Log } from '../../ports.ts'
import type { Storage } from '../port.ts'
import { createCommit, readReceipt } from './commit.ts'
import { openDatabase } from './database.ts'
import { storageFailure } from './failure.ts'
import { sizeOf } from './file-size.ts'
import { createLogKeeper } from './log-size.ts'
import {
  readBlob,
  readDeletions,
  readOutbox,
  readRow,
  readRows,
  readTimeline,
  readTurn,
} from './read.ts'
import { createStatements } from './statements.ts'

const RECEIPTS_KEPT_MS = 30 * 24 * 60 * 60_000

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * Opens the storage port over SQLite in this thread: each call is done when it returns its promise.
 * For the storage worker, and for tests; a host opens the worker instead (`openSqliteStorage`).
 */
export async function openSqliteDirect(file: string, log: Log = silent): Promise<Storage> {
  const db = openDatabase(file)
  forgetReceipts(db, log)
  return storageOver(db, file, log)
}

/** A client that has no answer to its command asks again soon, or never. */
function forgetReceipts(db: Database, log: Log): void {
  try {
    const before = new Date(Date.now() - RECEIPTS_KEPT_MS).toISOString()
    db.prepare('DELETE FROM receipt WHERE at < ?').run(before)
  } catch (error) {
    // On a full disk the rest of the database can still be read.
    log.warn('old receipts could not be removed', { error: String(error) })
  }
}

/** The storage port over an open database, which it then owns. */
export function storageOver(db: Database, file: string, log: Log): Storage {
  const sql = createStatements(db)
  const commit = createCommit(db, sql)
  const keeper = createLogKeeper(db, file, log)

  /** A call as the port promises it: with the failures that the port names. */
  const call = async <T>(work: () => T): Promise<T> => {
    try {
      return work()
    } catch (error) {
      throw storageFailure(error, file)
    }
  }

  return {
    commit: (value) =>
      call(() => {
        const answer = commit(value)
        keeper.afterCommit()
        return answer
      }),
    rows: (query) => call(() => readRows(sql, query)),
    row: (table, id) => call(() => readRow(sql, table, id)),
    deletions: (after) => call(() => readDeletions(sql, after)),
    receipt: (command) => call(() => readReceipt(sql, command)),
    pendingOutbox: () => call(() => readOutbox(sql)),
    timeline: (session, range) => call(() => readTimeline(sql, session, range)),
    turn: (session, turn) => call(() => readTurn(sql, session, turn)),
    blob: (session, blob) => call(() => readBlob(sql, session, blob)),
    change: () => call(() => Number(sql.get('SELECT change FROM meta')?.change)),
    info: () =>
      call(() => ({
        file,
        schemaVersion: Number(db.pragma('user_version', { simple: true })),
        bytes: sizeOf(file) + sizeOf(`${file}-wal`),
      })),
    // The last connection writes the log back and removes it.
    close: () =>
      call(() => {
        db.close()
      }),
  }
}
