import type { GivenStatus } from '../../src-shared/contract.ts'
import { InputId, type Instant, SessionId, TicketId, TicketKey } from '../../src-shared/ids.ts'
import type { Stage, TicketStatus } from '../../src-shared/records.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import type { Ids } from '../ports.ts'
import { ticketText } from '../sessions/prompt.ts'
import type {
  AssumptionRow,
  InputRow,
  ProjectRow,
  QuestionRow,
  RequestRow,
  SessionRow,
  TicketRow,
} from '../storage/rows.ts'
import { changeOf, type Decision, KEPT_REMOVE } from './change.ts'
import { isFinishedUnheld } from './finishing.ts'
import { parkedThen } from './kept-work.ts'
import { SessionDraft, type SessionFacts } from './session-draft.ts'
import { isLive, isOver } from './session-states.ts'
import { modelFor, runtimeOfStage } from './stages.ts'

export type TicketAddition = {
  title: string
  body: string
  priority: number
  stage: string
}

export function addTicket(
  project: ProjectRow,
  command: TicketAddition,
  now: Instant,
  ids: Ids,
): Decision<{ ticket: TicketRow; project: ProjectRow }> {
  const ticket: TicketRow = {
    id: TicketId.parse(ids.uuid()),
    projectId: project.id,
    key: TicketKey.parse(`${project.key}-${project.nextNumber}`),
    title: command.title,
    body: command.body,
    status: 'Backlog',
    stage: command.stage,
    priority: command.priority,
    questions: 0,
    createdAt: now,
    updatedAt: now,
  }
  const counted = { ...project, nextNumber: project.nextNumber + 1 }
  return {
    answer: { ticket, project: counted },
    change: changeOf({
      puts: [
        { table: 'project', row: counted },
        { table: 'ticket', row: ticket },
      ],
      domain: [{ kind: 'ticket.added', subject: ticket.id, data: { key: ticket.key } }],
    }),
  }
}

/** The branch of all sessions of a ticket: two desktops on one remote never meet. */
export function ticketBranch(ticket: TicketRow): string {
  return `ballet/${ticket.key}-${ticket.id.slice(-6)}`
}

/** What a session has to say of itself before it ran. */
function newSession(
  ticket: TicketRow,
  project: ProjectRow,
  earlier: SessionRow | undefined,
  now: Instant,
  ids: Ids,
): SessionRow {
  const { stage } = ticket
  const runtime = runtimeOfStage(project, stage)
  return {
    id: SessionId.parse(ids.uuid()),
    ticketId: ticket.id,
    projectId: project.id,
    stage,
    runtime,
    runtimeVersion: null,
    model: modelFor(project, { stage, runtime, chosenModel: null }),
    chosenModel: null,
    permission: project.permission,
    conversation: null,
    conversations: [],
    continueWith: null,
    state: 'queued',
    stateSince: now,
    reason: '',
    hint: '',
    leaseId: null,
    agent: null,
    branch: ticketBranch(ticket),
    baseCommit: null,
    // The branch is the ticket's: what an earlier session pushed to it is Ballet's own.
    pushedCommit: earlier?.pushedCommit ?? null,
    workspace: null,
    window: null,
    parkAt: null,
    parkFrom: null,
    saga: null,
    parked: null,
    wakes: false,
    turn: 0,
    turnStartedAt: null,
    turnCut: false,
    recorded: false,
    preface: null,
    pending: null,
    grants: [],
    progress: null,
    outcome: null,
    outcomeText: '',
    costUsd: 0,
    usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
    contextTokens: null,
    contextWindow: null,
    queuedAt: now,
    createdAt: now,
    updatedAt: now,
  }
}

export type StartState = {
  ticket: TicketRow
  project: ProjectRow
  /** The ticket's newest session, if it has one. */
  newest: SessionFacts | undefined
}

/**
 * Gives a ticket to an agent: its live session when it has one, its parked or failed one, which goes on, or a
 * new one, whose first message is the ticket.
 */
export function startTicket(
  { ticket, project, newest }: StartState,
  now: Instant,
  ids: Ids,
): Decision<SessionDraft> {
  if (newest !== undefined && isLive(newest.session.state)) {
    const draft = new SessionDraft(newest, now)
    const { saga } = newest.session
    // It has to be parked before it can be brought back.
    if (saga === null || saga.resumes) return { answer: draft, change: null }
    draft.set({ saga: parkedThen(saga, { resumes: true }) })
    return { answer: draft, change: draft.change() }
  }
  if (newest !== undefined && !isOver(newest.session.state)) {
    const draft = new SessionDraft(newest, now)
    bringBack(draft, now)
    return { answer: draft, change: draft.change() }
  }
  const session = newSession(ticket, project, newest?.session, now, ids)
  const draft = new SessionDraft(
    {
      session,
      lastSeq: 0,
      ticket,
      window: project.window,
      inputs: [],
      requests: [],
      questions: [],
    },
    now,
  )
  draft.event({ kind: 'session.state', from: null, to: 'queued', reason: '' })
  draft.domain({ kind: 'session.added', subject: session.id, data: { ticket: ticket.key } })
  draft.queue({
    id: InputId.parse(ids.uuid()),
    sessionId: session.id,
    inputKind: 'message',
    text: ticketText(ticket),
    author: 'person',
  })
  draft.ticketStatus('In progress')
  return { answer: draft, change: draft.change() }
}

const isBusy = (session: SessionRow) => isLive(session.state) || isFinishedUnheld(session)

const busyWith = (session: SessionRow) =>
  isFinishedUnheld(session) ? 'is being finished' : `is ${session.state}`

/** A parked or failed session waits for an agent again. */
export function bringBack(draft: SessionDraft, now: Instant): void {
  draft.move('resuming')
  draft.set({ queuedAt: now, pending: null })
  draft.ticketStatus('In progress')
}

/** Nobody has anything to do for it any more. */
export function isTicketOver(status: TicketStatus): boolean {
  return status === 'Done' || status === 'Cancelled'
}

export type TicketEdit = {
  title?: string | undefined
  body?: string | undefined
  priority?: number | undefined
  status?: GivenStatus | undefined
  stage?: Stage | undefined
}

/** What a session was given of the ticket stays as it is. */
export function editTicket(
  { ticket, sessions }: DeletionState,
  { title, body, priority, status, stage }: TicketEdit,
  now: Instant,
): Result<Decision<TicketRow>> {
  const live = sessions.find(isBusy)
  const isOther =
    (status !== undefined && status !== ticket.status) ||
    (stage !== undefined && stage !== ticket.stage)
  if (isOther && live !== undefined) {
    return refuse(
      'ticket.live',
      `The ticket ${ticket.key} has a session that ${busyWith(live)}.`,
      'Stop or finish the session first: its ticket follows it.',
    )
  }
  const row: TicketRow = {
    ...ticket,
    ...(title === undefined ? {} : { title }),
    ...(body === undefined ? {} : { body }),
    ...(priority === undefined ? {} : { priority }),
    ...(status === undefined ? {} : { status }),
    ...(stage === undefined ? {} : { stage }),
    updatedAt: now,
  }
  const same = (['title', 'body', 'priority', 'status', 'stage'] as const).every(
    (field) => row[field] === ticket[field],
  )
  if (same) return accept({ answer: ticket, change: null })
  return accept({
    answer: row,
    change: changeOf({
      puts: [
        { table: 'ticket', row },
        // Who follows the records has this of it with each session.
        ...(row.title === ticket.title && isTicketOver(row.status) === isTicketOver(ticket.status)
          ? []
          : sessions.map((session) => ({ table: 'session' as const, row: session }))),
      ],
      domain: [
        ...(row.status === ticket.status
          ? []
          : [
              {
                kind: 'ticket.status',
                subject: row.id,
                data: { from: ticket.status, to: row.status },
              },
            ]),
        { kind: 'ticket.edited', subject: row.id, data: {} },
      ],
    }),
  })
}

export type DeletionState = {
  ticket: TicketRow
  sessions: readonly SessionRow[]
}

/** Refused while a session of the ticket is live. Kept workspaces are removed before the rows go. */
export function checkTicketDeletion({ ticket, sessions }: DeletionState): Result<undefined> {
  const live = sessions.find(isBusy)
  if (live === undefined) return accept(undefined)
  return refuse(
    'ticket.live',
    `The ticket ${ticket.key} has a session that ${busyWith(live)}.`,
    'Stop or finish the session first.',
  )
}

/**
 * What a deletion that goes on already asks again before each step. Refused with `session.held` while an agent has a
 * session of the ticket, or is not done with a parked one. One that was brought back meanwhile is no hindrance: it gets
 * no agent.
 */
export function checkUnheld({ ticket, sessions }: DeletionState): Result<undefined> {
  const held = sessions.find(({ leaseId }) => leaseId !== null)
  if (held !== undefined) {
    return refuse(
      'session.held',
      `${held.agent ?? 'An agent'} still has the session of ${ticket.key}, which ${busyWith(held)}.`,
      'It goes on when the agent is done with the session.',
    )
  }
  return checkTicketDeletion({ ticket, sessions: sessions.filter(isFinishedUnheld) })
}

/** Removes the rows of a ticket; its timelines, blobs and leases go with its sessions. */
export function deleteTicket(
  state: DeletionState & {
    openInputs: readonly InputRow[]
    openRequests: readonly RequestRow[]
    openQuestions: readonly QuestionRow[]
    openAssumptions: readonly AssumptionRow[]
  },
  outboxId: string,
): Result<Decision<TicketRow>> {
  const free = checkUnheld(state)
  if (!free.ok) return free
  return accept({
    answer: state.ticket,
    change: changeOf({
      deletes: [
        ...state.openInputs.map(({ id }) => ({ table: 'input' as const, id })),
        ...state.openRequests.map(({ id }) => ({ table: 'request' as const, id })),
        ...state.openQuestions.map(({ id }) => ({ table: 'question' as const, id })),
        ...state.openAssumptions.map(({ id }) => ({ table: 'assumption' as const, id })),
        ...state.sessions.map(({ id }) => ({ table: 'session' as const, id })),
        { table: 'ticket', id: state.ticket.id },
      ],
      outbox: state.sessions.map(({ id }) => ({
        id: `kept ${id}`,
        effect: KEPT_REMOVE,
        data: { session: id, names: null },
      })),
      outboxDone: [outboxId],
    }),
  })
}
