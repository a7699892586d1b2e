import { parseDuration } from '../../src-shared/duration.ts'
import type { Instant } from '../../src-shared/ids.ts'
import { accept, assertNever, type Result, refuse } from '../../src-shared/refusal.ts'
import type { Ids } from '../ports.ts'
import type { Decision } from './change.ts'
import { allowDamaged } from './damaged-files.ts'
import { checkNotFinishing } from './finishing.ts'
import { isKeptOnly, parkedThen, parkReasons } from './kept-work.ts'
import { attended, kept, NO_DEADLINE, waitsForPerson } from './online-window.ts'
import { beginPark, parkUnheld } from './parking.ts'
import { SessionDraft, type SessionFacts } from './session-draft.ts'
import { isOver, MOVED_HINT } from './session-states.ts'
import { bringBack } from './tickets.ts'

type Taken = Result<Decision<SessionDraft>>

const unchanged = (draft: SessionDraft): Taken => accept({ answer: draft, change: null })

const changed = (draft: SessionDraft): Taken => {
  const change = draft.change()
  return accept({ answer: draft, change })
}

function refused({ session, ticket }: SessionFacts, why: string, hint: string): Result<never> {
  return refuse(`session.${session.state}`, `The session of ${ticket.key} ${why}.`, hint)
}

const over = (facts: SessionFacts): Result<never> =>
  facts.session.state === 'moved'
    ? refused(facts, 'was moved', MOVED_HINT)
    : refused(facts, `is ${facts.session.state}`, 'Start the ticket again for a new session.')

/** Keeps work and state and frees the agent; a running turn is interrupted first. */
export function parkSession(facts: SessionFacts, now: Instant, ids: Ids): Taken {
  const draft = new SessionDraft(facts, now)
  const { state, leaseId, pending, workspace } = facts.session
  const free = checkNotFinishing(facts, 'Park it when that was not possible.')
  if (!free.ok) return free
  switch (state) {
    case 'waiting':
    case 'working':
      if (leaseId === null) return refused(facts, `is ${state}`, 'Park it in a moment.')
      if (pending === 'stop') {
        return refuse(
          'session.stopping',
          `The session of ${facts.ticket.key} is being stopped.`,
          'It holds no agent when it is stopped: there is nothing to park then.',
        )
      }
      if (pending === 'continue') {
        return refuse(
          'session.continuing',
          `Another runtime is about to go on with the session of ${facts.ticket.key}.`,
          'Park it when that one has it.',
        )
      }
      beginPark(draft, leaseId, { why: 'person' }, ids)
      return changed(draft)
    case 'resuming':
      if (leaseId !== null) return refused(facts, 'is brought back', 'Park it when it waits.')
      if (isKeptOnly(facts.session)) {
        draft.move('parked', 'parked by a person', 'Resume it, or send a message, to go on.')
        draft.set({ queuedAt: null, wakes: false })
        draft.ticketStatus('Waiting for answer')
        return changed(draft)
      }
      if (workspace === null) return refused(facts, 'has nothing to park', 'Stop it instead.')
      parkUnheld(draft, { why: 'person' }, ids)
      return changed(draft)
    case 'parking': {
      const { saga } = facts.session
      if (saga === null || (!saga.resumes && saga.why !== 'stop')) return unchanged(draft)
      draft.set({ saga: parkedThen(saga, { resumes: false }) })
      draft.move('parking', parkReasons.person)
      return changed(draft)
    }
    case 'parked':
      return unchanged(draft)
    case 'starting':
      return refused(facts, 'is starting', 'Park it when it waits or works, or stop it.')
    case 'queued':
      return refused(facts, 'waits for an agent and holds none', 'Stop it instead.')
    case 'failed':
      return refused(facts, 'has failed and holds no agent', 'Resume it, or stop it.')
    case 'finished':
    case 'cancelled':
    case 'moved':
      return over(facts)
    default:
      return assertNever(state)
  }
}

/** Brings a session back that holds no agent, without a word to it; `withoutDamaged`: and without damaged kept files. */
export function resumeSession(facts: SessionFacts, now: Instant, withoutDamaged = false): Taken {
  const draft = new SessionDraft(facts, now)
  const { state, saga } = facts.session
  if (isOver(state)) return over(facts)
  const free = checkNotFinishing(facts, 'Resume it when that was not possible.')
  if (!free.ok) return free
  if (state === 'parked' || state === 'failed') {
    if (withoutDamaged) allowDamaged(draft)
    bringBack(draft, now)
    return changed(draft)
  }
  // One that is being parked has to be parked before it can be brought back.
  if (state !== 'parking' || saga === null || saga.resumes) return unchanged(draft)
  draft.set({ saga: parkedThen(saga, { resumes: true }) })
  draft.move('parking', parkReasons[saga.why === 'stop' ? 'person' : saga.why])
  return changed(draft)
}

/** While it waits: it does not park before `duration` from now. */
export function keepSession(facts: SessionFacts, duration: string, now: Instant): Taken {
  const draft = new SessionDraft(facts, now)
  const { state, parkAt, parkFrom } = facts.session
  if (isOver(state)) return over(facts)
  if (state === 'parked' || state === 'parking') {
    return refused(facts, `is ${state}`, 'Resume it, and give it a longer online window.')
  }
  if (parkAt === null && !waitsForPerson(draft)) {
    const hint = `Its online window begins when it waits for a person. Keep it online then, or give it a longer window: ballet session edit ${facts.ticket.key} --window 2h`
    return refused(facts, 'does not wait for a person now', hint)
  }
  const next = kept({ parkAt, parkFrom }, parseDuration(duration) ?? null, now)
  if (next.parkAt === parkAt) return unchanged(draft)
  draft.set(next)
  return changed(draft)
}

/** A person writes an answer or looks at the place for it. Nothing happens to a session that does not wait. */
export function attendSession(facts: SessionFacts, now: Instant): Taken {
  const draft = new SessionDraft(facts, now)
  const { parkAt, parkFrom } = facts.session
  const next = attended({ parkAt, parkFrom }, now)
  if (next.parkAt === parkAt) return unchanged(draft)
  draft.set(next)
  return changed(draft)
}

/** Another online window of its own, from now on; null: the project's. */
export function editSession(facts: SessionFacts, window: string | null, now: Instant): Taken {
  const draft = new SessionDraft(facts, now)
  if (isOver(facts.session.state)) return over(facts)
  if (facts.session.window === window) return unchanged(draft)
  draft.set({ window, ...NO_DEADLINE })
  return changed(draft)
}
