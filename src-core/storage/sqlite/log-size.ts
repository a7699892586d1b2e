import type { Database } from 'better-sqlite3'
import type { Log } from '../../ports.ts'
import { BUSY_MS } from './database.ts'
import { sizeOf } from './file-size.ts'

/** The write-ahead log is emptied above this, far under the 64 MiB that it must never reach for long. */
const EMPTY_ABOVE_BYTES = 32 * 1024 * 1024

/** After an attempt that did not empty it, the next waits for this much more. */
const STEP_BYTES = 8 * 1024 * 1024

/**
 * Keeps the write-ahead log small. SQLite writes it back at 16 MiB by itself, but not before the commits after a very
 * large one, and it grows on while another program reads.
 */
export function createLogKeeper(db: Database, file: string, log: Log): { afterCommit(): void } {
  let limit = EMPTY_ABOVE_BYTES

  function keepSmall(): void {
    if (sizeOf(`${file}-wal`) < limit) return
    try {
      // Nobody who reads is waited for: the next commits try again.
      db.pragma('busy_timeout = 0')
      db.pragma('wal_checkpoint(TRUNCATE)')
    } finally {
      db.pragma(`busy_timeout = ${BUSY_MS}`)
      const left = sizeOf(`${file}-wal`)
      limit = left < EMPTY_ABOVE_BYTES ? EMPTY_ABOVE_BYTES : left + STEP_BYTES
      if (left >= EMPTY_ABOVE_BYTES) {
        log.warn('the log of the database stays large, since another program reads the database', {
          bytes: left,
        })
      }
    }
  }

  return {
    afterCommit() {
      try {
        keepSmall()
      } catch (error) {
        // The commit is stored all the same.
        log.warn('the log of the database could not be written back', { error: String(error) })
      }
    },
  }
}
