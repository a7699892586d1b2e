import type { Instant } from '../../src-shared/ids.ts'
import type { CompleteStage } from '../../src-shared/mcp-tools.ts'
import { assertNever } from '../../src-shared/refusal.ts'
import { shortened } from '../../src-shared/shortened.ts'
import type { SessionRow } from '../storage/rows.ts'
import { beginFinish } from './finishing.ts'
import { inlineText } from './large-text.ts'
import { beginStop } from './session-commands.ts'
import type { SessionDraft } from './session-draft.ts'
import type { SaidOfSession } from './standing-reason.ts'

/** The agent says how its stage ended; it counts when the turn ends in order. Answers what the tool says. */
export function completeStage(
  draft: SessionDraft,
  { summary, outcome }: CompleteStage,
  { at, turn, isCurrent }: { at: Instant; turn: number | null; isCurrent: boolean },
): string {
  const cut = inlineText(summary)
  draft.blob(cut.blob)
  draft.event(
    {
      kind: 'stage.completed',
      summary: cut.text,
      ...(cut.id === null ? {} : { textBlob: cut.id }),
      outcome,
      ...(turn === null ? {} : { turn }),
    },
    at,
  )
  draft.domain({ kind: 'stage.completed', subject: draft.session.id, data: { outcome } })
  if (isCurrent) draft.set({ outcome, outcomeText: shortened(summary, REASON) })
  const [question] = draft.openQuestions
  return question === undefined
    ? 'Noted. End your turn now.'
    : `Noted, but ${question.key} is open: its answer comes first, as the next message. Complete the stage again after it. End your turn now.`
}

/** In UTF-16 code units; the timeline has the whole. */
const REASON = 1_000

/** Why a session waits whose stage failed, until it is given something else; null for every other one. */
export function failedStage({
  outcome,
  outcomeText,
}: Pick<SessionRow, 'outcome' | 'outcomeText'>): SaidOfSession | null {
  if (outcome !== 'failed') return null
  return [outcomeText, 'Send a message to try again, or stop the session.']
}

/**
 * The turn in which the agent completed its stage ended in order, and nothing is left to be given to it: the ticket
 * moves on.
 */
export function moveOn(draft: SessionDraft): void {
  const { outcome, pending, state, leaseId } = draft.session
  if (outcome === null || pending !== null || state !== 'waiting' || leaseId === null) return
  if (draft.queued.length > 0 || draft.sent.length > 0 || draft.questions.length > 0) return
  switch (outcome) {
    case 'done':
      beginFinish(draft, leaseId)
      break
    case 'needs_review':
      beginStop(draft, leaseId)
      break
    case 'failed':
      draft.move('waiting', ...(failedStage(draft.session) ?? []))
      break
    default:
      assertNever(outcome)
  }
}
