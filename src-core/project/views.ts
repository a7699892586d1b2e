import type { TicketKey } from '../../src-shared/ids.ts'
import type { Parked } from '../../src-shared/parking.ts'
import type { Assumption, Question } from '../../src-shared/questions.ts'
import type { Input, Project, Request, Session, Ticket } from '../../src-shared/records.ts'
import { isUnsettled } from '../decide/session-draft.ts'
import type {
  AssumptionRow,
  InputRow,
  ProjectRow,
  QuestionRow,
  RequestRow,
  SessionRow,
  TicketRow,
} from '../storage/rows.ts'

/** A repository as clients see it: without the password that its address may carry. */
export function viewRepo(repo: string): string {
  return repo.replace(/(:\/\/[^\s/:@]*):[^\s/@]+@/, '$1:***@')
}

/** A project as clients see it: of its environment only the names. */
export function viewProject(row: ProjectRow): Project {
  return {
    id: row.id,
    key: row.key,
    name: row.name,
    repo: viewRepo(row.repo),
    branch: row.branch,
    runtime: row.runtime,
    permission: row.permission,
    ...(row.model === null ? {} : { model: row.model }),
    runtimeArgs: [...row.runtimeArgs],
    ...(row.setup === null ? {} : { setup: row.setup }),
    setupLimit: row.setupLimit,
    stages: { ...row.stages },
    window: row.window,
    ...(row.maxSessions === null ? {} : { maxSessions: row.maxSessions }),
    sources: [...row.sources],
    planner: row.planner,
    ...(row.skill === null ? {} : { skill: row.skill }),
    notify: [...row.notify],
    envNames: Object.keys(row.env).sort(),
    createdAt: row.createdAt,
  }
}

export function viewTicket(row: TicketRow, projectName: string): Ticket {
  return {
    id: row.id,
    key: row.key,
    project: projectName,
    projectId: row.projectId,
    title: row.title,
    body: row.body,
    status: row.status,
    stage: row.stage,
    priority: row.priority,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

/** What a session's view says besides its own row. */
export type SessionJoin = {
  ticketKey: TicketKey
  title: string
  ticketOver?: boolean
  projectName: string
  queuedInputs: number
  openRequests: number
  openQuestions: number
  lastSeq: number
}

export function viewSession(row: SessionRow, join: SessionJoin): Session {
  return {
    id: row.id,
    ticket: join.ticketKey,
    ticketId: row.ticketId,
    project: join.projectName,
    projectId: row.projectId,
    title: join.title,
    stage: row.stage,
    runtime: row.runtime,
    runtimeVersion: row.runtimeVersion,
    model: row.model,
    permission: row.permission,
    conversation: row.conversation,
    state: row.state,
    stateSince: row.stateSince,
    reason: row.reason,
    hint: row.hint,
    agent: row.agent,
    branch: row.branch,
    ...(row.pushedCommit === null ? {} : { pushedCommit: row.pushedCommit }),
    ...(row.pending === null ? {} : { pending: row.pending }),
    ...(join.ticketOver === true ? { ticketOver: true } : {}),
    workspace: row.workspace,
    window: row.window,
    parkAt: row.parkAt,
    parked: viewParked(row),
    openQuestions: join.openQuestions,
    progress: row.progress,
    outcome: row.outcome,
    openRequests: join.openRequests,
    queuedInputs: join.queuedInputs,
    turn: row.turn,
    turnStartedAt: row.turnStartedAt,
    costUsd: row.costUsd,
    usage: row.usage,
    contextTokens: row.contextTokens,
    contextWindow: row.contextWindow,
    lastSeq: join.lastSeq,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

/** What people see of a parked session; null while its workspace is there. */
function viewParked({ parked, wakes }: Pick<SessionRow, 'parked' | 'wakes'>): Parked | null {
  if (parked === null || parked.restored) return null
  const { why, at, work, damaged } = parked
  return {
    why,
    at,
    commit: work.commit,
    pushed: work.pushed,
    notPushed: work.notPushed,
    keptBytes: work.files.reduce((sum, { bytes }) => sum + bytes, 0),
    stateBytes: work.state?.bytes ?? null,
    runtimeVersion: work.state?.runtimeVersion ?? null,
    aside: work.aside,
    wakes,
    ...(damaged === true ? { damaged } : {}),
  }
}

export function viewInput(row: InputRow): Input {
  return {
    id: row.id,
    session: row.sessionId,
    inputKind: row.inputKind,
    state: row.state,
    text: row.text,
    images: [...row.images],
    author: row.author,
    steer: row.steer,
    position: row.position,
    delivery: row.delivery,
    createdAt: row.createdAt,
  }
}

/** Whether clients that follow the records hold the input. */
export function isOpenInput(row: Pick<InputRow, 'state'>): boolean {
  return row.state === 'queued' || row.state === 'sent' || row.state === 'unknown'
}

export function viewRequest(
  row: RequestRow,
  join: { ticketKey: TicketKey; projectName: string },
): Request {
  return {
    id: row.id,
    session: row.sessionId,
    ticket: join.ticketKey,
    project: join.projectName,
    callId: row.callId,
    name: row.name,
    toolKind: row.toolKind,
    title: row.title,
    input: row.input,
    inputBlob: row.inputBlob,
    sessionRules: [...row.facts.ruleTexts],
    state: row.state,
    waits: row.state === 'open' && row.phase === 'waits',
    author: row.author,
    text: row.text,
    turn: row.turn,
    createdAt: row.createdAt,
    answeredAt: row.answeredAt,
  }
}

/** Whether clients that follow the records hold the question. */
export const isOpenQuestion = isUnsettled

export function viewQuestion(
  row: QuestionRow,
  join: { ticketKey: TicketKey; projectName: string },
): Question {
  return {
    id: row.id,
    key: row.key,
    session: row.sessionId,
    ticket: join.ticketKey,
    ticketId: row.ticketId,
    project: join.projectName,
    projectId: row.projectId,
    question: row.question,
    context: row.context,
    options: [...row.options],
    multiple: row.multiple,
    urgency: row.urgency,
    state: row.state,
    heldBy: row.heldBy,
    draft: row.draft,
    answer: row.answer,
    undoUntil: row.undoUntil,
    input: row.inputId,
    overturned: row.overturned,
    turn: row.turn,
    createdAt: row.createdAt,
    reachedPersonAt: row.reachedPersonAt,
    answeredAt: row.answeredAt,
  }
}

export function viewAssumption(
  row: AssumptionRow,
  join: { ticketKey: TicketKey; projectName: string },
): Assumption {
  return {
    id: row.id,
    session: row.sessionId,
    ticket: join.ticketKey,
    ticketId: row.ticketId,
    project: join.projectName,
    projectId: row.projectId,
    assumption: row.assumption,
    reason: row.reason,
    alternatives: [...row.alternatives],
    reversibleBy: row.reversibleBy,
    state: row.state,
    text: row.text,
    turn: row.turn,
    createdAt: row.createdAt,
    reviewedAt: row.reviewedAt,
  }
}
