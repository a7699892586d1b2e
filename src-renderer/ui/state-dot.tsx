import { AGENT_STARTS } from '../../src-shared/agent-reasons.ts'
import type {
  Agent,
  AgentState,
  Session,
  SessionState,
  TicketStatus,
} from '../../src-shared/records.ts'

/** Colour and shape of a state: never colour alone. */
export type Look =
  | 'on'
  | 'begin'
  | 'wait'
  | 'ask'
  | 'bad'
  | 'park'
  | 'quiet'
  | 'open'
  | 'done'
  | 'gone'

const ofSession: Record<SessionState, Look> = {
  queued: 'open',
  starting: 'begin',
  working: 'on',
  waiting: 'wait',
  parking: 'park',
  parked: 'park',
  resuming: 'begin',
  finished: 'done',
  failed: 'bad',
  cancelled: 'gone',
  moved: 'gone',
}

const ofTicket: Record<TicketStatus, Look> = {
  Backlog: 'open',
  Ready: 'quiet',
  'In progress': 'begin',
  'Waiting for answer': 'wait',
  Review: 'done',
  Done: 'done',
  Cancelled: 'gone',
}

const ofAgent: Record<AgentState, Look> = {
  idle: 'quiet',
  busy: 'on',
  draining: 'park',
  offline: 'bad',
}

const isOver = (state: SessionState) =>
  state === 'finished' || state === 'cancelled' || state === 'moved'

type Shown = Pick<Session, 'state' | 'openRequests' | 'openQuestions'>

/** A session whose runtime waits for the answer to a permission request. */
const asksToBeAllowed = ({ state, openRequests }: Shown) => openRequests > 0 && !isOver(state)

/** A session that waits for the answer to a question; while its turn runs it works. */
const asksQuestions = ({ state, openQuestions }: Shown) =>
  openQuestions > 0 && !isOver(state) && state !== 'working'

/** It holds its agent no longer than until everything is kept: its answer brings it back. */
const isParked = (state: SessionState) => state === 'parking' || state === 'parked'

export const sessionLook = (session: Shown): Look =>
  asksToBeAllowed(session) && !isParked(session.state) ? 'ask' : ofSession[session.state]

/** The state, and beside it that it asks; which alone is said where the turn runs or the session waits: it is more. */
export function sessionBadges(session: Shown): readonly { look: Look; word: string }[] {
  const { state } = session
  const own = { look: sessionLook(session), word: state }
  const mayBeAllowed = asksToBeAllowed(session)
  if (!mayBeAllowed && !asksQuestions(session)) return [own]
  const asks = { look: mayBeAllowed ? 'ask' : 'wait', word: 'asks' } as const
  return state === 'working' || state === 'waiting' ? [asks] : [own, asks]
}

/** The same in one text. */
export const sessionWord = (session: Shown): string =>
  sessionBadges(session)
    .map(({ word }) => word)
    .join(', ')

export const ticketLook = (status: TicketStatus): Look => ofTicket[status]

type ShownAgent = Pick<Agent, 'state' | 'reason'>

/** It comes up, which is no fault. */
const starts = ({ state, reason }: ShownAgent) =>
  state === 'offline' && AGENT_STARTS.some((each) => each === reason)

/** It was drained and is gone, until that is taken back. */
export const isDrained = ({ state, reason }: ShownAgent) =>
  state === 'offline' && reason.startsWith('drained')

export const agentLook = (agent: ShownAgent): Look =>
  starts(agent) ? 'begin' : isDrained(agent) ? 'park' : ofAgent[agent.state]

/** The state in a word, and why where there is a reason that says more. */
export function agentWord(agent: ShownAgent): { word: string; why: string } {
  if (isDrained(agent)) return { word: 'drained', why: '' }
  return starts(agent) ? { word: 'starting', why: '' } : { word: agent.state, why: agent.reason }
}

/** Decoration: the state's word must stand beside it or be read out otherwise. */
export function StateDot({ look }: { look: Look }) {
  return <i className={`dot dot-${look}`} aria-hidden="true" />
}

/** The state as a word in its colour. */
export function StateWord({ look, children }: { look: Look; children: string }) {
  return <span className={`state state-${look}`}>{children}</span>
}
