import './without-jit.ts'
import { useStore } from 'zustand'
import { createStore, type StoreApi } from 'zustand/vanilla'
import type { RecordChange, RecordFollow } from '../../src-shared/contract.ts'
import type { Assumption, Question } from '../../src-shared/questions.ts'
import type {
  Agent,
  Input,
  Project,
  Request,
  Session,
  SessionState,
  Ticket,
} from '../../src-shared/records.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import { capabilitiesOf, type Runtime } from '../../src-shared/runtimes.ts'
import type { Settings } from '../../src-shared/settings.ts'
import type { Client } from './client.ts'
import { followLoop } from './follow-loop.ts'

/** What lists need of a session; changes far less often than the session itself. */
export type SessionSketch = {
  id: string
  ticketId: string
  projectId: string
  state: SessionState
  /** It waits for the answer to a permission request or to a question. */
  asks: boolean
  createdAt: string
}

/**
 * Everything that `records.follow` told, by id. A map is replaced when something in it changed and
 * only then, so that a selector of one record renders nothing for the changes of others.
 */
export type Records = {
  /** `loading` until the first snapshot; `away` while the host cannot be asked. */
  phase: 'loading' | 'ready' | 'away'
  away: Refusal | null
  cursor: string | undefined
  projects: ReadonlyMap<string, Project>
  tickets: ReadonlyMap<string, Ticket>
  sessions: ReadonlyMap<string, Session>
  inputs: ReadonlyMap<string, Input>
  /** The open ones. */
  requests: ReadonlyMap<string, Request>
  /** The open ones, and answered ones that can be taken back or wait for the others of their turn. */
  questions: ReadonlyMap<string, Question>
  /** Those that nobody looked over yet. */
  assumptions: ReadonlyMap<string, Assumption>
  agents: ReadonlyMap<string, Agent>
  runtimes: ReadonlyMap<string, Runtime>
  /** By their one name, `settings`. */
  settings: ReadonlyMap<string, Settings>
  sketches: ReadonlyMap<string, SessionSketch>
}

export type RecordsStore = StoreApi<Records>

const none: Omit<Records, 'phase' | 'away' | 'cursor'> = {
  projects: new Map(),
  tickets: new Map(),
  sessions: new Map(),
  inputs: new Map(),
  requests: new Map(),
  questions: new Map(),
  assumptions: new Map(),
  agents: new Map(),
  runtimes: new Map(),
  settings: new Map(),
  sketches: new Map(),
}

export function createRecordsStore(): RecordsStore {
  return createStore<Records>(() => ({ phase: 'loading', away: null, cursor: undefined, ...none }))
}

type Change<K extends RecordChange['record']> = Extract<RecordChange, { record: K }>

/** The map after the changes of one kind; the same map when there are none. */
function mapAfter<K extends RecordChange['record']>(
  before: ReadonlyMap<string, NonNullable<Change<K>['value']>>,
  changes: RecordChange[],
  record: K,
): ReadonlyMap<string, NonNullable<Change<K>['value']>> {
  let after: Map<string, NonNullable<Change<K>['value']>> | undefined
  const isOfKind = (change: RecordChange): change is Change<K> => change.record === record
  for (const change of changes) {
    if (!isOfKind(change)) continue
    after ??= new Map(before)
    const { value } = change
    if (value === null) after.delete(change.id)
    else after.set(change.id, value as NonNullable<Change<K>['value']>)
  }
  return after ?? before
}

export function sketchOf(session: Session): SessionSketch {
  const { id, ticketId, projectId, state, openRequests, openQuestions, createdAt } = session
  return { id, ticketId, projectId, state, asks: openRequests + openQuestions > 0, createdAt }
}

const sameSketch = (a: SessionSketch | undefined, b: SessionSketch) =>
  a !== undefined && a.state === b.state && a.asks === b.asks && a.ticketId === b.ticketId

function sketchesAfter(
  before: ReadonlyMap<string, SessionSketch>,
  changes: RecordChange[],
): ReadonlyMap<string, SessionSketch> {
  let after: Map<string, SessionSketch> | undefined
  for (const change of changes) {
    if (change.record !== 'session') continue
    const known = (after ?? before).get(change.id)
    if (change.value === null) {
      if (known !== undefined) {
        after ??= new Map(before)
        after.delete(change.id)
      }
    } else if (!sameSketch(known, sketchOf(change.value))) {
      after ??= new Map(before)
      after.set(change.id, sketchOf(change.value))
    }
  }
  return after ?? before
}

/** The records after one answer of `records.follow`. */
export function applyRecords(
  before: Records,
  { snapshot, changes, cursor }: RecordFollow,
): Records {
  const base: Records = snapshot ? { ...before, ...none } : before
  return {
    phase: 'ready',
    away: null,
    cursor,
    projects: mapAfter(base.projects, changes, 'project'),
    tickets: mapAfter(base.tickets, changes, 'ticket'),
    sessions: mapAfter(base.sessions, changes, 'session'),
    inputs: mapAfter(base.inputs, changes, 'input'),
    requests: mapAfter(base.requests, changes, 'request'),
    questions: mapAfter(base.questions, changes, 'question'),
    assumptions: mapAfter(base.assumptions, changes, 'assumption'),
    agents: mapAfter(base.agents, changes, 'agent'),
    runtimes: mapAfter(base.runtimes, changes, 'runtime'),
    settings: mapAfter(base.settings, changes, 'settings'),
    sketches: sketchesAfter(base.sketches, changes),
  }
}

/** Longer than the host waits at most, so that only a host that is away comes over it. */
const ANSWER_LIMIT_MS = 40_000

/** Keeps the store at what the host has until `signal` aborts. */
export function followRecords(
  client: Client,
  store: RecordsStore,
  signal: AbortSignal,
): Promise<void> {
  return followLoop({
    ask: (abort) => {
      const { cursor, phase } = store.getState()
      // After a failure the first answer shall come at once: it tells that the host is back.
      const wait = phase === 'away' ? { waitMs: 0 } : {}
      return client.records.follow(cursor === undefined ? wait : { cursor, ...wait }, {
        signal: abort,
      })
    },
    take: (answer) => store.setState((before) => applyRecords(before, answer)),
    onAway: (away) => store.setState({ phase: 'away', away }),
    onBack: () => store.setState({ phase: 'ready', away: null }),
    limitMs: ANSWER_LIMIT_MS,
    signal,
  })
}

let shared: RecordsStore | undefined

/** The one store of this window. */
export function recordsStore(): RecordsStore {
  shared ??= createRecordsStore()
  return shared
}

export function useRecords<T>(select: (records: Records) => T): T {
  return useStore(recordsStore(), select)
}

export const useSession = (id: string | undefined) =>
  useRecords((records) => (id === undefined ? undefined : records.sessions.get(id)))

/** What the runtime of a session can do; undefined while nobody knows. */
export const useCapabilities = (session: string) =>
  useRecords(({ sessions, runtimes, settings }) =>
    capabilitiesOf(
      sessions.get(session)?.runtime ?? '',
      runtimes,
      settings.get('settings')?.acpAgents,
    ),
  )

export const useTicket = (id: string | undefined) =>
  useRecords((records) => (id === undefined ? undefined : records.tickets.get(id)))

/** The newest session of a ticket. */
export function newestSession(
  sketches: ReadonlyMap<string, SessionSketch>,
  ticketId: string,
): SessionSketch | undefined {
  let newest: SessionSketch | undefined
  for (const sketch of sketches.values()) {
    if (sketch.ticketId !== ticketId) continue
    if (newest === undefined || sketch.createdAt > newest.createdAt) newest = sketch
  }
  return newest
}
