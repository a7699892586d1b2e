import type { AgentState, SessionState, TicketStatus } from '../../src-shared/records.ts'

/** Colour and shape of a state: never colour alone. */
export type Look = 'on' | 'begin' | 'wait' | 'bad' | 'park' | 'quiet' | 'open' | 'done' | 'gone'

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

export const sessionLook = (state: SessionState): Look => ofSession[state]
export const ticketLook = (status: TicketStatus): Look => ofTicket[status]
export const agentLook = (state: AgentState): Look => ofAgent[state]

/** Decoration: the state's word must stand beside it or be read out otherwise. */
export function StateDot({ look }: { look: Look }) {
  return <i className={`dot dot-${look}`} aria-hidden="true" />
}

/** The state as a word in its colour. */
export function StateWord({ look, children }: { look: Look; children: string }) {
  return <span className={`state state-${look}`}>{children}</span>
}
