import { useMemo, useState } from 'react'
import type { SessionId } from '../../../src-shared/ids.ts'
import type { StageOutcome } from '../../../src-shared/records.ts'
import { useRecords } from '../../sync/records.ts'
import type { AssumptionRow, CompletedRow, ProgressRow, QuestionRow } from '../../sync/rows.ts'
import { AgentText } from '../../text/agent-text.tsx'
import { showControls } from '../../text/controls.ts'
import { InlineCode } from '../../ui/inline-code.tsx'
import { type Look, StateDot } from '../../ui/state-dot.tsx'
import { timeOfDay } from '../../ui/words.ts'
import { Assumed, AssumptionActs } from '../inbox/assumption-card.tsx'
import { AnswerView, Overturn } from '../inbox/over-question.tsx'
import { Asked, QuestionCard } from '../inbox/question-card.tsx'
import { ProgressBar } from '../session/progress.tsx'
import { LongText } from './long-text.tsx'

function PlannedLine({ row }: { row: QuestionRow }) {
  const { planned } = row
  if (planned === null || planned.outcome === 'answered' || planned.reason === '') return null
  return (
    <p className="q-hint">
      <StateDot look="gone" />
      <span>The planner did not answer: {showControls(planned.reason.slice(0, 600))}</span>
    </p>
  )
}

/** A question that is over: what was asked, and what it came to. */
function OverItem({
  row,
  open,
  onToggle,
  session,
}: {
  row: QuestionRow
  open: boolean
  onToggle: () => void
  session: SessionId
}) {
  const { asked, answers, withdrawn } = row
  const last = answers.at(-1)
  const hasMore = (asked.context ?? '') !== '' || asked.options.length > 0 || row.planned !== null
  return (
    <section className="q q-over" aria-label={`Question ${asked.key}`}>
      <Asked
        question={{
          key: asked.key,
          question: asked.text,
          context: open ? (asked.context ?? null) : null,
          urgency: 'normal',
        }}
      />
      {asked.textBlob === undefined ? null : (
        <LongText text="" blob={asked.textBlob} session={session} />
      )}
      {open && asked.contextBlob !== undefined ? (
        <LongText text="" blob={asked.contextBlob} session={session} />
      ) : null}
      {open && asked.options.length > 0 ? (
        <ol className="q-were">
          {asked.options.map(({ label, detail }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: options are known by their number
            <li key={at} data-chosen={last?.options.includes(at + 1) === true}>
              <InlineCode text={label} />
              {detail === undefined ? null : (
                <span className="faint">
                  {' '}
                  · <InlineCode text={detail} />
                </span>
              )}
            </li>
          ))}
        </ol>
      ) : null}
      {open ? <PlannedLine row={row} /> : null}
      {answers.map((answer, at) => (
        <AnswerView
          key={answer.seq}
          answer={answer}
          session={session}
          at={answer.at}
          overturned={at < answers.length - 1}
        />
      ))}
      {withdrawn === null ? null : (
        <p className="q-hint">
          <StateDot look="gone" /> Withdrawn
          {withdrawn.reason === '' ? '' : `: ${showControls(withdrawn.reason)}`}
        </p>
      )}
      <div className="q-acts">
        {last?.author === 'planner' && withdrawn === null ? (
          <Overturn question={asked.question} />
        ) : null}
        {hasMore ? (
          <button type="button" className="btn-quiet" aria-expanded={open} onClick={onToggle}>
            {open ? 'Less' : 'Context and options'}
          </button>
        ) : null}
      </div>
    </section>
  )
}

/** A question of an agent where it was asked: answered in place while it is open. */
export function QuestionItem(props: {
  row: QuestionRow
  open: boolean
  onToggle: () => void
  session: SessionId
}) {
  const { row } = props
  const record = useRecords(({ questions }) => questions.get(row.asked.question))
  return record === undefined ? <OverItem {...props} /> : <QuestionCard question={record} />
}

/** What an agent decided itself, and what the person made of it. */
export function AssumptionItem({ row }: { row: AssumptionRow }) {
  const { recorded, reviewed } = row
  const record = useRecords(({ assumptions }) => assumptions.get(recorded.id))
  const [writes, setWrites] = useState(false)
  const assumed = useMemo(
    () => ({
      assumption: recorded.assumption,
      reason: recorded.reason,
      alternatives: recorded.alternatives,
      reversibleBy: recorded.reversibleBy ?? null,
    }),
    [recorded],
  )
  return (
    <section className="q q-over" aria-label="Assumption">
      <div className="q-head">
        <span className="q-key">Assumed</span>
      </div>
      <Assumed assumption={assumed} />
      {reviewed !== null ? (
        <div className="q-answer">
          <p className="q-answer-head">
            <StateDot look={reviewed.outcome === 'confirmed' ? 'done' : 'gone'} />
            <span className="grow">
              {reviewed.outcome === 'confirmed' ? 'Confirmed' : 'Overturned'} by you
            </span>
            <span>{timeOfDay(reviewed.at)}</span>
          </p>
          {reviewed.text === undefined ? null : (
            <AgentText text={reviewed.text} className="q-answer-text" />
          )}
        </div>
      ) : record === undefined ? null : (
        <AssumptionActs
          assumption={record}
          onReviewed={undefined}
          keyed={false}
          writes={writes}
          onWrites={setWrites}
        />
      )}
    </section>
  )
}

export function ProgressItem({ row }: { row: ProgressRow }) {
  return (
    <div className="tl-line tl-progress">
      <ProgressBar progress={row} />
      <div className="tl-line-text">{showControls(row.summary)}</div>
      <span className="tl-meta">{row.at === null ? '' : timeOfDay(row.at)}</span>
    </div>
  )
}

const completed: Record<StageOutcome, { look: Look; word: string }> = {
  done: { look: 'done', word: 'The agent says: done' },
  needs_review: { look: 'wait', word: 'The agent asks for a review' },
  failed: { look: 'bad', word: 'The agent says: failed' },
}

/** How the agent said that its stage ended. */
export function CompletedItem({ row, session }: { row: CompletedRow; session: SessionId }) {
  const { look, word } = completed[row.outcome]
  return (
    <section className="q q-over" aria-label="Stage completed" data-outcome={row.outcome}>
      <p className="q-answer-head">
        <StateDot look={look} />
        <strong className="grow">{word}</strong>
        {row.at === null ? null : <span>{timeOfDay(row.at)}</span>}
      </p>
      <AgentText text={row.summary} />
      {row.textBlob === undefined ? null : (
        <LongText text="" blob={row.textBlob} session={session} />
      )}
    </section>
  )
}
