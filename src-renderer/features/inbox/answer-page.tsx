import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { Question } from '../../../src-shared/questions.ts'
import type { Request } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { useMinutes } from '../../stores/clock.ts'
import { jumps } from '../../stores/jumps.ts'
import { untell, useTold } from '../../stores/told.ts'
import { useClient } from '../../sync/client.ts'
import { recordsStore, useRecords, useSession } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { Key } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { StateDot } from '../../ui/state-dot.tsx'
import { age } from '../../ui/words.ts'
import { outcomeWord } from '../requests/answers.ts'
import { RequestCard } from '../requests/request-card.tsx'
import { attempt } from '../session/actions.ts'
import { useAttends } from '../session/attend.ts'
import { ParksIn } from '../session/parks-in.tsx'
import { useHostTheme } from '../shell/host-theme.ts'
import { OverQuestion } from './over-question.tsx'
import { QuestionCard } from './question-card.tsx'
import { SessionTail } from './session-tail.tsx'

function Head({ about, since }: { about: Question | Request; since: string }) {
  const session = useSession(about.session)
  useAttends(about.session, true)
  const waits = age(useMinutes() - Date.parse(since))
  return (
    <header className="answer-head">
      <h1 className="clip grow">
        {about.ticket} {showControls(session?.title ?? '')}
      </h1>
      <span className="faint">
        {showControls(about.project)}
        {waits === 'now' ? '' : ` · waits ${waits}`}
      </span>
      {session?.parkAt == null ? null : <ParksIn at={session.parkAt} />}
      <button type="button" className="btn-quiet" onClick={() => window.close()}>
        Close <Key keys="Escape" />
      </button>
    </header>
  )
}

/** The session has the answer, or gets it without anything more to be done here. */
const isDone = (question: Question | undefined) =>
  question === undefined || (question.state !== 'open' && question.undoUntil === null)

/** The window has done its work when what was answered in it is on its way; the answer says that it was. */
function useClosesWhenAnswered(id: string): () => void {
  const question = useRecords(({ questions }) => questions.get(id))
  const answeredHere = useRef(false)
  const before = useRef(question?.state)
  const isHeld = question?.state === 'answered' && question.undoUntil !== null
  useEffect(() => {
    if (before.current === 'answered' && question?.state === 'open') answeredHere.current = false
    before.current = question?.state
    if (answeredHere.current && isDone(question)) window.close()
  }, [question])
  // Who turns to something else has made up their mind.
  useEffect(() => {
    if (!isHeld) return
    const leave = () => window.close()
    window.addEventListener('blur', leave)
    return () => window.removeEventListener('blur', leave)
  }, [isHeld])
  return () => {
    answeredHere.current = true
    if (isDone(recordsStore().getState().questions.get(id))) window.close()
  }
}

function AnswersQuestion({ question, onAnswered }: { question: Question; onAnswered: () => void }) {
  return (
    <>
      <Head about={question} since={question.reachedPersonAt ?? question.createdAt} />
      <main className="answer-body">
        <QuestionCard
          question={question}
          writesAtOnce={question.options.length === 0}
          onAnswered={onAnswered}
        />
        <SessionTail session={question.session} />
      </main>
    </>
  )
}

function AnswersRequest({ request }: { request: Request }) {
  const { id, name, toolKind, title, input, inputBlob } = request
  const asking = useMemo(
    () => ({ id, name, toolKind, title, input, inputBlob: inputBlob ?? undefined }),
    [id, name, toolKind, title, input, inputBlob],
  )
  return (
    <>
      <Head about={request} since={request.createdAt} />
      <main className="answer-body">
        <RequestCard
          asking={asking}
          session={request.session}
          headed={false}
          onAnswered={() => window.close()}
        />
      </main>
    </>
  )
}

type Over = { question: Question } | { request: Request } | { refusal: Refusal }

/** What waits no more: what it came to. */
function IsOver({ id }: { id: string }) {
  const client = useClient()
  const [over, setOver] = useState<Over | null>(null)
  useEffect(() => {
    let isShown = true
    const ask = async (): Promise<Over> => {
      const question = await attempt(() => client.questions.show({ ref: id }))
      if (question.ok) return { question: question.value }
      const request = await attempt(() => client.requests.show({ ref: id }))
      return request.ok ? { request: request.value } : { refusal: question.refusal }
    }
    void ask().then((found) => {
      if (isShown) setOver(found)
    })
    return () => {
      isShown = false
    }
  }, [client, id])
  if (over === null) return <main className="answer-body" aria-busy="true" />
  if ('refusal' in over) {
    return (
      <main className="answer-body">
        <RefusalNote refusal={over.refusal} onClose={() => window.close()} />
      </main>
    )
  }
  const about = 'question' in over ? over.question : over.request
  return (
    <>
      <Head about={about} since={about.createdAt} />
      <main className="answer-body">
        {'question' in over ? (
          <OverQuestion question={over.question} />
        ) : (
          <p role="status">
            <StateDot look="done" /> The request is over:{' '}
            {over.request.state === 'open' ? 'open' : outcomeWord(over.request.state)}.
          </p>
        )}
      </main>
    </>
  )
}

/** The page of a small window that shows one question or request and nothing else. */
export function AnswerPage({ id }: { id: string }) {
  useHostTheme()
  const question = useRecords(({ questions }) => questions.get(id))
  const request = useRecords(({ requests }) => requests.get(id))
  const onAnswered = useClosesWhenAnswered(id)
  const told = useTold()
  const root = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    document.title = 'Answer · Ballet'
    // The window may have come up under somebody who was writing elsewhere.
    jumps.jumped(id)
    const card = root.current?.querySelector<HTMLElement>(
      ':is([data-question], [data-request])[tabindex="0"]',
    )
    if (root.current?.contains(document.activeElement) !== true)
      card?.focus({ preventScroll: true })
  }, [id])
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.key !== 'Escape') return
      if (document.querySelector('dialog[open]') !== null) return
      event.preventDefault()
      window.close()
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [])
  return (
    <div ref={root} className="answer-page">
      {question !== undefined ? (
        <AnswersQuestion question={question} onAnswered={onAnswered} />
      ) : request !== undefined ? (
        <AnswersRequest request={request} />
      ) : (
        <IsOver id={id} />
      )}
      {told === null ? null : (
        <div className="told">
          <RefusalNote refusal={told} onClose={untell} />
        </div>
      )}
    </div>
  )
}
