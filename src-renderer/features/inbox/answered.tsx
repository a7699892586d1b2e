import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { Question } from '../../../src-shared/questions.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { inboxView, useInboxView } from '../../stores/inbox-view.ts'
import { openPage } from '../../stores/layout.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { InlineCode } from '../../ui/inline-code.tsx'
import { Key } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { StateDot } from '../../ui/state-dot.tsx'
import { authorWord, timeOfDay } from '../../ui/words.ts'
import { attempt } from '../session/actions.ts'
import { currentItem } from './items.ts'
import { OverQuestion } from './over-question.tsx'

/** As many as one look takes; a search finds the others. */
const SHOWN = 200
/** While somebody types, so long after the last letter. */
const SEARCH_AFTER_MS = 150

/** What was answered, the last answer first; asked again when a question changed. */
function useAnswered(search: string) {
  const client = useClient()
  const changed = useRecords((records) => records.questions)
  const [found, setFound] = useState<readonly Question[] | null>(null)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [round, setRound] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: what changed says that it is to be asked again
  useEffect(() => {
    let isCurrent = true
    const wanted = search.trim()
    const timer = setTimeout(() => {
      void attempt(() =>
        client.questions.list({
          state: 'answered',
          limit: SHOWN,
          ...(wanted === '' ? {} : { search: wanted }),
        }),
      ).then((outcome) => {
        if (!isCurrent) return
        if (outcome.ok) {
          setFound(
            [...outcome.value].sort((a, b) =>
              (a.answeredAt ?? a.createdAt) < (b.answeredAt ?? b.createdAt) ? 1 : -1,
            ),
          )
          setRefusal(null)
        } else setRefusal(outcome.refusal)
      })
    }, SEARCH_AFTER_MS)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [client, search, changed, round])
  return { found, refusal, again: () => setRound((before) => before + 1) }
}

function howAnswered({ answer, overturned }: Question): string {
  if (answer === null) return ''
  if (answer.declined) return 'left to the agent'
  return `by ${authorWord(answer.author)}${overturned === null ? '' : ', overturned'}`
}

function AnsweredRow({
  question,
  at,
  isCurrent,
}: {
  question: Question
  at: number
  isCurrent: boolean
}) {
  const { answer, answeredAt } = question
  return (
    <li>
      <button
        type="button"
        className={isCurrent ? 'inbox-row inbox-on' : 'inbox-row'}
        aria-current={isCurrent}
        tabIndex={isCurrent ? 0 : -1}
        data-at={at}
      >
        <span>
          <StateDot look="done" />
          <span className="inbox-text clip">
            <InlineCode text={question.question.trim().slice(0, 300)} />
          </span>
          <span className="inbox-age">{answeredAt === null ? '' : timeOfDay(answeredAt)}</span>
        </span>
        <span>
          <span className="inbox-from clip">
            {question.key} · <InlineCode text={(answer?.text ?? '').slice(0, 200)} />
          </span>
          <span className="inbox-kind">{howAnswered(question)}</span>
        </span>
      </button>
    </li>
  )
}

/** What was answered, by whom and how. */
export function Answered() {
  const search = useInboxView((view) => view.search)
  const current = useInboxView((view) => view.current)
  const { found, refusal, again } = useAnswered(search)
  const questions = found ?? []
  const at = currentItem(questions, current, 0)
  const shown = questions[at]
  const root = useRef<HTMLDivElement>(null)
  const box = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => box.current?.focus(), [])

  const choose = (next: number) => {
    const question = questions[next]
    if (question === undefined) return
    inboxView.setState({ current: question.id })
    root.current?.querySelector<HTMLElement>(`[data-at="${next}"]`)?.focus()
  }
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const { target } = event
    const isSearch = target === box.current
    if (!isSearch && target instanceof HTMLElement && target.matches('textarea')) return
    if (event.key === 'ArrowDown' || (event.key === 'j' && !isSearch)) {
      choose(isSearch ? at : at + 1)
    } else if (event.key === 'ArrowUp' || (event.key === 'k' && !isSearch)) {
      if (at === 0) box.current?.focus()
      else choose(at - 1)
    } else if (event.key === 'e' && !isSearch) {
      if (shown !== undefined) openPage({ page: 'session', session: shown.session })
    } else if (event.key === '/' && !isSearch) box.current?.focus()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys of what is in it
    <div ref={root} className="inbox" onKeyDown={onKeyDown}>
      <div className="inbox-side">
        <div className="inbox-filters">
          <input
            ref={box}
            type="search"
            className="field"
            aria-label="Search answered questions"
            placeholder="Search questions and answers"
            value={search}
            onChange={({ target }) => inboxView.setState({ search: target.value, current: null })}
          />
        </div>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: its rows are buttons */}
        <ul
          className="inbox-list"
          aria-label="Answered questions"
          onClick={({ target }) => {
            if (!(target instanceof HTMLElement)) return
            const row = target.closest<HTMLElement>('[data-at]')
            if (row !== null) choose(Number(row.dataset.at))
          }}
        >
          {questions.map((question, place) => (
            <AnsweredRow
              key={question.id}
              question={question}
              at={place}
              isCurrent={place === at}
            />
          ))}
        </ul>
      </div>
      <div className="inbox-card">
        {refusal === null ? null : <RefusalNote refusal={refusal} onRetry={again} />}
        {shown === undefined ? (
          <div className="inbox-calm">
            {found === null ? null : (
              <p className="dim" role="status">
                {search.trim() === ''
                  ? 'No question was answered yet.'
                  : 'No question or answer has this in it.'}
              </p>
            )}
          </div>
        ) : (
          <>
            <div className="page-facts item-facts">
              <button
                type="button"
                className="btn-link"
                onClick={() => openPage({ page: 'session', session: shown.session })}
              >
                {shown.ticket}
              </button>
              <Key keys="E" />
              <span>{showControls(shown.project)}</span>
              <span>asked {timeOfDay(shown.createdAt)}</span>
            </div>
            <OverQuestion key={shown.id} question={shown} onOverturned={again} />
          </>
        )}
      </div>
      <footer className="inbox-foot">
        <span className="inbox-keys">
          <span>
            <Key keys="J" /> <Key keys="K" /> next, back
          </span>
          <span>
            <Key keys="/" /> search
          </span>
          <span>
            <Key keys="E" /> open the session
          </span>
        </span>
      </footer>
    </div>
  )
}
