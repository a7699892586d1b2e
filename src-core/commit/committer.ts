import type { CommandId, Instant } from '../../src-shared/ids.ts'
import { accept, BalletError, type Result } from '../../src-shared/refusal.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import { type Change, changeOf, type Decision } from '../decide/change.ts'
import type { Clock, Log } from '../ports.ts'
import type { Commit, Expected, RowDelete, RowQuery, Storage } from '../storage/port.ts'
import type { StoredRow, TableName } from '../storage/rows.ts'
import { type CommittedRow, RowCache } from './row-cache.ts'
import { SerialQueue } from './serial-queue.ts'

/** How often a decision is made again because what it was made on had changed. */
const ATTEMPTS = 5

/** What a decision reads; every row that it got by id must still be so when its change is stored. */
export type Reader = {
  row<T extends TableName>(table: T, id: string): Promise<StoredRow<T> | undefined>
  rows<T extends TableName>(query: RowQuery<T>): Promise<StoredRow<T>[]>
}

/** What is published after a commit. */
export type Committed = {
  change: number
  rows: readonly CommittedRow[]
  events: readonly TimelineEvent[]
  deletes: readonly RowDelete[]
  wanted: Change
}

export type Attempt<T> = (read: Reader, now: Instant) => Promise<Result<Decision<T>>>

/** Makes a command idempotent: `decode` reads the stored answer of its first run. */
export type Receipt<T> = { command: CommandId; call: string; decode: (stored: unknown) => T }

/** Of a command that was given an id; `schema` reads the stored answer. */
export function receiptOf<T>(
  call: string,
  command: CommandId | undefined,
  schema: { parse(stored: unknown): T },
): Receipt<T> | undefined {
  if (command === undefined) return undefined
  return { command, call, decode: (stored) => schema.parse(stored) }
}

const seenKey = (table: TableName, id: string) => `${table} ${id}`

/**
 * Load, decide, commit, publish: one after the other, so that their order is the order of everything. A storage
 * failure rejects with `BalletError`, and nothing of the change is stored.
 */
export class Committer {
  readonly queue = new SerialQueue()
  readonly cache: RowCache
  readonly #storage: Storage
  readonly #clock: Clock
  readonly #log: Log
  readonly #listeners: ((committed: Committed) => void)[] = []

  constructor(ports: { storage: Storage; clock: Clock; log: Log }) {
    this.#storage = ports.storage
    this.#clock = ports.clock
    this.#log = ports.log
    this.cache = new RowCache(ports.storage)
  }

  /** Listeners are called in the order in which they came, before the next decision. */
  onCommitted(listener: (committed: Committed) => void): void {
    this.#listeners.push(listener)
  }

  transact<T>(attempt: Attempt<T>, receipt?: Receipt<T>): Promise<Result<T>> {
    return this.queue.run(() => this.within(attempt, receipt))
  }

  /** The answer that the command got before; undefined when it is new. */
  async earlier<T>(receipt: Receipt<T> | undefined): Promise<Result<T> | undefined> {
    if (receipt === undefined) return undefined
    const found = await this.#storage.receipt(receipt.command)
    return found && repeated(receipt, found.answer)
  }

  /** For work that has its turn in the queue already. */
  async within<T>(attempt: Attempt<T>, receipt?: Receipt<T>): Promise<Result<T>> {
    const earlier = await this.earlier(receipt)
    if (earlier !== undefined) return earlier
    for (let count = 1; ; count += 1) {
      const now = this.#clock.now()
      const seen = new Map<string, number>()
      const expected = new Map<string, Expected>()
      const decision = await attempt(this.#reader(seen, expected), now)
      if (!decision.ok) return decision
      const { change, answer } = decision.value
      if (change === null && receipt === undefined) return accept(answer)
      const wanted = change ?? changeOf({})
      const commit = this.#commitOf(wanted, now, seen, expected)
      const outcome = await this.#storage.commit(
        receipt === undefined
          ? commit
          : {
              ...commit,
              receipt: { command: receipt.command, answer: { call: receipt.call, value: answer } },
            },
      )
      if (outcome.outcome === 'repeated') {
        if (receipt === undefined) throw new Error('A commit without a receipt was repeated.')
        return repeated(receipt, outcome.answer)
      }
      if (outcome.outcome === 'committed') {
        const { replaced = [] } = wanted
        // Who keeps something of those loses it before the new ones come.
        if (replaced.length > 0) {
          const gone = { rows: [], events: [], deletes: replaced, wanted: changeOf({}) }
          this.#publish({ change: outcome.change, ...gone })
        }
        this.#publish({
          change: outcome.change,
          rows: outcome.rows as readonly CommittedRow[],
          events: outcome.events,
          deletes: wanted.deletes,
          wanted,
        })
        return accept(answer)
      }
      for (const at of outcome.at) {
        if ('table' in at) this.cache.forget(at.table, at.id)
        else this.cache.forget('lease', at.lease)
      }
      if (count === ATTEMPTS) {
        throw new BalletError({
          code: 'storage.conflict',
          message: `It was not saved: others changed the same records ${ATTEMPTS} times meanwhile.`,
          hint: 'Try again.',
        })
      }
    }
  }

  #reader(seen: Map<string, number>, expected: Map<string, Expected>): Reader {
    return {
      row: async (table, id) => {
        const row = await this.cache.row(table, id)
        const key = seenKey(table, id)
        seen.set(key, row?.version ?? 0)
        expected.set(key, { table, id, version: row?.version ?? 0 })
        return row
      },
      rows: async (query) => {
        const rows = await this.cache.rows(query)
        for (const row of rows) seen.set(seenKey(query.table, row.id), row.version)
        return rows
      },
    }
  }

  #commitOf(
    change: Change,
    at: Instant,
    seen: ReadonlyMap<string, number>,
    read: ReadonlyMap<string, Expected>,
  ): Commit {
    const expected = new Map(read)
    const touch = (table: TableName, id: string) => {
      const key = seenKey(table, id)
      expected.set(key, { table, id, version: seen.get(key) ?? 0 })
    }
    for (const { table, row } of change.puts) touch(table, row.id)
    for (const { table, id } of [...change.deletes, ...(change.replaced ?? [])]) touch(table, id)
    const { tell: _, ...stored } = change
    return { ...stored, at, expected: [...expected.values()] }
  }

  #publish(committed: Committed): void {
    this.cache.stored(committed.rows, committed.events, committed.deletes, committed.wanted.advance)
    for (const listener of this.#listeners) {
      try {
        listener(committed)
      } catch (error) {
        this.#log.error('what follows a commit failed', { error, change: committed.change })
      }
    }
  }
}

function repeated<T>(receipt: Receipt<T>, stored: unknown): Result<T> {
  if (
    typeof stored !== 'object' ||
    stored === null ||
    !('call' in stored) ||
    !('value' in stored) ||
    stored.call !== receipt.call
  ) {
    return {
      ok: false,
      refusal: {
        code: 'command.reused',
        message: `The command id ${receipt.command} was used for another command.`,
        hint: 'Give each command an id of its own.',
      },
    }
  }
  return accept(receipt.decode(stored.value))
}
