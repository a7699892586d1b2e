import type { HeadlessHostModule } from '../src-shared/headless-host.ts'
import {
  AgentId,
  AssumptionId,
  InputId,
  ProjectId,
  QuestionId,
  RequestId,
  SessionId,
  TicketId,
  TicketKey,
} from '../src-shared/ids.ts'
import type { Assumption, Question } from '../src-shared/questions.ts'
import type { Agent, Input, Project, Request, Session, Ticket } from '../src-shared/records.ts'
import type { TimelineEvent } from '../src-shared/timeline.ts'
import type { Client, Connection } from './connection.ts'
import { notRunning } from './connection.ts'
import { runCommandLine } from './program.ts'
import type { World } from './world.ts'

/** A client of which only the given calls exist; what they got is kept by the caller. */
export type FakeCalls = {
  [G in keyof Client]?: { [N in keyof Client[G]]?: (input: never) => unknown }
}

export function fakeConnection(calls: FakeCalls, isOpen: () => boolean = () => true): Connection {
  const groups = calls as Record<string, Record<string, (input: unknown) => unknown>>
  const client = new Proxy(
    {},
    {
      get: (_target, group: string) =>
        new Proxy(
          {},
          {
            get: (_calls, name: string) => async (input: unknown) => {
              const call = groups[group]?.[name]
              if (call === undefined) throw new Error(`nobody answers ${group}.${name}`)
              return call(input)
            },
          },
        ),
    },
  )
  return { client: client as Client, isOpen, close: () => undefined }
}

export type TestWorld = World & {
  out(): string
  err(): string
  /** The objects that were printed with `--json`. */
  rows(): Record<string, unknown>[]
  stop(signal?: 'SIGINT' | 'SIGTERM'): void
  connectedTo: string[]
}

export function testWorld(
  calls: FakeCalls | undefined,
  changes: Partial<World> & {
    stdin?: string
    files?: Record<string, Uint8Array>
    host?: Partial<HeadlessHostModule>
  } = {},
): TestWorld {
  let out = ''
  let err = ''
  let count = 0
  const listeners = new Set<(signal: 'SIGINT' | 'SIGTERM') => void>()
  const connectedTo: string[] = []
  const { stdin, files, host, ...others } = changes
  return {
    env: {},
    platform: 'linux',
    home: '/home/person',
    cwd: '/home/person/work',
    version: '1.2.3',
    stdout: {
      write: (text) => {
        out += text
      },
      columns: undefined,
      colour: false,
    },
    stderr: {
      write: (text) => {
        err += text
      },
      columns: undefined,
      colour: false,
    },
    ignoreBrokenPipe: () => undefined,
    readStdin: async () => stdin ?? '',
    askSecret: async () => {
      throw new Error('there is no terminal in this test')
    },
    readFile: async (path) => {
      const found = files?.[path]
      if (found === undefined) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
      return found
    },
    connect: async (dataDir) => {
      connectedTo.push(dataDir)
      if (calls === undefined) throw notRunning(dataDir)
      return fakeConnection(calls)
    },
    loadHost: async () => {
      if (host === undefined) throw new Error('there is no host in this test')
      const missing = async () => {
        throw new Error('the host of this test has no such function')
      }
      return { startHeadlessHost: missing, examineMachine: missing, ...host }
    },
    temporaryFolder: async () => ({ path: '/tmp/demo', remove: async () => undefined }),
    onStop: (listener) => {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    signal: () => {
      throw new Error('there are no processes in this test')
    },
    monotonic: () => 0,
    now: () => Date.parse(AT),
    sleep: async () => undefined,
    uuid: () => {
      count += 1
      return `0197c0de-0000-7000-8000-${String(count).padStart(12, '0')}`
    },
    ...others,
    out: () => out,
    err: () => err,
    rows: () =>
      out
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    stop: (signal = 'SIGINT') => {
      for (const listener of listeners) listener(signal)
    },
    connectedTo,
  }
}

/** Runs a command line given as words. */
export function ballet(world: World, ...argv: string[]): Promise<number> {
  return runCommandLine(argv, world)
}

const AT = '2026-01-02T03:04:05.000Z'
const ID = '0197c0de-1111-7000-8000-00000000000'

export const project: Project = {
  id: ProjectId.parse(`${ID}1`),
  key: 'SHOP',
  name: 'Shop',
  repo: 'https://example.org/shop.git',
  branch: 'main',
  runtime: 'claude-code',
  permission: 'full',
  runtimeArgs: [],
  setupLimit: '10m',
  stages: {},
  window: '10m',
  sources: ['docs/**/*.md'],
  planner: true,
  notify: ['question', 'request', 'ended'],
  envNames: [],
  createdAt: AT,
}

export const ticket: Ticket = {
  id: TicketId.parse(`${ID}2`),
  key: TicketKey.parse('SHOP-1'),
  project: 'Shop',
  projectId: project.id,
  title: 'Fix the cart',
  body: '',
  status: 'Backlog',
  stage: 'implement',
  priority: 3,
  createdAt: AT,
  updatedAt: AT,
}

export const session: Session = {
  id: SessionId.parse(`${ID}3`),
  ticket: ticket.key,
  ticketId: ticket.id,
  project: 'Shop',
  projectId: project.id,
  title: ticket.title,
  stage: 'implement',
  runtime: 'claude-code',
  runtimeVersion: null,
  model: null,
  permission: 'full',
  conversation: null,
  state: 'queued',
  stateSince: AT,
  reason: '',
  hint: '',
  agent: null,
  branch: 'ballet/SHOP-1-000002',
  workspace: null,
  window: null,
  parkAt: null,
  parked: null,
  openQuestions: 0,
  progress: null,
  outcome: null,
  openRequests: 0,
  queuedInputs: 0,
  turn: 0,
  turnStartedAt: null,
  costUsd: 0,
  usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
  contextTokens: null,
  contextWindow: null,
  lastSeq: 0,
  createdAt: AT,
  updatedAt: AT,
}

export const input: Input = {
  id: InputId.parse(`${ID}4`),
  session: session.id,
  inputKind: 'message',
  state: 'queued',
  text: 'go on',
  images: [],
  author: 'person',
  steer: false,
  position: 1,
  delivery: null,
  createdAt: AT,
}

export const request: Request = {
  id: RequestId.parse(`${ID}5`),
  session: session.id,
  ticket: ticket.key,
  project: 'Shop',
  callId: 'call-1',
  name: 'Bash',
  toolKind: 'execute',
  title: 'npm test',
  input: '{"command":"npm test"}',
  inputBlob: null,
  sessionRules: ['Bash(npm test:*)'],
  state: 'open',
  waits: true,
  author: null,
  text: null,
  turn: 1,
  createdAt: AT,
  answeredAt: null,
}

export const question: Question = {
  id: QuestionId.parse(`${ID}6`),
  key: 'SHOP-1-Q2',
  session: session.id,
  ticket: ticket.key,
  ticketId: ticket.id,
  project: 'Shop',
  projectId: project.id,
  question: 'Which database?',
  context: 'The cart must survive a reload.',
  options: [
    { label: 'SQLite', detail: 'no server', recommended: true },
    { label: 'Postgres', recommended: false },
  ],
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
}

export const assumption: Assumption = {
  id: AssumptionId.parse(`${ID}7`),
  session: session.id,
  ticket: ticket.key,
  ticketId: ticket.id,
  project: 'Shop',
  projectId: project.id,
  assumption: 'Prices are in euro.',
  reason: 'The tests say so.',
  alternatives: ['dollars'],
  reversibleBy: 'one constant',
  state: 'open',
  text: null,
  turn: 1,
  createdAt: AT,
  reviewedAt: null,
}

export const agent: Agent = {
  id: AgentId.parse('agent-1'),
  state: 'busy',
  session: session.id,
  ticket: ticket.key,
  pid: 4_711,
  runtimePids: [4_712],
  memoryBytes: 50 * 2 ** 20,
  runtimeMemoryBytes: 150 * 2 ** 20,
  cpuPercent: 12.4,
  restarts: 0,
  reason: '',
}

const USAGE = session.usage

export function textEvent(seq: number, text: string, block = `b${seq}`): TimelineEvent {
  return { session: session.id, seq, at: AT, kind: 'assistant.text', turn: 1, text, block }
}

export function stateEvent(
  seq: number,
  to: Session['state'],
  from: Session['state'] | null = null,
): TimelineEvent {
  return { session: session.id, seq, at: AT, kind: 'session.state', from, to, reason: '' }
}

export function turnEndEvent(
  seq: number,
  reason: 'completed' | 'failed' = 'completed',
): TimelineEvent {
  return {
    session: session.id,
    seq,
    at: AT,
    kind: 'turn.ended',
    turn: 1,
    reason,
    durationMs: 1_234,
    usage: USAGE,
    costUsd: 0.0123,
  }
}
