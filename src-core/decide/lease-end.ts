import type { Instant } from '../../src-shared/ids.ts'
import type { SessionState } from '../../src-shared/records.ts'
import type { Ids } from '../ports.ts'
import type { LeaseRow } from '../storage/rows.ts'
import type { Decision } from './change.ts'
import { changeRuntime, titleOfNext } from './continue-with.ts'
import { wakesUp } from './parking.ts'
import { sendAnswers } from './questions.ts'
import { loseRuntime } from './requests.ts'
import { park, stopReason } from './session-commands.ts'
import { SessionDraft, type SessionFacts } from './session-draft.ts'
import { isLive } from './session-states.ts'
import { type CutFacts, cutTurn } from './turn-cut.ts'

/** How a lease ended: `LeaseRow.endReason`. */
export type LeaseEndReason =
  | 'finished'
  | 'stopped'
  | 'parked'
  | 'failed'
  | 'released'
  | 'agent died'
  | 'agent died before it was ready'
  | 'host restarted'

/** After so many agents in a row died before the session was ready, it is not tried again by itself. */
export const UNREADY_LIMIT = 3

export type LeaseEndState = CutFacts & {
  facts: SessionFacts
  lease: LeaseRow
  /** Earlier leases of the session, the latest first. */
  earlier: readonly LeaseRow[]
  /** What a new conversation is told where another runtime is to go on. */
  anew: string
}

export type LeaseLoss = {
  reason: Extract<LeaseEndReason, 'agent died' | 'host restarted'>
  /** What happened, for people: `agent-2 died (SIGKILL)`. */
  detail: string
}

/** In these an agent has not yet come to where it is wanted. */
const unreadyStates: ReadonlySet<SessionState> = new Set(['starting', 'resuming', 'parking'])

const neverReady: LeaseEndReason = 'agent died before it was ready'

/** An agent or the host is gone: the session waits for another agent, ahead of new work. */
export function loseLease(
  state: LeaseEndState,
  loss: LeaseLoss,
  now: Instant,
  ids: Ids,
): Decision<SessionDraft> {
  const { facts, lease } = state
  const draft = new SessionDraft(facts, now)
  const before = facts.session
  const unready = unreadyStates.has(before.state)
  const reason: LeaseEndReason = loss.reason === 'agent died' && unready ? neverReady : loss.reason
  draft.lease({ ...lease, endedAt: now, endReason: reason, reaped: false })
  if (before.leaseId !== lease.id) return { answer: draft, change: draft.change() }

  const running = before.turnStartedAt !== null
  cutTurn(draft, state, now, {
    detail: loss.detail,
    hint: 'The session is brought back; what was lost is told to the runtime with your next message.',
  })
  draft.set({ leaseId: null, agent: null })
  const isStopped = before.pending === 'stop' || before.saga?.why === 'stop'
  const next = isStopped ? null : before.continueWith
  if (next === null) loseRuntime(draft, ids)
  else changeRuntime(draft, state.anew, ids)
  if (!isLive(before.state)) return { answer: draft, change: draft.change() }
  sendAnswers(draft, ids)

  if (isStopped) {
    park(draft, `${stopReason(before)}; ${loss.detail} before its last work was pushed`)
  } else if (next !== null) {
    draft.move('resuming', `${loss.detail}; ${titleOfNext(next)} goes on with it`)
    draft.set({ queuedAt: now, saga: null })
  } else if (reason === neverReady && failures(state) >= UNREADY_LIMIT) {
    draft.move(
      'failed',
      `${loss.detail}, time number ${UNREADY_LIMIT} in a row before the session was ready`,
      'Look into the log of the host, then send a message or start the ticket to try again.',
    )
    draft.set({ pending: null, queuedAt: null, saga: null })
  } else if (before.state === 'parking' && goesOnParking(draft, loss, running)) {
    // The next agent goes on with it, from what is on disk.
    draft.move('parking', `${loss.detail} while the session was parked`)
    draft.set({ queuedAt: now, wakes: before.wakes || (running && wakesUp(before.saga)) })
  } else {
    const what = running ? `${loss.detail} in the middle of a turn` : loss.detail
    // A session that was cut before and not told of it yet still has that to say.
    draft.move(
      'resuming',
      before.turnCut && !running && before.reason !== '' ? before.reason : what,
    )
    // What was to be interrupted has not begun, or nobody knows yet whether the runtime has it.
    const isOpen = before.pending === 'interrupt' && (!running || draft.sent.length > 0)
    draft.set({
      queuedAt: now,
      saga: null,
      wakes: before.wakes || (running && wakesUp(before.saga)),
      pending: before.pending === 'finish' || isOpen ? before.pending : null,
    })
  }
  return { answer: draft, change: draft.change() }
}

/** A session that would be brought back at the start anyway needs no parking before. */
function goesOnParking({ queued, session }: SessionDraft, loss: LeaseLoss, running: boolean) {
  const { saga, wakes } = session
  const isBack = wakes || running || queued.length > 0
  return !(loss.reason === 'host restarted' && wakesUp(saga) && isBack)
}

/** How many leases in a row, with this one, ended before the session was ready. */
function failures(state: LeaseEndState): number {
  const others = state.earlier.findIndex((lease) => lease.endReason !== neverReady)
  return 1 + (others < 0 ? state.earlier.length : others)
}
