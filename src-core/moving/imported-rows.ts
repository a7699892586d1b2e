import { type Instant, type ProjectId, TicketKey } from '../../src-shared/ids.ts'
import type { KeptFile } from '../../src-shared/parking.ts'
import type { Ids } from '../ports.ts'
import type {
  AssumptionRow,
  InputRow,
  PastConversation,
  ProjectRow,
  QuestionRow,
  RequestRow,
  SessionRow,
  TicketRow,
} from '../storage/rows.ts'
import type { ExportedRows } from './exported.ts'

export type ImportedRows = {
  ticket: TicketRow
  session: SessionRow
  inputs: InputRow[]
  requests: RequestRow[]
  questions: QuestionRow[]
  assumptions: AssumptionRow[]
  /** The number after its ticket's, where it took one of the project's. */
  nextNumber: number
}

export type ImportPlace = {
  project: ProjectRow
  /** The ticket where it is here already. */
  existing: TicketRow | undefined
  /** Whether another ticket has the key. */
  isTaken(key: string): boolean
  /** As they are kept here. */
  files: readonly KeptFile[]
  file: string
  /** Those that runtimes of this machine keep of it, from before it was moved away. */
  conversations: readonly PastConversation[]
}

/** The state in which it stands while its timeline comes in: nothing begins with it. */
const COMING = 'it is being imported'

/** The rows of an imported session in this data folder; `moved` until all of it is here. */
export function importedRows(
  exported: ExportedRows,
  place: ImportPlace,
  now: Instant,
  ids: Ids,
): ImportedRows {
  const { project } = place
  const ticket = ticketOf(exported, place, now)
  const owned = { sessionId: exported.session.id }
  const ofTicket = { ticketId: ticket.id, projectId: project.id }
  return {
    ticket,
    session: sessionOf(exported, { ...place, ticket, projectId: project.id }, now),
    inputs: exported.inputs.map((input) => ({ ...input, ...owned })),
    requests: exported.requests.map((request) => ({
      ...request,
      ...owned,
      phase: request.phase === 'waits' ? 'gone' : request.phase,
    })),
    questions: exported.questions.map((question, number) => ({
      ...question,
      ...owned,
      ...ofTicket,
      // A key of another ticket here would be no key.
      key: `${ticket.key}-Q${/-Q(\d+)$/.exec(question.key)?.[1] ?? number + 1}`,
      heldBy: 'person' as const,
      planner: 'over' as const,
      nonce: ids.nonce(8),
      undoUntil: null,
      held: null,
      reachedPersonAt: question.reachedPersonAt ?? now,
    })),
    assumptions: exported.assumptions.map((each) => ({ ...each, ...owned, ...ofTicket })),
    nextNumber: Math.max(project.nextNumber, numberOf(ticket.key, project.key) + 1),
  }
}

function ticketOf(exported: ExportedRows, place: ImportPlace, now: Instant): TicketRow {
  const { project, existing } = place
  const { id, key, title, body, stage, priority, questions, createdAt } = exported.ticket
  if (existing !== undefined) {
    const most = Math.max(existing.questions, questions)
    return { ...existing, questions: most, status: 'Waiting for answer', updatedAt: now }
  }
  const isOurs = numberOf(key, project.key) > 0 && !place.isTaken(key)
  return {
    ...{ id, title, body, stage, priority, questions, createdAt },
    projectId: project.id,
    key: isOurs ? key : TicketKey.parse(`${project.key}-${project.nextNumber}`),
    status: 'Waiting for answer',
    updatedAt: now,
  }
}

/** 0 for a key of another project. */
function numberOf(key: string, projectKey: string): number {
  const own = key.startsWith(`${projectKey}-`) ? Number(key.slice(projectKey.length + 1)) : 0
  return Number.isSafeInteger(own) ? own : 0
}

function sessionOf(
  exported: ExportedRows,
  {
    ticket,
    projectId,
    files,
    file,
    conversations,
  }: Pick<ImportPlace, 'files' | 'file' | 'conversations'> & {
    ticket: TicketRow
    projectId: ProjectId
  },
  now: Instant,
): SessionRow {
  const { parked } = exported
  return {
    ...exported.session,
    ticketId: ticket.id,
    projectId,
    state: 'moved',
    stateSince: now,
    reason: COMING,
    hint: `When that was cut, import ${file} again.`,
    chosenModel: exported.session.chosenModel ?? null,
    recorded: exported.session.recorded ?? exported.session.turn > 0,
    conversations: [...conversations],
    continueWith: null,
    leaseId: null,
    agent: null,
    workspace: null,
    parkAt: null,
    parkFrom: null,
    saga: null,
    parked: { ...parked, work: { ...parked.work, files: [...files] }, restored: false },
    wakes: false,
    turnStartedAt: null,
    pending: null,
    queuedAt: null,
    updatedAt: now,
  }
}
