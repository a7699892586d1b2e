import type { Instant } from '../../src-shared/ids.ts'
import type { Session } from '../../src-shared/records.ts'
import { accept, type Refusal, type Result, refuse } from '../../src-shared/refusal.ts'
import type { Committer } from '../commit/committer.ts'
import { type Change, type Decision, TICKET_DELETE } from '../decide/change.ts'
import type { SessionDraft } from '../decide/session-draft.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { RecordFollower } from '../following/record-follow.ts'
import type { TimelineFollower } from '../following/timeline-follow.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { CorePorts } from '../ports.ts'
import type { ViewJoins } from '../project/view-joins.ts'
import type { Draining } from '../sessions/draining.ts'
import type { LiveIndex } from '../sessions/live-index.ts'
import type { Problems } from '../sessions/problems.ts'
import type { SessionWaits } from '../sessions/session-waits.ts'
import type { TicketRow } from '../storage/rows.ts'

/** What the calls of the contract stand on. */
export type CallContext = {
  ports: CorePorts
  committer: Committer
  index: LiveIndex
  joins: ViewJoins
  fleet: Fleet
  draining: Draining
  outbox: Outbox
  problems: Problems
  timelines: TimelineFollower
  waits: SessionWaits
  records: RecordFollower
  startedAt: Instant
}

/** For a record whose project or ticket went away while it was looked at. */
export function gone(what: string): { ok: false; refusal: Refusal } {
  return refuse(`${what}.not-found`, `The ${what} is gone meanwhile.`, 'Look at the list again.')
}

export function orGone<T>(what: string, value: T | undefined): Result<T> {
  return value === undefined ? gone(what) : accept(value)
}

/** A ticket that is being deleted gets no new work. */
export function checkNotDeleting({ outbox }: CallContext, ticket: TicketRow): Result<undefined> {
  if (outbox.concerns(TICKET_DELETE, 'ticket', ticket.id) === undefined) return accept(undefined)
  return refuse(
    'ticket.deleting',
    `The ticket ${ticket.key} is being deleted.`,
    'Wait for the deletion to end; when it is refused, the ticket is still there.',
  )
}

/** A decision about a session, answered by the session as it will be. */
export function sessionAnswer(
  { joins }: CallContext,
  draft: SessionDraft,
  change: Change | null,
): Result<Decision<Session>> {
  const { session, ticket, nextSeq, queued, openRequests, openQuestions } = draft
  const counts = {
    queuedInputs: queued.length,
    openRequests: openRequests.length,
    openQuestions: openQuestions.length,
  }
  const answer = orGone('session', joins.sessionOf(session, ticket, nextSeq - 1, counts))
  return answer.ok ? accept({ change, answer: answer.value }) : answer
}
