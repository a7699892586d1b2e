import { useState } from 'react'
import type { Question, QuestionAnswer } from '../../../src-shared/questions.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { useClient } from '../../sync/client.ts'
import { AgentText } from '../../text/agent-text.tsx'
import { InlineCode } from '../../ui/inline-code.tsx'
import { Key } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { StateDot } from '../../ui/state-dot.tsx'
import { authorWord, timeOfDay } from '../../ui/words.ts'
import { overturnAnswer } from './answering.ts'
import { Citations } from './citations.tsx'
import { Asked } from './question-card.tsx'
import { WordBox } from './word-form.tsx'

/** An answer as it was given: by whom, and from which sources. */
export function AnswerView({
  answer,
  session,
  at,
  overturned,
}: {
  answer: Pick<QuestionAnswer, 'text' | 'author' | 'citations' | 'declined'>
  session: Question['session']
  at: string | null
  /** A person replaced it. */
  overturned: boolean
}) {
  return (
    <div className="q-answer" data-overturned={overturned}>
      <p className="q-answer-head">
        <StateDot look={overturned ? 'gone' : 'done'} />
        <span className="grow">
          {answer.declined ? 'Left to the agent' : 'Answered'} by {authorWord(answer.author)}
          {overturned ? ', overturned' : ''}
        </span>
        {at === null ? null : <span>{timeOfDay(at)}</span>}
      </p>
      {answer.text === '' ? null : <AgentText text={answer.text} className="q-answer-text" />}
      <Citations citations={answer.citations} session={session} />
    </div>
  )
}

/** Takes the place of an answer of the planner. */
export function Overturn({
  question,
  onOverturned,
}: {
  question: string
  onOverturned?: () => void
}) {
  const client = useClient()
  const [writes, setWrites] = useState(false)
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const give = async () => {
    if (busy || text.trim() === '') return
    setBusy(true)
    const why = await overturnAnswer(client, question, text)
    setBusy(false)
    setRefusal(why)
    if (why === null) {
      setWrites(false)
      onOverturned?.()
    }
  }
  if (!writes) {
    return (
      <button type="button" className="btn" onClick={() => setWrites(true)}>
        Overturn…
      </button>
    )
  }
  return (
    <div className="q-form">
      <WordBox
        label="The answer that holds instead"
        placeholder="The answer that holds instead: the agent reads it"
        value={text}
        disabled={busy}
        takesFocus
        onChange={setText}
        onSend={() => void give()}
        onBack={() => setWrites(false)}
      />
      {refusal === null ? null : <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />}
      <div className="q-acts">
        <button type="button" className="btn btn-main" onClick={() => void give()}>
          Overturn <Key keys="Enter" />
        </button>
        <button type="button" className="btn" onClick={() => setWrites(false)}>
          Back <Key keys="Escape" />
        </button>
      </div>
    </div>
  )
}

/** A question that takes no answer any more: by whom it was answered, or that it was withdrawn. */
export function OverQuestion({
  question,
  onOverturned,
}: {
  question: Question
  onOverturned?: () => void
}) {
  const { answer, overturned, state, answeredAt, session } = question
  return (
    <section
      className="q q-over"
      aria-label={`Question ${question.key}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it is gone through by keyboard
      tabIndex={0}
      data-question={question.id}
    >
      <Asked question={question} />
      {question.options.length === 0 ? null : (
        <ol className="q-were">
          {question.options.map(({ label }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: options are known by their number
            <li key={at} data-chosen={answer?.options.includes(at + 1) === true}>
              <InlineCode text={label} />
            </li>
          ))}
        </ol>
      )}
      {overturned === null ? null : (
        <AnswerView answer={overturned} session={session} at={null} overturned />
      )}
      {answer === null ? null : (
        <AnswerView answer={answer} session={session} at={answeredAt} overturned={false} />
      )}
      {state === 'withdrawn' ? (
        <p className="q-hint">
          <StateDot look="gone" /> Withdrawn with its session or its ticket: it takes no answer any
          more.
        </p>
      ) : null}
      {answer?.author === 'planner' ? (
        <Overturn
          question={question.id}
          {...(onOverturned === undefined ? {} : { onOverturned })}
        />
      ) : null}
    </section>
  )
}
