import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import { BalletError, type Refusal } from '../../../src-shared/refusal.ts'

/** Less free room than this after a failed write means that the disk is full, whatever SQLite calls it. */
const FULL_BELOW_BYTES = 1024 * 1024

const refusalOf: Record<'full' | 'locked' | 'corrupt', (file: string, cause: string) => Refusal> = {
  full: (file, cause) => ({
    code: 'storage.full',
    message: `The database ${file} cannot grow: the disk is full (${cause}). Nothing of this change was stored.`,
    hint: 'Make room on the disk and try again.',
  }),
  locked: (file, cause) => ({
    code: 'storage.locked',
    message: `The database ${file} is locked by another program (${cause}).`,
    hint: 'Close the program that has it open, such as a database browser or a backup, and try again.',
  }),
  corrupt: (file, cause) => ({
    code: 'storage.corrupt',
    message: `The database ${file} is damaged or is not a database of Ballet (${cause}). It was left as it is.`,
    hint: 'Restore the file from a backup, or move it away to begin with an empty one; "sqlite3 FILE .recover" can often read what is left.',
  }),
}

export function storageRefusal(
  kind: keyof typeof refusalOf,
  file: string,
  cause: string,
): BalletError {
  return new BalletError(refusalOf[kind](file, cause))
}

/** A failure of SQLite or of the system as the port states it; a `BalletError` stays what it is. */
export function storageFailure(error: unknown, file: string): BalletError {
  if (error instanceof BalletError) return error
  const code = codeOf(error)
  const cause = `${code === '' ? '' : `${code}: `}${error instanceof Error ? error.message : String(error)}`
  const kind = kindOf(code, file)
  if (kind !== undefined) {
    return new BalletError(refusalOf[kind](file, cause), { cause: error })
  }
  return new BalletError(
    {
      code: 'storage.failed',
      message: `The database ${file} could not be used (${cause}). Nothing of this change was stored.`,
      hint: 'Check that the folder can be read and written; the log has the details.',
    },
    { cause: error },
  )
}

function codeOf(error: unknown): string {
  if (error instanceof Sqlite.SqliteError) return error.code
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function kindOf(code: string, file: string): keyof typeof refusalOf | undefined {
  if (code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT') return 'full'
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return 'locked'
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') return 'corrupt'
  return code.startsWith('SQLITE_IOERR') && isDiskFull(file) ? 'full' : undefined
}

function isDiskFull(file: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(file))
    return bavail * bsize < FULL_BELOW_BYTES
  } catch {
    // Without an answer the failure keeps SQLite's own name.
    return false
  }
}
