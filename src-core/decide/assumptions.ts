import type { AssumptionId, Instant } from '../../src-shared/ids.ts'
import { InputId } from '../../src-shared/ids.ts'
import type { RecordAssumption } from '../../src-shared/mcp-tools.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import type { Ids } from '../ports.ts'
import { correctedAssumptionText, correctionTicket } from '../sessions/prompt.ts'
import type { AssumptionRow, ProjectRow, TicketRow } from '../storage/rows.ts'
import { type Decision, joinChanges } from './change.ts'
import { checkNotFinishing } from './finishing.ts'
import { SessionDraft, type SessionFacts } from './session-draft.ts'
import { isOver } from './session-states.ts'
import { addTicket, bringBack } from './tickets.ts'

/** A decision that the agent took itself; a person looks it over when there is time. */
export function recordAssumption(
  draft: SessionDraft,
  recorded: { id: AssumptionId; given: RecordAssumption; at: Instant; turn: number | null },
): void {
  const { id, given, at, turn } = recorded
  const { assumption, reason, alternatives = [], reversible_by: reversible } = given
  const reversibleBy = reversible === undefined || reversible.trim() === '' ? null : reversible
  draft.assumption({
    id,
    sessionId: draft.session.id,
    ticketId: draft.ticket.id,
    projectId: draft.session.projectId,
    assumption,
    reason,
    alternatives,
    reversibleBy,
    state: 'open',
    text: null,
    turn,
    createdAt: at,
    reviewedAt: null,
  })
  draft.event(
    {
      kind: 'assumption',
      id,
      assumption,
      reason,
      alternatives,
      ...(reversibleBy === null ? {} : { reversibleBy }),
      ...(turn === null ? {} : { turn }),
    },
    at,
  )
  draft.domain({ kind: 'assumption.recorded', subject: id, data: {} })
}

export type AssumptionState = { facts: SessionFacts; assumption: AssumptionRow }

type Reviewed = { draft: SessionDraft; assumption: AssumptionRow }

/** A second confirmation finds nothing left to do. */
export function confirmAssumption(
  { facts, assumption }: AssumptionState,
  now: Instant,
): Result<Decision<Reviewed>> {
  const draft = new SessionDraft(facts, now)
  if (assumption.state === 'confirmed') {
    return accept({ answer: { draft, assumption }, change: null })
  }
  if (assumption.state === 'overturned') return overturnedAlready(assumption)
  const row = review(draft, assumption, { state: 'confirmed', text: null })
  return accept({ answer: { draft, assumption: row }, change: draft.change() })
}

function review(
  draft: SessionDraft,
  assumption: AssumptionRow,
  outcome: { state: 'confirmed'; text: null } | { state: 'overturned'; text: string },
): AssumptionRow {
  const row: AssumptionRow = { ...assumption, ...outcome, reviewedAt: draft.now }
  draft.assumption(row)
  draft.event({
    kind: 'assumption.reviewed',
    id: row.id,
    assumption: row.assumption,
    outcome: outcome.state,
    author: 'person',
    ...(outcome.text === null ? {} : { text: outcome.text }),
  })
  draft.domain({ kind: 'assumption.reviewed', subject: row.id, data: { outcome: outcome.state } })
  return row
}

const short = (text: string) => (text.length > 200 ? `${text.slice(0, 200)}…` : text)

function overturnedAlready({ assumption, text }: AssumptionRow): Result<never> {
  return refuse(
    'assumption.overturned',
    `The assumption “${short(assumption)}” was overturned already: “${short(text ?? '')}”.`,
    'Send the session a message to correct it again.',
  )
}

/**
 * The correction goes to the session as an input; of one that is over it becomes a ticket of its own, where that is
 * wanted.
 */
export function overturnAssumption(
  { facts, assumption, project }: AssumptionState & { project: ProjectRow },
  { text, newTicket }: { text: string; newTicket: boolean },
  now: Instant,
  ids: Ids,
): Result<Decision<Reviewed & { ticket: TicketRow | null }>> {
  const { session, ticket } = facts
  if (assumption.state === 'overturned') return overturnedAlready(assumption)
  const draft = new SessionDraft(facts, now)
  if (isOver(session.state)) {
    if (!newTicket) {
      return refuse(
        'session.over',
        `The session of ${ticket.key} is ${session.state}: a correction reaches nobody.`,
        'Overturn it with a new ticket that holds the correction; on the command line: --new-ticket.',
      )
    }
    const row = review(draft, assumption, { state: 'overturned', text })
    const written = correctionTicket(ticket, assumption, text)
    const added = addTicket(project, { ...written, priority: 3, stage: ticket.stage }, now, ids)
    return accept({
      answer: { draft, assumption: row, ticket: added.answer.ticket },
      change: joinChanges(draft.change(), added.change),
    })
  }
  const free = checkNotFinishing(facts, 'Overturn it with a new ticket when it is finished.')
  if (!free.ok) return free
  const row = review(draft, assumption, { state: 'overturned', text })
  draft.queue({
    id: InputId.parse(ids.uuid()),
    sessionId: session.id,
    inputKind: 'answer',
    text: correctedAssumptionText(assumption, text),
    author: 'person',
  })
  if (session.state === 'parked' || session.state === 'failed') bringBack(draft, now)
  draft.deliver(ids)
  return accept({ answer: { draft, assumption: row, ticket: null }, change: draft.change() })
}
