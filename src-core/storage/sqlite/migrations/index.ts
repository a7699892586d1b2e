import type { Database } from 'better-sqlite3'
import { first } from './0001-first.ts'
import { requests } from './0002-requests.ts'
import { inputsInHand } from './0003-inputs-in-hand.ts'
import { questions } from './0004-questions.ts'
import { parking } from './0005-parking.ts'
import { runtimes } from './0006-runtimes.ts'
import { recorded } from './0007-recorded.ts'

/** Takes a database from the version before to its own, the position in the list counted from 1. */
export type Migration = (db: Database) => void

/** Never changed once released, only added to. */
export const migrations: readonly Migration[] = [
  first,
  requests,
  inputsInHand,
  questions,
  parking,
  runtimes,
  recorded,
]
