import type { BlobText } from '../../src-shared/agent-wire.ts'
import type { Instant } from '../../src-shared/ids.ts'
import type { Citation } from '../../src-shared/questions.ts'
import type { Ids } from '../ports.ts'
import type { QuestionRow } from '../storage/rows.ts'
import { changeOf } from './change.ts'
import { isDrained, isKeptOnly } from './kept-work.ts'
import type { QuestionDecision, QuestionState } from './question-answers.ts'
import {
  type NoAnswer,
  placeOfEvent,
  type RunFigures,
  reachPerson,
  sayWhatIsAsked,
  sendAnswers,
  settleAnswer,
} from './questions.ts'
import { SessionDraft } from './session-draft.ts'
import { bringBack } from './tickets.ts'

/** What Core made of what the planner gave back; `blobs` are the sources that its citations name. */
export type Plan = { blobs?: readonly BlobText[] } & (
  | ({ outcome: 'answered'; text: string; options: number[]; citations: Citation[] } & RunFigures)
  | NoAnswer
)

/**
 * The planner is done with a question: its answer goes the way of every answer, and with anything less the question
 * goes to the person. Where somebody answered or nobody needs it any more, only its run is over.
 */
export function planQuestion(
  { facts, question }: QuestionState,
  plan: Plan,
  now: Instant,
  ids: Ids,
): QuestionDecision {
  const draft = new SessionDraft(facts, now)
  const isLeft = plan.outcome !== 'answered' && plan.isLeft === true
  if (question.state !== 'open' || question.heldBy !== 'planner') {
    const row: QuestionRow = { ...question, planner: isLeft ? 'left' : 'over' }
    return {
      answer: { draft, question: row },
      change: changeOf({ puts: [{ table: 'question', row }] }),
    }
  }
  for (const blob of plan.blobs ?? []) draft.blob(blob)
  if (plan.outcome !== 'answered') {
    const { blobs: _, ...nothing } = plan
    const row = reachPerson(draft, question, nothing)
    sayWhatIsAsked(draft)
    return { answer: { draft, question: row }, change: draft.change() }
  }
  const { text, options, citations, durationMs, costUsd } = plan
  draft.event({
    kind: 'question.planned',
    question: question.id,
    key: question.key,
    outcome: 'answered',
    draft: text,
    citations,
    verified: true,
    reason: '',
    ...(durationMs === undefined ? {} : { durationMs }),
    ...(costUsd === undefined ? {} : { costUsd }),
    ...placeOfEvent(draft, question),
  })
  const row = settleAnswer(draft, {
    ...question,
    planner: 'over',
    state: 'answered',
    answer: { text, options, author: 'planner', citations, declined: false },
    answeredAt: now,
  })
  sendAnswers(draft, ids)
  // A person who stopped or parked the session did not ask for it to go on; it has the answer when somebody brings it
  // back. One that was parked by itself meanwhile waits for nothing else.
  const { state, parked, pending } = draft.session
  const isParkedByItself =
    state === 'parked' &&
    isKeptOnly({ parked }) &&
    parked !== null &&
    (parked.why === 'window' || isDrained(parked.why))
  if (isParkedByItself && pending === null && draft.queued.length > 0) bringBack(draft, now)
  draft.deliver(ids)
  sayWhatIsAsked(draft)
  return {
    answer: { draft, question: draft.changedQuestion(row.id) ?? row },
    change: draft.change(),
  }
}
