import { RECORD_BEHIND } from '../../src-shared/agent-wire.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import type { Recovery, ResumeFacts } from '../runtimes/driver.ts'

/** How a runtime ended that nobody told to. */
export type RuntimeLoss = {
  detail: string
  hint?: string
  /** Something was under way: a turn, or a message whose fate is open. */
  wasBusy: boolean
  /** It could not be ended, so no other may be started. */
  survived?: Refusal
}

/** What a resume must know of the turn that was cut. */
export type CutFacts = Pick<ResumeFacts, 'turnCut' | 'storedRefs' | 'told'>

const NOTHING_CUT: CutFacts = { turnCut: false, storedRefs: [], told: [] }

/** What the lease before this one cut; nothing when it cut none, or there was none. */
export function cutOf(resume: CutFacts | null): CutFacts {
  const { turnCut, storedRefs, told } = resume ?? NOTHING_CUT
  return { turnCut, storedRefs, told }
}

/** What is said of a message that the runtime that ended was given, and that its record does not hold. */
export const fateOf = (isNever: boolean): ['never' | 'unknown', string] =>
  isNever
    ? ['never', 'The runtime ended before it had the message.']
    : ['unknown', 'The runtime ended before it said whether it had the message.']

/** The next message tells the runtime what its record lacks; one that waits was given before that was known. */
export const tellsFirst = ({ signals }: Pick<Recovery, 'signals'>): boolean =>
  signals.some(
    (signal) =>
      signal.type === 'event' &&
      signal.event.kind === 'notice' &&
      signal.event.code === RECORD_BEHIND,
  )
