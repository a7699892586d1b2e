import type { Committed } from '../commit/committer.ts'
import { type CommittedRow, isLarge } from '../commit/row-cache.ts'
import { isOpenInput, isOpenQuestion } from '../project/views.ts'

/** How many changed records are kept. */
const LIMIT = 2_000

export type ChangedRow = Exclude<CommittedRow, { table: 'lease' }>
export type RecordTable = ChangedRow['table']

/** A changed record: its row, that it is gone, or, where the row is large, that it is to be read. */
export type RecordEntry = { change: number } & (
  | { is: 'row'; row: ChangedRow }
  | { is: 'gone' | 'large'; table: RecordTable; id: string }
)

const entryOf = (changed: ChangedRow): { is: 'row'; row: ChangedRow } | Named => {
  const { table, row } = changed
  if (table === 'input' && !isOpenInput(row)) return { is: 'gone', table, id: row.id }
  if (table === 'request' && row.state !== 'open') return { is: 'gone', table, id: row.id }
  if (table === 'question' && !isOpenQuestion(row)) return { is: 'gone', table, id: row.id }
  if (table === 'assumption' && row.state !== 'open') return { is: 'gone', table, id: row.id }
  return isLarge(row) ? { is: 'large', table, id: row.id } : { is: 'row', row: changed }
}

type Named = { is: 'gone' | 'large'; table: RecordTable; id: string }

/** The records that changed lately, each once, with its latest row; so that who follows closely never asks storage. */
export class RecordChanges {
  /** In the order of their changes. */
  readonly #entries = new Map<string, RecordEntry>()
  /** All changes after this one are here. */
  #floor = 0
  #last = 0

  /** `change` is the greatest one that was stored before. */
  begin(change: number): void {
    this.#floor = change
    this.#last = change
  }

  get last(): number {
    return this.#last
  }

  committed({ change, rows, deletes }: Committed): boolean {
    let changed = false
    for (const row of rows) {
      if (row.table === 'lease') continue
      this.#put(`${row.table} ${row.row.id}`, { change, ...entryOf(row) })
      changed = true
    }
    for (const { table, id } of deletes) {
      if (table === 'lease') continue
      this.#put(`${table} ${id}`, { change, is: 'gone', table, id })
      changed = true
    }
    // Changes without a record need no answer.
    if (changed) this.#last = change
    return changed
  }

  /** Every record that changed after a change, with its latest row; undefined when that is too long ago. */
  after(change: number): RecordEntry[] | undefined {
    if (change < this.#floor) return undefined
    const found: RecordEntry[] = []
    for (const entry of [...this.#entries.values()].reverse()) {
      if (entry.change <= change) break
      found.push(entry)
    }
    return found.reverse()
  }

  #put(key: string, entry: RecordEntry): void {
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    if (this.#entries.size <= LIMIT) return
    const [oldest] = this.#entries
    if (oldest === undefined) return
    this.#entries.delete(oldest[0])
    this.#floor = oldest[1].change
  }
}
