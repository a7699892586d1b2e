import { HELD_BACK } from '../../src-shared/session-reasons.ts'
import type { SessionRow } from '../storage/rows.ts'

/** Why a session stands as it does, and what a person can do. */
export type SaidOfSession = readonly [reason: string, hint: string]

export const UNREACHABLE_TOOLS: SaidOfSession = [
  "the agent does not reach Ballet's tools: it cannot ask questions",
  'Stop the session and start its ticket again.',
]

/** A person interrupted what had been handed over, and its turn had not begun: it waits for a word. */
export const SAID_OF_HELD_BACK: SaidOfSession = [
  HELD_BACK,
  'Send a message, and what is queued goes with it; or cancel it.',
]

/** What stays true of a session from turn to turn, for as long as its runtime runs; nothing of most. */
export function standingReason({ reason }: Pick<SessionRow, 'reason'>): SaidOfSession {
  return reason === UNREACHABLE_TOOLS[0] ? UNREACHABLE_TOOLS : ['', '']
}
