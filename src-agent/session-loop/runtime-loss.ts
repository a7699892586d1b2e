import type { Refusal } from '../../src-shared/refusal.ts'
import type { ResumeFacts } from '../runtimes/driver.ts'

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

export const NOTHING_CUT: CutFacts = { turnCut: false, storedRefs: [], told: [] }
