import type { BlobText } from '../../src-shared/agent-wire.ts'
import type { BlobId, CommandId, Instant, LeaseId, SessionId } from '../../src-shared/ids.ts'
import type { EventBody, TimelineEvent } from '../../src-shared/timeline.ts'
import type { RowOf, StoredRow, TableName } from './rows.ts'

/** A row that the decision was made on; `version` 0 means that there was none. */
export type Expected = { table: TableName; id: string; version: number }

/**
 * A row as it shall be. Storage sets `version` (one more than before, 1 for a new one) and `change`.
 */
export type RowPut = { [T in TableName]: { table: T; row: RowOf<T> } }[TableName]

export type RowDelete = { table: TableName; id: string }

export type DomainEvent = { kind: string; subject: string; data: Record<string, unknown> }

/** A piece of I/O that must happen although the host may end first. */
export type OutboxEntry = { id: string; effect: string; data: Record<string, unknown> }

export type TimelineAppend = {
  session: SessionId
  events: readonly { at: Instant; body: EventBody }[]
  blobs?: readonly BlobText[]
}

/**
 * The agent's items that a commit stores: those up to `last` of the lease are then stored for good.
 * A conflict where the lease is gone, has got to `last` already, or (where given) does not stand at `after`.
 * The lease gets no new version by it, and a put of it never takes `lastItem` back.
 */
export type LeaseAdvance = { lease: LeaseId; last: number; after?: number }

/** One atomic change. It is a value: no callback crosses the port. */
export type Commit = {
  at: Instant
  /** `domain` waits for the disk; `timeline` may lose the last moment in a power cut, never on a crash. */
  durability: 'domain' | 'timeline'
  expected: readonly Expected[]
  receipt?: { command: CommandId; answer: unknown }
  /** Rows that are put anew, without what hung on them. */
  replaced?: readonly RowDelete[]
  /** Applied in this order: replaced, puts, deletes, timeline. */
  puts: readonly RowPut[]
  deletes: readonly RowDelete[]
  timeline: readonly TimelineAppend[]
  advance?: LeaseAdvance
  domain: readonly DomainEvent[]
  /** One whose id is there already keeps its place and gets this data. */
  outbox: readonly OutboxEntry[]
  outboxDone: readonly string[]
}

export type CommitAnswer =
  | {
      outcome: 'committed'
      /** Number of this change; greater than all before. */
      change: number
      rows: readonly { table: TableName; row: StoredRow<TableName> }[]
      /** The stored events with their numbers, in the order of `timeline`. */
      events: readonly TimelineEvent[]
    }
  /** A row was not as expected, or the lease had already advanced: load and decide again. */
  | { outcome: 'conflict'; at: readonly (Expected | LeaseAdvance)[] }
  /** The command was carried out before; this was its answer. */
  | { outcome: 'repeated'; answer: unknown }

/** Which rows to read. All given fields must match; a prefix matches the beginning of an id. */
export type RowQuery<T extends TableName> = {
  table: T
  where?: Partial<{ [K in keyof RowOf<T>]: RowOf<T>[K] | readonly RowOf<T>[K][] }>
  idPrefix?: string
  /** Only rows changed after this change number. */
  changedAfter?: number
  limit?: number
  /** With a limit: the newest ones, still oldest first. */
  newest?: boolean
}

export type Deletion = { change: number; table: TableName; id: string }

export type StorageInfo = { file: string; schemaVersion: number; bytes: number }

/**
 * Where Core keeps everything. One writer; every method may be called at any time and answers in order.
 * Failures are `BalletError`: `storage.full`, `storage.locked`, `storage.corrupt`, `storage.newer`, `storage.failed`.
 * After a failure nothing of the commit is stored.
 */
export type Storage = {
  commit(commit: Commit): Promise<CommitAnswer>
  /** Oldest first. */
  rows<T extends TableName>(query: RowQuery<T>): Promise<StoredRow<T>[]>
  row<T extends TableName>(table: T, id: string): Promise<StoredRow<T> | undefined>
  deletions(after: number): Promise<Deletion[]>
  receipt(command: CommandId): Promise<{ answer: unknown } | undefined>
  pendingOutbox(): Promise<OutboxEntry[]>
  /** The last `limit` events before `before`, or the first `limit` after `after`; in the order of their numbers. */
  timeline(
    session: SessionId,
    range: { before?: number; after?: number; limit: number },
  ): Promise<{ events: TimelineEvent[]; last: number }>
  /** The events of one turn, for what a resume needs to know. */
  turn(session: SessionId, turn: number): Promise<TimelineEvent[]>
  blob(session: SessionId, blob: BlobId): Promise<string | undefined>
  /** The greatest change number. */
  change(): Promise<number>
  info(): Promise<StorageInfo>
  close(): Promise<void>
}
