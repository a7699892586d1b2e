import type { ParkReason } from '../../../src-shared/parking.ts'
import type { Session, SessionState } from '../../../src-shared/records.ts'
import { runtimeTitle } from '../../stores/runtime-reports.ts'
import { bytes, tokens } from '../../ui/words.ts'

const whyWord: Record<ParkReason, string> = {
  window: 'Nobody answered within its online window',
  person: 'Parked by you',
  drain: 'Its agent was drained',
  quit: 'Ballet was quit',
  stop: 'Stopped by you',
}

/** Why a session holds no agent; one that is only stopped keeps its workspace. */
export function parkedWhy({ parked, reason }: Pick<Session, 'parked' | 'reason'>): string {
  if (parked !== null) return whyWord[parked.why]
  return reason === '' ? 'Stopped' : `${reason.slice(0, 1).toUpperCase()}${reason.slice(1)}`
}

/** How a session that holds no agent goes on. */
export function goesOn({
  parked,
  openQuestions,
  openRequests,
}: Pick<Session, 'parked' | 'openQuestions' | 'openRequests'>): string {
  if (parked?.wakes === true) return 'it was working, and goes on by itself'
  return openQuestions + openRequests > 0
    ? 'it goes on with your answer or a message'
    : 'it goes on with a message'
}

/** What is kept of its conversation; null where nothing is. */
export function stateText({ parked, runtime }: Pick<Session, 'parked' | 'runtime'>): string | null {
  if (parked === null || parked.stateBytes === null) return null
  const version = parked.runtimeVersion === null ? '' : ` ${parked.runtimeVersion}`
  return `${bytes(parked.stateBytes)}, ${runtimeTitle(runtime)}${version}`
}

/** What the model reads again when the session is brought back; null where that is not known. */
export const reloadText = ({ contextTokens }: Pick<Session, 'contextTokens'>): string | null =>
  contextTokens === null || contextTokens === 0 ? null : `${tokens(contextTokens)} tokens`

const cannotPark: Partial<Record<SessionState, string>> = {
  queued: 'It has not begun; stop it instead',
  starting: 'It can be parked when it waits or works',
  parking: 'It is being parked',
  parked: 'It is parked',
  failed: 'It failed: no agent holds it',
  finished: 'It is finished',
  cancelled: 'It is cancelled',
  moved: 'It was moved',
}

/** Why a session cannot be parked now; null when it can. */
export function whyNotPark({ state, agent }: Pick<Session, 'state' | 'agent'>): string | null {
  if (state === 'resuming') return agent === null ? null : (cannotPark.starting ?? null)
  return cannotPark[state] ?? null
}

/** It holds no agent, and is brought back without a word to it. */
export const canResume = (state: SessionState): boolean => state === 'parked' || state === 'failed'
