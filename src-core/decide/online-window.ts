import { parseDuration } from '../../src-shared/duration.ts'
import type { Instant } from '../../src-shared/ids.ts'
import type { InputRow, QuestionRow, RequestRow, SessionRow } from '../storage/rows.ts'

/** While a person writes, the deadline is at least so far away, in milliseconds. */
export const ATTEND_MS = 2 * 60_000
/** So far it is moved by that at most, from where it was first. */
export const ATTEND_MAX_MS = 30 * 60_000

export type WindowFacts = {
  session: SessionRow
  /** Queued and sent ones. */
  inputs: readonly InputRow[]
  requests: readonly RequestRow[]
  questions: readonly QuestionRow[]
}

/** `parkFrom` without `parkAt`: this wait has no deadline any more. */
export type Deadline = Pick<SessionRow, 'parkAt' | 'parkFrom'>

export const NO_DEADLINE: Deadline = { parkAt: null, parkFrom: null }

/** Whether an agent is held for nothing but a word of a person. */
export function waitsForPerson({ session, inputs, requests, questions }: WindowFacts): boolean {
  const { state, leaseId, pending } = session
  if (leaseId === null || pending !== null) return false
  if (state === 'working') {
    return requests.some((request) => request.state === 'open' && request.phase === 'waits')
  }
  if (state !== 'waiting' || inputs.length > 0) return false
  return questions.every((question) =>
    // The planner may answer in a moment; so may the time in which an answer can be taken back pass.
    question.state === 'open' ? question.heldBy === 'person' : question.undoUntil === null,
  )
}

/**
 * When the session parks from now on. A wait keeps the deadline that it began with, also over the death of an agent;
 * `window` is the project's.
 */
export function deadlineOf(
  before: Deadline,
  facts: WindowFacts,
  window: string,
  now: Instant,
): Deadline {
  const { session, inputs } = facts
  const isBroughtBack =
    session.state === 'resuming' && session.pending === null && inputs.length === 0
  if (isBroughtBack) return before
  if (!waitsForPerson(facts)) return NO_DEADLINE
  if (before.parkFrom !== null) return before
  const ms = parseDuration(session.window ?? window)
  if (ms === null || ms === undefined) return NO_DEADLINE
  const at = instantOf(after(now, ms))
  return { parkAt: at, parkFrom: at }
}

/** Somebody is at it: the deadline stays away for a while. */
export function attended({ parkAt, parkFrom }: Deadline, now: Instant): Deadline {
  if (parkAt === null || parkFrom === null) return { parkAt, parkFrom }
  const wanted = Math.min(after(now, ATTEND_MS), after(parkFrom, ATTEND_MAX_MS))
  return { parkAt: instantOf(Math.max(Date.parse(parkAt), wanted)), parkFrom }
}

/** Not before so many milliseconds from now; null: not at all in this wait. */
export function kept({ parkAt, parkFrom }: Deadline, ms: number | null, now: Instant): Deadline {
  if (parkAt === null) return { parkAt, parkFrom }
  if (ms === null) return { parkAt: null, parkFrom: parkFrom ?? now }
  if (after(now, ms) <= Date.parse(parkAt)) return { parkAt, parkFrom }
  const at = instantOf(after(now, ms))
  return { parkAt: at, parkFrom: at }
}

const after = (at: Instant, ms: number): number => Date.parse(at) + ms

const instantOf = (ms: number): Instant => new Date(ms).toISOString()
