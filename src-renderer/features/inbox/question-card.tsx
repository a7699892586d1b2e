import { type KeyboardEvent, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { Question } from '../../../src-shared/questions.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { keepDraft, useDraft } from '../../stores/drafts.ts'
import { jumps } from '../../stores/jumps.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords, useSession } from '../../sync/records.ts'
import { AgentText } from '../../text/agent-text.tsx'
import { showControls } from '../../text/controls.ts'
import { isMod, Key } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { StateDot } from '../../ui/state-dot.tsx'
import { counted } from '../../ui/words.ts'
import { useAttends } from '../session/attend.ts'
import { reloadText } from '../session/parking.ts'
import { forgetAnswerDraft, setAnswerDraft, textOwner, useAnswerDraft } from './answer-draft.ts'
import {
  answerQuestion,
  type Delivery,
  picked,
  questionAct,
  sendAnswersNow,
  whatIsMissing,
} from './answering.ts'
import { HeldAnswer, takeBack } from './held-answer.tsx'
import { Draft } from './planner-draft.tsx'
import { Options } from './question-options.tsx'
import { WordBox } from './word-form.tsx'

const urgencyWord = { high: 'urgent', normal: '', low: 'can wait' } as const

/** The questions of the same turn, whose answers go to the session together. */
function useSiblings(question: Question): { open: number; answered: number } {
  const questions = useRecords((records) => records.questions)
  return useMemo(() => {
    const others = [...questions.values()].filter(
      ({ id, session, turn, input }) =>
        id !== question.id &&
        session === question.session &&
        turn === question.turn &&
        input === null,
    )
    const open = others.filter(({ state }) => state === 'open').length
    const answered = others.filter(({ state }) => state === 'answered').length
    return { open, answered }
  }, [questions, question.id, question.session, question.turn])
}

/** What an agent asks, without what can be done about it. */
export function Asked({
  question,
}: {
  question: Pick<Question, 'key' | 'question' | 'context' | 'urgency'>
}) {
  const urgency = urgencyWord[question.urgency]
  return (
    <>
      <div className="q-head">
        <span className="q-key">{question.key}</span>
        {urgency === '' ? null : <span className="q-urgency">{urgency}</span>}
      </div>
      <AgentText text={question.question} className="q-text" />
      {question.context === null || question.context.trim() === '' ? null : (
        <AgentText text={question.context} className="q-context" />
      )}
    </>
  )
}

/** Why the answer goes nowhere at once, and what can be done about it. */
function Delivered({
  question,
  resume,
  onResume,
  sendNow,
  onSendNow,
}: {
  question: Question
  resume: boolean
  onResume: (resume: boolean) => void
  sendNow: boolean
  onSendNow: (sendNow: boolean) => void
}) {
  const session = useSession(question.session)
  const { open, answered } = useSiblings(question)
  return (
    <>
      {session?.state === 'parked' || session?.state === 'failed' ? (
        <label className="form-check q-hint">
          <input
            type="checkbox"
            checked={resume}
            onChange={(event) => onResume(event.target.checked)}
          />
          The session is {session.state}: bring it back with the answer
          {reloadText(session) === null ? '' : ` (reloads ${reloadText(session)})`}
        </label>
      ) : null}
      {open === 0 ? null : (
        <label className="form-check q-hint">
          <input
            type="checkbox"
            checked={sendNow}
            onChange={(event) => onSendNow(event.target.checked)}
          />
          Send without waiting for {counted(open, 'more question')} of this turn
          {answered === 0
            ? ''
            : `, with ${counted(answered, 'answer')} that ${answered === 1 ? 'waits' : 'wait'}`}
        </label>
      )}
    </>
  )
}

/** An open question and its answer: by its keys while it has the focus, or by the buttons. */
function OpenQuestion({
  question,
  writesAtOnce,
  onSending,
  onAnswered,
}: {
  question: Question
  writesAtOnce: boolean
  /** The row may say that it is answered before the call does. */
  onSending: (isSending: boolean) => void
  onAnswered: (() => void) | undefined
}) {
  const client = useClient()
  const { id, options, multiple } = question
  const { chosen, writes: asked } = useAnswerDraft(id)
  const writes = asked === 'nothing' && options.length === 0 ? 'answer' : asked
  const text = useDraft(textOwner(id))
  useAttends(question.session, chosen.length > 0 || text.trim() !== '')
  const [delivery, setDelivery] = useState<Delivery>({ sendNow: false, resume: true })
  const [busy, setBusy] = useState(false)
  const [missing, setMissing] = useState<string | null>(null)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const card = useRef<HTMLElement>(null)
  /** The person just chose to write. */
  const wantsWords = useRef(writesAtOnce)

  const send = async () => {
    if (busy) return
    const given =
      writes === 'decline'
        ? ({ kind: 'decline', text } as const)
        : ({ kind: 'answer', options: chosen, text: writes === 'answer' ? text : '' } as const)
    const problem =
      given.kind === 'decline' ? null : whatIsMissing({ chosen, text: given.text }, options.length)
    setMissing(problem)
    if (problem !== null) {
      if (options.length === 0) card.current?.querySelector('textarea')?.focus()
      return
    }
    setBusy(true)
    setRefusal(null)
    onSending(true)
    const why = await answerQuestion(client, id, given, delivery)
    setBusy(false)
    if (why === null) {
      forgetAnswerDraft(id)
      onAnswered?.()
    } else {
      onSending(false)
      setRefusal(why)
    }
  }
  const pick = (option: number) => {
    setMissing(null)
    setAnswerDraft(id, {
      chosen: picked(chosen, option, multiple),
      ...(writes === 'decline' ? { writes: 'nothing' as const } : {}),
    })
  }
  const write = (what: 'answer' | 'decline') => {
    setMissing(null)
    wantsWords.current = true
    setAnswerDraft(id, { writes: what })
    card.current?.querySelector('textarea')?.focus()
  }
  const leave = () => {
    if (options.length > 0 || writes === 'decline') setAnswerDraft(id, { writes: 'nothing' })
    card.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const { target } = event
    const isOnOption = target instanceof HTMLInputElement && target.name === `options-${id}`
    // On a button Enter is that button's.
    if ((target !== event.currentTarget && !isOnOption) || event.repeat) return
    const act = questionAct(event, options.length)
    if (act === null) return
    event.preventDefault()
    event.stopPropagation()
    if (act.act === 'send') {
      const isReady = writes === 'decline' || chosen.length > 0 || text.trim() !== ''
      if (!isReady || !jumps.isSecondPress(id)) void send()
      return
    }
    jumps.moved(id)
    if (act.act === 'pick') pick(act.option)
    else write(act.act === 'decline' ? 'decline' : 'answer')
  }

  return (
    <section
      ref={card}
      className="q"
      aria-label={`Question ${question.key}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys answer while it has the focus
      tabIndex={0}
      data-question={id}
      onKeyDown={onKeyDown}
    >
      <Asked question={question} />
      {question.heldBy === 'planner' ? (
        <p className="q-hint" role="status">
          <StateDot look="begin" /> The planner looks for the answer in the project’s sources. You
          can answer now.
        </p>
      ) : null}
      <Options question={question} chosen={chosen} disabled={busy} onPick={pick} />
      {writes === 'nothing' ? null : (
        <WordBox
          key={writes}
          label={
            writes === 'decline' ? 'A word to go with it, or nothing' : `Answer to ${question.key}`
          }
          placeholder={
            writes === 'decline'
              ? 'A word to go with it, or nothing'
              : options.length === 0
                ? 'Your answer'
                : 'Something else, or a word to go with your choice'
          }
          value={text}
          disabled={busy}
          takesFocus={wantsWords.current}
          onChange={(value) => {
            setMissing(null)
            keepDraft(textOwner(id), value)
          }}
          onSend={() => void send()}
          onBack={leave}
        />
      )}
      {question.draft === null || question.heldBy === 'planner' ? null : (
        <Draft
          draft={question.draft}
          session={question.session}
          onTake={(answer) => {
            keepDraft(textOwner(id), answer)
            write('answer')
          }}
        />
      )}
      <Delivered
        question={question}
        resume={delivery.resume}
        onResume={(resume) => setDelivery((before) => ({ ...before, resume }))}
        sendNow={delivery.sendNow}
        onSendNow={(sendNow) => setDelivery((before) => ({ ...before, sendNow }))}
      />
      {refusal === null ? null : <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />}
      <div className="q-acts">
        <button
          type="button"
          className="btn btn-main"
          aria-disabled={busy}
          onClick={() => void send()}
        >
          {busy ? 'Sending…' : writes === 'decline' ? 'Let it decide' : 'Send'} <Key keys="Enter" />
        </button>
        {options.length === 0 || writes === 'answer' ? null : (
          <button type="button" className="btn" onClick={() => write('answer')}>
            Other… <Key keys="O" />
          </button>
        )}
        {writes === 'decline' ? (
          <button type="button" className="btn" onClick={leave}>
            Back <Key keys="Escape" />
          </button>
        ) : (
          <button type="button" className="btn" onClick={() => write('decline')}>
            Decide yourself <Key keys="D" />
          </button>
        )}
        <span className="q-missing" role="status">
          {missing}
        </span>
      </div>
    </section>
  )
}

/** Answered, and not with the session yet. */
function AnsweredQuestion({ question, takesFocus }: { question: Question; takesFocus: boolean }) {
  const client = useClient()
  const card = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    if (takesFocus) card.current?.focus({ preventScroll: true })
  }, [takesFocus])
  const { open } = useSiblings(question)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const { undoUntil } = question
  return (
    <section
      ref={card}
      className="q q-over"
      aria-label={`Question ${question.key}`}
      data-question={question.id}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: its key takes the answer back
      tabIndex={0}
      onKeyDown={(event) => {
        if (event.target !== event.currentTarget || event.key !== 'u' || isMod(event)) return
        event.preventDefault()
        event.stopPropagation()
        if (undoUntil !== null) void takeBack(client, question.id)
      }}
    >
      <Asked question={question} />
      {undoUntil === null ? (
        <p className="q-hint">
          <StateDot look="done" />
          <span className="grow">
            Answered
            {question.answer === null
              ? ''
              : `: ${showControls(question.answer.text.slice(0, 300))}`}
            . It goes to the session{' '}
            {open === 0 ? 'when its turn ends' : `with ${counted(open, 'more answer')} of its turn`}
            .
          </span>
          <button
            type="button"
            className="btn"
            onClick={() => void sendAnswersNow(client, question.id).then(setRefusal)}
          >
            Send now
          </button>
        </p>
      ) : (
        <HeldAnswer question={{ ...question, undoUntil }} />
      )}
      {refusal === null ? null : <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />}
    </section>
  )
}

/** A question that the session has no answer to yet, wherever it is shown. */
export function QuestionCard({
  question,
  writesAtOnce = false,
  onAnswered,
}: {
  question: Question
  /** A question without options gets the focus into its text at once. */
  writesAtOnce?: boolean
  onAnswered?: () => void
}) {
  /** It was answered right here, so that the focus stays with it. */
  const answeredHere = useRef(false)
  if (question.state !== 'open') {
    return <AnsweredQuestion question={question} takesFocus={answeredHere.current} />
  }
  return (
    <OpenQuestion
      question={question}
      writesAtOnce={writesAtOnce}
      onSending={(isSending) => {
        answeredHere.current = isSending
      }}
      onAnswered={onAnswered}
    />
  )
}
