import { ProjectId, QuestionId, RequestId, SessionId, TicketId } from '../../../src-shared/ids.ts'
import { Question } from '../../../src-shared/questions.ts'
import { Project, Request, Session } from '../../../src-shared/records.ts'
import { Settings } from '../../../src-shared/settings.ts'
import { type Followed, NOTHING } from '../followed.ts'

const AT = '2026-11-29T10:00:00.000Z'

/** The `n`th id of a kind, always the same. */
const id = (kind: number, n: number): string =>
  `01930000-000${kind}-7000-8000-${String(n).padStart(12, '0')}`

export const projectId = ProjectId.parse(id(1, 1))
export const sessionId = (n = 1): SessionId => SessionId.parse(id(2, n))
export const questionId = (n = 1): QuestionId => QuestionId.parse(id(3, n))
export const requestId = (n = 1): RequestId => RequestId.parse(id(4, n))

export function sampleProject(fields: Partial<Project> = {}): Project {
  return Project.parse({
    id: projectId,
    key: 'SHOP',
    name: 'shop',
    repo: '/repos/shop',
    branch: 'main',
    setupLimit: '10m',
    sources: [],
    envNames: [],
    createdAt: AT,
    ...fields,
  })
}

export function sampleSession(n = 1, fields: Partial<Session> = {}): Session {
  return Session.parse({
    id: sessionId(n),
    ticket: `SHOP-${n}`,
    ticketId: TicketId.parse(id(5, n)),
    project: 'shop',
    projectId,
    title: 'Rate limit for the API',
    stage: 'implement',
    runtime: 'claude-code',
    runtimeVersion: null,
    model: null,
    permission: 'full',
    conversation: null,
    state: 'waiting',
    stateSince: AT,
    reason: '',
    hint: '',
    agent: null,
    branch: `ballet/SHOP-${n}-000001`,
    workspace: null,
    window: null,
    parkAt: null,
    parked: null,
    openQuestions: 0,
    progress: null,
    outcome: null,
    openRequests: 0,
    queuedInputs: 0,
    turn: 1,
    turnStartedAt: null,
    costUsd: 0,
    usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
    contextTokens: null,
    contextWindow: null,
    lastSeq: 1,
    createdAt: AT,
    updatedAt: AT,
    ...fields,
  })
}

/** Of the first session, unless it is given another one. */
export function sampleQuestion(n = 1, fields: Partial<Question> = {}): Question {
  return Question.parse({
    id: questionId(n),
    key: `SHOP-1-Q${n}`,
    session: sessionId(1),
    ticket: 'SHOP-1',
    ticketId: TicketId.parse(id(5, 1)),
    project: 'shop',
    projectId,
    question: 'Which limiter?',
    context: null,
    options: [{ label: 'Sliding window', recommended: true }, { label: 'Token bucket' }],
    multiple: false,
    urgency: 'normal',
    state: 'open',
    heldBy: 'person',
    draft: null,
    answer: null,
    undoUntil: null,
    input: null,
    overturned: null,
    turn: 1,
    createdAt: AT,
    reachedPersonAt: AT,
    answeredAt: null,
    ...fields,
  })
}

export function sampleRequest(n = 1, fields: Partial<Request> = {}): Request {
  return Request.parse({
    id: requestId(n),
    session: sessionId(1),
    ticket: 'SHOP-1',
    project: 'shop',
    callId: `call-${n}`,
    name: 'Bash',
    toolKind: 'execute',
    title: 'npm publish',
    input: JSON.stringify({ command: 'npm publish', description: 'Publish it' }),
    inputBlob: null,
    sessionRules: [],
    state: 'open',
    waits: true,
    author: null,
    text: null,
    turn: 1,
    createdAt: AT,
    answeredAt: null,
    ...fields,
  })
}

/** One project with the sessions 1 and 2, every kind of notification switched on, and what is given. */
export function sampleRecords(fields: {
  projects?: readonly Project[]
  sessions?: readonly Session[]
  questions?: readonly Question[]
  requests?: readonly Request[]
  settings?: Partial<Settings>
}): Followed {
  const byId = <T extends { id: string }>(list: readonly T[]) =>
    new Map(list.map((entry) => [entry.id as string, entry]))
  return {
    ...NOTHING,
    projects: byId(fields.projects ?? [sampleProject()]),
    sessions: byId(fields.sessions ?? [sampleSession(1), sampleSession(2)]),
    questions: byId(fields.questions ?? []),
    requests: byId(fields.requests ?? []),
    settings: Settings.parse(fields.settings ?? {}),
  }
}
