import type { Session, SessionState } from '../../../src-shared/records.ts'
import { isLive } from './actions.ts'

/** The two ways in which a person ends a session's work. */
export type Confirm = 'stop' | 'finish'

type Ending = Pick<Session, 'ticket' | 'branch' | 'state' | 'queuedInputs'>

const stopText = ({ ticket, branch, state }: Ending): string =>
  state === 'queued'
    ? `Stop ${ticket}? It has not begun: it leaves the queue, and the ticket is Ready again.`
    : `Stop ${ticket}? ${state === 'working' ? 'Its turn ends, a' : 'A'} snapshot of its work is pushed to ${branch}, and its agent is free. Conversation and workspace are kept; the ticket is Ready, and a message or a start goes on.`

const finishText = ({ ticket, branch, queuedInputs }: Ending): string =>
  `Finish ${ticket}? What is uncommitted is committed, ${branch} is pushed, the workspace is removed, and the ticket is Done.${undelivered(queuedInputs)}`

function undelivered(count: number): string {
  if (count === 0) return ''
  return count === 1
    ? ' 1 queued message is not delivered.'
    : ` ${count} queued messages are not delivered.`
}

/** What is asked before, and what the button says that does it. */
export function confirmText(what: Confirm, session: Ending): { ask: string; act: string } {
  return what === 'stop'
    ? { ask: stopText(session), act: 'Stop session' }
    : { ask: finishText(session), act: 'Finish session' }
}

const notYet: Partial<Record<SessionState, string>> = {
  queued: 'It has not begun; stop it instead',
  starting: 'It can be finished when it waits for you',
  resuming: 'It can be finished when it waits for you',
  parking: 'It can be finished when it is parked',
  working: 'Its turn runs; interrupt it, or wait for its end',
}

/** Why a session cannot be ended that way now; null when it can. */
export function whyNot(what: Confirm, state: SessionState): string | null {
  if (state === 'finished' || state === 'cancelled' || state === 'moved') return `It is ${state}`
  if (what === 'finish') return notYet[state] ?? null
  return isLive(state) ? null : `It is ${state}: no agent holds it`
}

/** Why a session cannot be exported now; null when it can. */
export function whyNotExport(state: SessionState): string | null {
  if (state === 'finished' || state === 'cancelled' || state === 'moved') return `It is ${state}`
  if (state === 'queued') return 'It has not begun: start its ticket where it is to be done'
  return state === 'starting' ? 'It can be exported when it waits or works' : null
}

/** Why a session cannot go on with another runtime now; null when it can. */
export function whyNotContinue(state: SessionState): string | null {
  if (state === 'finished' || state === 'cancelled' || state === 'moved') return `It is ${state}`
  return state === 'parking' ? 'It parks; continue when it is parked' : null
}
