import type { TimelineEvent } from '../../src-shared/timeline.ts'
import type { RowDelete, RowQuery, Storage } from '../storage/port.ts'
import type { StoredRow, TableName } from '../storage/rows.ts'

/** How many rows of each kind are kept. */
const LIMIT = 2_000

/** A row with a text longer than this (UTF-16 code units) is read again instead. */
const LARGE = 64 * 1024

export type CommittedRow = { [T in TableName]: { table: T; row: StoredRow<T> } }[TableName]

type Kept = { readonly [T in TableName]: Map<string, StoredRow<T>> }

/** Not worth its place in memory. */
export const isLarge = (row: StoredRow<TableName>) =>
  ('body' in row && row.body.length > LARGE) ||
  ('text' in row && row.text !== null && row.text.length > LARGE) ||
  ('answer' in row && row.answer !== null && row.answer.text.length > LARGE)

/**
 * Rows as they are stored, most of them without asking storage: Core is the only writer, and puts in here what it
 * committed.
 */
export class RowCache {
  readonly #storage: Storage
  readonly #kept: Kept = {
    project: new Map(),
    ticket: new Map(),
    session: new Map(),
    input: new Map(),
    request: new Map(),
    question: new Map(),
    assumption: new Map(),
    lease: new Map(),
  }
  /** Grows whenever a read that is under way may give what is no longer so. */
  #changes = 0

  constructor(storage: Storage) {
    this.#storage = storage
  }

  async row<T extends TableName>(table: T, id: string): Promise<StoredRow<T> | undefined> {
    const kept: Map<string, StoredRow<T>> = this.#kept[table]
    const cached = kept.get(id)
    if (cached !== undefined) {
      kept.delete(id)
      kept.set(id, cached)
      return cached
    }
    const changes = this.#changes
    const row = await this.#storage.row(table, id)
    if (row !== undefined && changes === this.#changes) this.#keep(kept, row)
    return row
  }

  rows<T extends TableName>(query: RowQuery<T>): Promise<StoredRow<T>[]> {
    return this.#storage.rows(query)
  }

  /** What a commit stored. */
  stored(
    rows: readonly CommittedRow[],
    events: readonly TimelineEvent[],
    deletes: readonly RowDelete[],
    advance: { lease: string; last: number } | undefined,
  ): void {
    this.#changes += 1
    // What goes by cascade is not told.
    if (deletes.length > 0) for (const kept of Object.values(this.#kept)) kept.clear()
    for (const { table, row } of rows) {
      this.#keep(this.#kept[table] as Map<string, StoredRow<TableName>>, row)
    }
    const lasts = new Map(events.map(({ session, seq }) => [session, seq]))
    for (const [session, lastSeq] of lasts) {
      const row = this.#kept.session.get(session)
      if (row !== undefined && row.lastSeq < lastSeq) {
        this.#kept.session.set(session, { ...row, lastSeq })
      }
    }
    if (advance !== undefined) {
      const row = this.#kept.lease.get(advance.lease)
      if (row !== undefined && row.lastItem < advance.last) {
        this.#kept.lease.set(row.id, { ...row, lastItem: advance.last })
      }
    }
  }

  /** The next read asks storage. */
  forget(table: TableName, id: string): void {
    this.#changes += 1
    this.#kept[table].delete(id)
  }

  #keep<T extends TableName>(kept: Map<string, StoredRow<T>>, row: StoredRow<T>): void {
    kept.delete(row.id)
    if (isLarge(row)) return
    kept.set(row.id, row)
    if (kept.size <= LIMIT) return
    const [oldest] = kept.keys()
    if (oldest !== undefined) kept.delete(oldest)
  }
}
