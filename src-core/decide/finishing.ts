import type { Instant, LeaseId } from '../../src-shared/ids.ts'
import { accept, assertNever, type Refusal, type Result, refuse } from '../../src-shared/refusal.ts'
import type { SessionRow } from '../storage/rows.ts'
import type { Decision } from './change.ts'
import { isKeptOnly, removeKept } from './kept-work.ts'
import { withdrawQuestions } from './questions.ts'
import { withdrawRequests } from './requests.ts'
import { SessionDraft, type SessionFacts } from './session-draft.ts'
import { isOver, MOVED_HINT } from './session-states.ts'
import { mayBeFinished, sayUnderWay } from './under-way.ts'

type Taken = Result<Decision<SessionDraft>>

const FINISHING = 'is being finished: its work is committed and pushed from its workspace'

const NOTHING_PUSHED = 'there was nothing to push, so there is no branch'

/**
 * Commits what is uncommitted, pushes, and only then removes the workspace. The agent that holds the session does it;
 * where none does, no runtime is started for it: see `isFinishedUnheld`.
 */
export function finish(facts: SessionFacts, now: Instant): Taken {
  const draft = new SessionDraft(facts, now)
  const { session, ticket } = facts
  const { state, leaseId, pending } = session
  if (pending === 'finish' || state === 'finished') return accept({ answer: draft, change: null })
  const refused = (why: string, hint: string) =>
    refuse(`session.${state}`, `The session of ${ticket.key} ${why}.`, hint)
  const notNow = () => refused(`is ${state}`, 'Finish it when it waits for input, or stop it.')
  switch (state) {
    case 'waiting':
      if (leaseId === null) return notNow()
      if (pending === 'stop') {
        return refuse(
          'session.stopping',
          `The session of ${ticket.key} is being stopped.`,
          'Finish it when it is stopped. Where its push takes too long: stop it again.',
        )
      }
      if (pending === 'continue') {
        return refused(
          'goes on with another runtime',
          'Finish it when that one has it, or stop it.',
        )
      }
      break
    case 'parked':
    case 'failed':
      break
    case 'resuming':
      if (leaseId !== null) return notNow()
      break
    case 'working':
      return refused('is working', 'Wait for the end of its turn, or interrupt it first.')
    case 'moved':
      return refused('was moved', MOVED_HINT)
    case 'cancelled':
      return refused('is cancelled', 'Start the ticket again for a new session.')
    case 'queued':
      return refused('waits for an agent and has done nothing yet', 'Stop it instead.')
    case 'parking':
      return refused('is being parked', 'Finish it when it is parked.')
    case 'starting':
      return notNow()
    default:
      return assertNever(state)
  }
  if (session.turn === 0) {
    return refuse(
      'session.nothing-delivered',
      `Nothing of ${ticket.key} ever reached its runtime, so there is nothing to finish.`,
      'Start the ticket to try again. To give it up, stop the session and set the ticket to Cancelled, or delete it.',
    )
  }
  if (leaseId !== null) {
    beginFinish(draft, leaseId)
  } else if (hasNoWork(session)) {
    close(draft)
  } else {
    draft.move(state, FINISHING)
    draft.set({ pending: 'finish' })
  }
  return accept({ answer: draft, change: draft.change() })
}

/** There is no workspace of it, and none is kept. */
function hasNoWork({ parked, workspace }: SessionRow): boolean {
  return isKeptOnly({ parked }) ? parked?.work.snapshot === null : workspace === null
}

/** Tells the agent that holds the session to finish it. */
export function beginFinish(draft: SessionDraft, lease: LeaseId): void {
  draft.set({ pending: 'finish' })
  sayUnderWay(draft)
  draft.tell({ type: 'session.finish', lease, message: commitMessage(draft) })
}

/** Whether the session is to be finished from its workspace, or from what is kept of it, by no agent that holds it. */
export function isFinishedUnheld({
  state,
  pending,
  leaseId,
}: Pick<SessionRow, 'state' | 'pending' | 'leaseId'>): boolean {
  return pending === 'finish' && leaseId === null && !isOver(state)
}

/** A finish that could not be done leaves the session as it was, and says why. */
export function refuseFinish(draft: SessionDraft, refusal: Refusal, at: Instant = draft.now): void {
  tellRefused(draft, refusal, at)
  draft.set({ pending: null })
  draft.move(draft.session.state, refusal.message, refusal.hint)
}

/** Tells in the timeline why something that was asked for could not be done. */
export function tellRefused(draft: SessionDraft, refusal: Refusal, at: Instant): void {
  const { code, message, hint = '' } = refusal
  const text = hint === '' ? message : `${message} ${hint}`
  draft.event({ kind: 'notice', level: 'error', code, text }, at)
}

/** Refused while a session is being finished: what came now would be lost with it. */
export function checkNotFinishing(facts: SessionFacts, next: string): Result<undefined> {
  if (!mayBeFinished(facts.session) || isOver(facts.session.state)) return accept(undefined)
  return refuse('session.finishing', `The session of ${facts.ticket.key} is being finished.`, next)
}

/** Of the commit that holds what was uncommitted at a finish. */
export function commitMessage({ ticket }: Pick<SessionFacts, 'ticket'>): string {
  return `${ticket.title}\n\nTicket: ${ticket.key}\n`
}

/** The session is finished by a person, and with it the ticket is done. */
export function close(draft: SessionDraft): void {
  for (const input of draft.inputs) {
    draft.changeInput(input, { state: input.state === 'queued' ? 'cancelled' : 'unknown' })
  }
  withdrawRequests(draft, draft.openRequests, 'the session is finished')
  withdrawQuestions(draft, draft.questions, 'the session is finished')
  draft.move('finished', draft.session.pushedCommit === null ? NOTHING_PUSHED : '')
  // Also what a parking that was cut may have left.
  removeKept(draft, null)
  draft.set({ pending: null, queuedAt: null, workspace: null, turnStartedAt: null })
  draft.set({ parked: null, wakes: false })
  draft.ticketStatus('Done')
}
