import type { SessionState } from '../../src-shared/records.ts'

/** Every transition that a session may make. */
const transitions: Readonly<Record<SessionState, readonly SessionState[]>> = {
  queued: ['starting', 'cancelled'],
  starting: ['waiting', 'resuming', 'parked', 'failed'],
  working: ['waiting', 'parking', 'resuming', 'parked', 'failed'],
  waiting: ['working', 'parking', 'resuming', 'parked', 'failed', 'finished'],
  parking: ['parked', 'waiting', 'working', 'resuming', 'failed'],
  parked: ['resuming', 'finished', 'moved'],
  resuming: ['waiting', 'parking', 'parked', 'failed', 'finished'],
  failed: ['resuming', 'parked', 'finished'],
  finished: [],
  cancelled: [],
  // An import of it goes through storage, and not through a decision.
  moved: [],
}

export function canMove(from: SessionState, to: SessionState): boolean {
  return transitions[from].includes(to)
}

/** What a person can do with a session that goes on elsewhere. */
export const MOVED_HINT =
  'It goes on where its file was imported. To bring it back, import that file, or a newer export of it, here.'

/** Nothing happens to it any more. */
export function isOver(state: SessionState): boolean {
  return transitions[state].length === 0
}

/** It holds an agent or waits for one. */
export function isLive(state: SessionState): boolean {
  return !isOver(state) && state !== 'parked' && state !== 'failed'
}
