import type { ToAgent } from '../../src-shared/agent-wire.ts'
import type { LeaseId, SessionId } from '../../src-shared/ids.ts'
import type { InputImage } from '../../src-shared/records.ts'
import type { Commit } from '../storage/port.ts'

/**
 * What the agent that holds a lease is told once the change is stored. It dies with the lease: the start of the
 * next lease tells the next agent what the rows say.
 */
export type Tell = {
  lease: LeaseId
  message: Exclude<ToAgent, { type: 'session.park' }> | ParkOrder
  /** Of a delivery: blobs of the session, which are read when it is told. */
  images?: { session: SessionId; list: readonly InputImage[] }
}

/** The data key and the folder are added when it is told: no decision and no row has the key. */
export type ParkOrder = Omit<Extract<ToAgent, { type: 'session.park' }>, 'key' | 'keptDir'> & {
  session: SessionId
}

/** What a decision wants stored and told: a commit without what the committer adds. */
export type Change = Omit<Commit, 'at' | 'expected' | 'receipt'> & { tell: readonly Tell[] }

/** A decision that nothing refused; without a change there was nothing left to do. */
export type Decision<T> = { change: Change | null; answer: T }

/** Effects that go into the outbox: they may be carried out again after a restart. */
export const TICKET_DELETE = 'ticket.delete'
export const MIRROR_REMOVE = 'mirror.remove'
export const KEPT_REMOVE = 'kept.remove'
export const EXPORT_NAME = 'export.name'

export function changeOf(parts: Partial<Change>): Change {
  return {
    durability: 'domain',
    puts: [],
    deletes: [],
    timeline: [],
    domain: [],
    outbox: [],
    outboxDone: [],
    tell: [],
    ...parts,
  }
}

/** Several changes as one, in their order. Their lease advances must not differ. */
export function joinChanges(...changes: readonly (Change | null)[]): Change {
  const all = changes.filter((change) => change !== null)
  const replaced = all.flatMap((change) => change.replaced ?? [])
  const advance = all.find((change) => change.advance !== undefined)?.advance
  return changeOf({
    durability: all.some((change) => change.durability === 'domain') ? 'domain' : 'timeline',
    puts: all.flatMap((change) => change.puts),
    deletes: all.flatMap((change) => change.deletes),
    timeline: all.flatMap((change) => change.timeline),
    domain: all.flatMap((change) => change.domain),
    outbox: all.flatMap((change) => change.outbox),
    outboxDone: all.flatMap((change) => change.outboxDone),
    tell: all.flatMap((change) => change.tell),
    ...(replaced.length === 0 ? {} : { replaced }),
    ...(advance === undefined ? {} : { advance }),
  })
}
