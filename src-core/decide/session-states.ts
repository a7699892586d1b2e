import type { SessionState } from '../../src-shared/records.ts'

/** Every transition that a session may make. */
const transitions: Readonly<Record<SessionState, readonly SessionState[]>> = {
  queued: ['starting', 'cancelled'],
  starting: ['waiting', 'resuming', 'parked', 'failed'],
  working: ['waiting', 'parking', 'resuming', 'parked', 'failed'],
  waiting: ['working', 'parking', 'resuming', 'parked', 'failed', 'finished'],
  parking: ['parked', 'waiting', 'working', 'resuming', 'failed'],
  parked: ['resuming', 'finished'],
  resuming: ['waiting', 'parking', 'parked', 'failed', 'finished'],
  failed: ['resuming', 'parked', 'finished'],
  finished: [],
  cancelled: [],
}

export function canMove(from: SessionState, to: SessionState): boolean {
  return transitions[from].includes(to)
}

/** Nothing happens to it any more. */
export function isOver(state: SessionState): boolean {
  return transitions[state].length === 0
}

/** It holds an agent or waits for one. */
export function isLive(state: SessionState): boolean {
  return !isOver(state) && state !== 'parked' && state !== 'failed'
}
