import { v7 } from 'uuid'
import type {
  AssumptionId,
  InputId,
  LeaseId,
  ProjectId,
  QuestionId,
  RequestId,
  SessionId,
  TicketId,
} from '../../src-shared/ids.ts'
import { AgentId, TicketKey } from '../../src-shared/ids.ts'
import type { KeptFile } from '../../src-shared/parking.ts'
import type { EventBody } from '../../src-shared/timeline.ts'
import type { Commit } from './port.ts'
import type {
  AssumptionRow,
  InputRow,
  KeptWork,
  LeaseRow,
  ProjectRow,
  QuestionRow,
  RequestRow,
  SessionRow,
  TicketRow,
} from './rows.ts'

/** Rows and commits for tests of what lies over or under the storage port. */

export const AT = '2026-11-29T12:00:00.000Z'

/** A new id of any kind. */
export const newId = <T extends string>(): T => v7() as T

export const commitOf = (parts: Partial<Commit> = {}): Commit => ({
  at: AT,
  durability: 'domain',
  expected: [],
  puts: [],
  deletes: [],
  timeline: [],
  domain: [],
  outbox: [],
  outboxDone: [],
  ...parts,
})

export const projectRow = (parts: Partial<ProjectRow> = {}): ProjectRow => ({
  id: newId<ProjectId>(),
  key: 'SHOP',
  name: 'Shop “é” 🛒',
  repo: '/srv/shop.git',
  branch: 'main',
  runtime: 'claude-code',
  permission: 'full',
  model: null,
  runtimeArgs: ['--verbose', "it's"],
  setup: null,
  setupLimit: '10m',
  stages: {},
  env: { TOKEN: 'a "quoted" value' },
  window: '10m',
  maxSessions: null,
  sources: ['README*', 'docs/**/*.md'],
  planner: true,
  skill: null,
  notify: ['question', 'request', 'ended'],
  nextNumber: 1,
  createdAt: AT,
  ...parts,
})

export const ticketRow = (project: ProjectRow, parts: Partial<TicketRow> = {}): TicketRow => ({
  id: newId<TicketId>(),
  projectId: project.id,
  key: TicketKey.parse(`${project.key}-1`),
  title: 'Sell "ice"',
  body: 'line\nline',
  status: 'Ready',
  stage: 'implement',
  priority: 3,
  questions: 0,
  createdAt: AT,
  updatedAt: AT,
  ...parts,
})

export const keptFile = (parts: Partial<KeptFile> = {}): KeptFile => ({
  kind: 'state',
  name: 'state-1.sealed',
  bytes: 5,
  sha256: '1'.repeat(64),
  contentSha256: '2'.repeat(64),
  ...parts,
})

export const keptWork = (parts: Partial<KeptWork> = {}): KeptWork => ({
  why: 'window',
  at: AT,
  work: {
    commit: 'e'.repeat(40),
    pushed: true,
    notPushed: null,
    files: [keptFile()],
    state: { conversation: 'conversation-1', runtimeVersion: '2.1.332', bytes: 5 },
    aside: [],
    snapshot: { manifest: 1 },
  },
  restored: false,
  ...parts,
})

export const sessionRow = (ticket: TicketRow, parts: Partial<SessionRow> = {}): SessionRow => ({
  id: newId<SessionId>(),
  ticketId: ticket.id,
  projectId: ticket.projectId,
  stage: 'implement',
  runtime: 'claude-code',
  runtimeVersion: null,
  model: null,
  chosenModel: null,
  permission: 'full',
  conversation: null,
  conversations: [],
  continueWith: null,
  state: 'queued',
  stateSince: AT,
  reason: '',
  hint: '',
  leaseId: null,
  agent: null,
  branch: 'ballet/SHOP-1-abcdef',
  baseCommit: null,
  pushedCommit: null,
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
  costUsd: 0.1,
  usage: { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4 },
  contextTokens: null,
  contextWindow: null,
  queuedAt: AT,
  createdAt: AT,
  updatedAt: AT,
  ...parts,
})

export const inputRow = (session: SessionRow, parts: Partial<InputRow> = {}): InputRow => ({
  id: newId<InputId>(),
  sessionId: session.id,
  inputKind: 'message',
  state: 'queued',
  text: 'please',
  images: [],
  author: 'person',
  steer: false,
  position: 1,
  delivery: null,
  createdAt: AT,
  updatedAt: AT,
  ...parts,
})

export const requestRow = (session: SessionRow, parts: Partial<RequestRow> = {}): RequestRow => ({
  id: newId<RequestId>(),
  sessionId: session.id,
  callId: 'call-1',
  name: 'Bash',
  toolKind: 'execute',
  title: 'npm test',
  input: '{"command":"npm test"}',
  inputBlob: null,
  facts: {
    digest: 'd'.repeat(64),
    rules: [{ type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'npm test:*' }] }],
    ruleTexts: ['Bash(npm test:*)'],
  },
  state: 'open',
  phase: 'waits',
  author: null,
  text: null,
  turn: 1,
  createdAt: AT,
  answeredAt: null,
  ...parts,
})

export const questionRow = (
  session: SessionRow,
  parts: Partial<QuestionRow> = {},
): QuestionRow => ({
  id: newId<QuestionId>(),
  sessionId: session.id,
  ticketId: session.ticketId,
  projectId: session.projectId,
  key: 'SHOP-1-Q1',
  question: 'Which “colour”?',
  context: 'The page has none.',
  options: [{ label: 'Blue', detail: 'As the logo.', recommended: true }],
  multiple: false,
  urgency: 'normal',
  state: 'open',
  heldBy: 'person',
  planner: 'over',
  nonce: '0123456789abcdef',
  draft: null,
  answer: null,
  undoUntil: null,
  held: null,
  inputId: null,
  overturned: null,
  withdrawn: null,
  turn: 1,
  createdAt: AT,
  reachedPersonAt: AT,
  answeredAt: null,
  ...parts,
})

export const assumptionRow = (
  session: SessionRow,
  parts: Partial<AssumptionRow> = {},
): AssumptionRow => ({
  id: newId<AssumptionId>(),
  sessionId: session.id,
  ticketId: session.ticketId,
  projectId: session.projectId,
  assumption: 'The button is blue.',
  reason: 'The others are.',
  alternatives: ['It is green.'],
  reversibleBy: 'One line of CSS.',
  state: 'open',
  text: null,
  turn: 1,
  createdAt: AT,
  reviewedAt: null,
  ...parts,
})

export const leaseRow = (session: SessionRow, parts: Partial<LeaseRow> = {}): LeaseRow => ({
  id: newId<LeaseId>(),
  sessionId: session.id,
  agent: AgentId.parse('agent-1'),
  token: 1,
  nonce: '0123456789abcdef',
  lastItem: 0,
  grantedAt: AT,
  endedAt: null,
  endReason: null,
  reaped: false,
  ...parts,
})

/** One project with one ticket and its session, held by an agent, as rows and as the commit that stores them. */
export function smallWorld() {
  const project = projectRow()
  const ticket = ticketRow(project)
  const session = sessionRow(ticket)
  const input = inputRow(session)
  const request = requestRow(session)
  const question = questionRow(session)
  const assumption = assumptionRow(session)
  const lease = leaseRow(session)
  const commit = commitOf({
    puts: [
      { table: 'project', row: project },
      { table: 'ticket', row: ticket },
      { table: 'session', row: session },
      { table: 'input', row: input },
      { table: 'request', row: request },
      { table: 'question', row: question },
      { table: 'assumption', row: assumption },
      { table: 'lease', row: lease },
    ],
  })
  return { project, ticket, session, input, request, question, assumption, lease, commit }
}

export const textBody = (text: string, turn = 1): EventBody => ({
  kind: 'assistant.text',
  turn,
  text,
})

/** A commit that appends a text event for each of `texts`. */
export const appendTexts = (session: SessionId, texts: readonly string[], turn = 1): Commit =>
  commitOf({
    durability: 'timeline',
    timeline: [{ session, events: texts.map((text) => ({ at: AT, body: textBody(text, turn) })) }],
  })
