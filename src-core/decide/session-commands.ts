import { InputId, type Instant, type LeaseId } from '../../src-shared/ids.ts'
import type { InputKind } from '../../src-shared/records.ts'
import { accept, assertNever, type Refusal, type Result, refuse } from '../../src-shared/refusal.ts'
import type { AcpAgent, RuntimeCapabilities } from '../../src-shared/runtimes.ts'
import type { Ids } from '../ports.ts'
import type { InputRow, SessionRow } from '../storage/rows.ts'
import type { Decision } from './change.ts'
import { checkNotFinishing } from './finishing.ts'
import { type CheckedImage, checkTakesImages } from './images.ts'
import { checkSteers, steerInput } from './input-commands.ts'
import { parkedReason, STOPPED } from './kept-work.ts'
import { holdForStopped } from './questions.ts'
import { SessionDraft, type SessionFacts } from './session-draft.ts'
import { isOver, MOVED_HINT } from './session-states.ts'
import { bringBack } from './tickets.ts'
import { mayBeFinished, sayStopping, sayStoppingNow } from './under-way.ts'

type Taken = Result<Decision<SessionDraft>>

const unchanged = (draft: SessionDraft): Taken => accept({ answer: draft, change: null })

const changed = (draft: SessionDraft): Taken => accept({ answer: draft, change: draft.change() })

function over(facts: SessionFacts): Result<never> | null {
  const { state } = facts.session
  if (!isOver(state)) return null
  return refuse(
    `session.${state}`,
    `The session of ${facts.ticket.key} ${state === 'moved' ? 'was' : 'is'} ${state}.`,
    state === 'moved' ? MOVED_HINT : 'Start the ticket again for a new session.',
  )
}

function queueText(
  draft: SessionDraft,
  inputKind: InputKind,
  text: string,
  input: InputId | undefined,
  now: Instant,
  ids: Ids,
  images: readonly CheckedImage[] = [],
): InputId {
  const id = input ?? InputId.parse(ids.uuid())
  for (const { blob } of images) draft.blob(blob)
  draft.queue({
    id,
    sessionId: draft.session.id,
    inputKind,
    text,
    author: 'person',
    images: images.map(({ image }) => image),
  })
  const { state } = draft.session
  if (state === 'parked' || state === 'failed') bringBack(draft, now)
  draft.deliver(ids)
  return id
}

/** `existing`: the stored input of the command's own id, which makes it a repetition. */
export type SendState = {
  facts: SessionFacts
  existing: InputRow | undefined
  /** Of the session's runtime; undefined while no agent has told them. */
  capabilities?: RuntimeCapabilities | undefined
  /** Runtimes that the settings add, for their names. */
  agents?: Readonly<Record<string, AcpAgent>>
}

export type Send = {
  text: string
  input?: InputId | undefined
  steer?: boolean | undefined
  images?: readonly CheckedImage[] | undefined
}

export type Sent = { draft: SessionDraft; input: InputId; notSteered?: Refusal }

/** An id stands for one message: said again it is the same one, and anything else under it would be lost. */
function reused(
  existing: InputRow,
  { session }: SessionFacts,
  { text = existing.text, images = [] }: { text?: string | undefined; images?: Send['images'] },
): Result<never> | null {
  const hint = 'Give each message an id of its own.'
  if (existing.sessionId !== session.id) {
    return refuse('input.exists', `The input ${existing.id} belongs to another session.`, hint)
  }
  const isSame =
    text === existing.text &&
    images.length === existing.images.length &&
    images.every(({ image }, index) => image.blob === existing.images[index]?.blob)
  if (isSame) return null
  return refuse(
    'input.id-taken',
    `The id ${existing.id} is that of another message of this session, so this one was not stored.`,
    hint,
  )
}

/**
 * Stores a message; it is delivered when the running turn ends, or at once when none runs. One that is to be steered
 * and cannot be is a message like any other, and the answer says why.
 */
export function send(
  { facts, existing, capabilities, agents = {} }: SendState,
  command: Send,
  now: Instant,
  ids: Ids,
): Result<Decision<Sent>> {
  const draft = new SessionDraft(facts, now)
  if (existing !== undefined) {
    return (
      reused(existing, facts, command) ??
      accept({ answer: { draft, input: existing.id }, change: null })
    )
  }
  const refused = over(facts)
  if (refused !== null) return refused
  const free = checkNotFinishing(
    facts,
    'Send the message when that was not possible, or start the ticket again afterwards.',
  )
  if (!free.ok) return free
  const { images = [] } = command
  const noImages =
    images.length === 0 ? null : checkTakesImages(facts.session, capabilities, agents)
  if (noImages !== null) return noImages
  const steers = command.steer === true ? checkSteers(draft, capabilities) : undefined
  const input = queueText(draft, 'message', command.text, command.input, now, ids, images)
  if (steers?.ok === true) steerInput(draft, input, steers.value, ids)
  const notSteered = steers?.ok === false ? { notSteered: steers.refusal } : {}
  return accept({ answer: { draft, input, ...notSteered }, change: draft.change() })
}

export type Interrupt = { text?: string | undefined; input?: InputId | undefined }

/**
 * Stops the running turn; the text is delivered next, after what was queued before it. Where no turn runs there
 * is nothing to stop, and the text is a message like any other.
 */
export function interrupt(
  { facts, existing }: SendState,
  command: Interrupt,
  now: Instant,
  ids: Ids,
): Taken {
  const draft = new SessionDraft(facts, now)
  if (existing !== undefined) return reused(existing, facts, command) ?? unchanged(draft)
  const refused = over(facts)
  if (refused !== null) return refused
  const { state, pending, leaseId } = facts.session
  if (state === 'working' && leaseId !== null) {
    if (command.text !== undefined) {
      queueText(draft, 'interrupt', command.text, command.input, now, ids)
    }
    if (pending === null) {
      draft.set({ pending: 'interrupt' })
      draft.tell({ type: 'turn.interrupt', lease: leaseId })
    }
    return changed(draft)
  }
  if (command.text === undefined) return unchanged(draft)
  const sent = send({ facts, existing }, { text: command.text, input: command.input }, now, ids)
  if (!sent.ok) return sent
  return accept({ answer: sent.value.answer.draft, change: sent.value.change })
}

/**
 * Interrupts what runs, pushes a snapshot and keeps conversation and workspace; the ticket is Ready again. Said again it
 * waits for no push.
 */
export function stop(facts: SessionFacts, now: Instant): Taken {
  const draft = new SessionDraft(facts, now)
  const { state, pending, leaseId } = facts.session
  if (leaseId === null) {
    const free = checkNotFinishing(facts, 'Stop it when that was not possible.')
    if (!free.ok) return free
  }
  switch (state) {
    case 'queued':
      draft.move('cancelled', STOPPED)
      draft.set({ queuedAt: null })
      for (const input of draft.queued) draft.changeInput(input, { state: 'cancelled' })
      draft.ticketStatus('Ready')
      return changed(draft)
    case 'failed':
      park(draft, STOPPED)
      return changed(draft)
    case 'starting':
    case 'waiting':
    case 'working':
    case 'resuming':
      if (leaseId === null) {
        park(draft, STOPPED)
        return changed(draft)
      }
      if (pending !== 'stop') beginStop(draft, leaseId)
      else if (sayStoppingNow(draft)) draft.tell({ type: 'session.stop', lease: leaseId })
      else return unchanged(draft)
      return changed(draft)
    case 'parking':
      if (leaseId === null) park(draft, STOPPED)
      else if (!stopParking(draft)) return unchanged(draft)
      return changed(draft)
    case 'parked':
      if (!stopParked(draft)) return unchanged(draft)
      return changed(draft)
    case 'cancelled':
      return unchanged(draft)
    case 'moved':
      return refuse('session.moved', `The session of ${facts.ticket.key} was moved.`, MOVED_HINT)
    case 'finished':
      return refuse(
        'session.finished',
        `The session of ${facts.ticket.key} is finished: there is nothing to stop.`,
        'Start the ticket again for a new session.',
      )
    default:
      return assertNever(state)
  }
}

/** Tells the agent that holds the session to stop it. */
export function beginStop(draft: SessionDraft, lease: LeaseId): void {
  const wasFinishing = mayBeFinished(draft.session)
  draft.set({ pending: 'stop' })
  sayStopping(draft, wasFinishing)
  draft.tell({ type: 'session.stop', lease })
}

/** What its agent keeps is kept, and then it is stopped and not only parked. False: that was said already. */
function stopParking(draft: SessionDraft): boolean {
  const { saga } = draft.session
  if (saga === null || saga.why === 'stop') return false
  draft.set({ saga: { ...saga, why: 'stop', seq: draft.nextSeq - 1, resumes: false } })
  draft.move('parking', 'is being parked, and then stopped', STOP_HINT)
  return true
}

/** Nothing brings it back but a person, also where it was to wake by itself. False: so it is. */
function stopParked(draft: SessionDraft): boolean {
  const { parked, wakes } = draft.session
  if (draft.ticket.status !== 'Waiting for answer' && !wakes) return false
  if (parked !== null) draft.set({ parked: { ...parked, why: 'stop' } })
  park(draft, parked === null ? STOPPED : parkedReason(draft.session))
  return true
}

/** Why a session was stopped, for people: a person wanted it, or the agent's work is to be reviewed. */
export function stopReason({ outcome }: Pick<SessionRow, 'outcome'>): string {
  return outcome === 'needs_review' ? 'the agent wants its work reviewed' : STOPPED
}

/** The session lets go of its agent and waits for a person to start it again. */
export function park(draft: SessionDraft, reason: string, hint?: string): void {
  const isReview = draft.session.outcome === 'needs_review'
  draft.move('parked', reason, hint ?? (isReview ? REVIEW_HINT : RESUME_HINT))
  draft.set({ pending: null, queuedAt: null, saga: null, wakes: false, continueWith: null })
  holdForStopped(draft)
  draft.ticketStatus(isReview ? 'Review' : 'Ready')
}

const STOP_HINT = 'It is stopped in any case, also where it cannot be parked.'
const REVIEW_HINT = 'Look at its branch; then finish it, or send a message to go on.'
const RESUME_HINT = 'Send a message or start the ticket to go on.'
