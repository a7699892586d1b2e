import { useMemo, useState } from 'react'
import type { Question } from '../../../src-shared/questions.ts'
import { useSeconds } from '../../stores/clock.ts'
import { inboxView } from '../../stores/inbox-view.ts'
import { tell } from '../../stores/told.ts'
import { type Client, useClient } from '../../sync/client.ts'
import { type Records, recordsStore, useRecords } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { Key } from '../../ui/key.tsx'
import { UNDO_MS, undoAnswer } from './answering.ts'

export type Held = Question & { undoUntil: string }

const isHeld = (question: Question): question is Held => question.undoUntil !== null

/** Answers that can still be taken back, the last one given first. */
function heldOf(questions: Records['questions']): Held[] {
  return [...questions.values()].filter(isHeld).sort((a, b) => (a.undoUntil < b.undoUntil ? 1 : -1))
}

/** Takes an answer back, and shows its question again where the inbox is open. */
export async function takeBack(client: Client, question: string): Promise<void> {
  const refusal = await undoAnswer(client, question)
  if (refusal === null) inboxView.setState({ comesBack: question })
  else tell(refusal)
}

/** Takes the last answer back; nothing where none is held. */
export function undoLast(client: Client): void {
  const [last] = heldOf(recordsStore().getState().questions)
  if (last !== undefined) void takeBack(client, last.id)
}

export const holdsAnAnswer = (): boolean => heldOf(recordsStore().getState().questions).length > 0

export function useHeld(): Held[] {
  const questions = useRecords((records) => records.questions)
  return useMemo(() => heldOf(questions), [questions])
}

/** What is left of the time, in words and as a bar that runs by itself. */
function Countdown({ until }: { until: string }) {
  const end = Date.parse(until)
  const [begun] = useState(() => Math.min(UNDO_MS, Math.max(0, end - Date.now())))
  const left = Math.max(0, end - useSeconds())
  return (
    <span className="held-left" aria-hidden="true">
      <span className="held-bar">
        <i
          style={{
            animationDuration: `${UNDO_MS}ms`,
            animationDelay: `${begun - UNDO_MS}ms`,
          }}
        />
      </span>
      {Math.ceil(left / 1_000)} s
    </span>
  )
}

/** An answer on its way, and how long it can be taken back. */
export function HeldAnswer({ question, more = 0 }: { question: Held; more?: number }) {
  const client = useClient()
  const text = question.answer?.declined === true ? 'Decide yourself' : question.answer?.text
  return (
    <div className="held" data-held={question.id}>
      <Countdown key={question.undoUntil} until={question.undoUntil} />
      <span className="clip grow" role="status">
        <b>{question.key}</b> answered: {showControls((text ?? '').slice(0, 300))}
        {more > 0 ? ` and ${more} more` : ''}
      </span>
      <button type="button" className="btn" onClick={() => void takeBack(client, question.id)}>
        Undo <Key keys="U" />
      </button>
    </div>
  )
}
