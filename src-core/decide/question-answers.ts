import { InputId, type Instant } from '../../src-shared/ids.ts'
import type { QuestionAnswer } from '../../src-shared/questions.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import type { Ids } from '../ports.ts'
import { correctedAnswerText } from '../sessions/prompt.ts'
import type { QuestionRow } from '../storage/rows.ts'
import type { Decision } from './change.ts'
import { checkNotFinishing } from './finishing.ts'
import {
  placeOfEvent,
  sameTurn,
  sayWhatIsAsked,
  sendAnswers,
  sendTogether,
  settleAnswer,
} from './questions.ts'
import { SessionDraft, type SessionFacts } from './session-draft.ts'
import { isOver } from './session-states.ts'
import { bringBack } from './tickets.ts'

export type QuestionState = { facts: SessionFacts; question: QuestionRow }

export type QuestionDecision = Decision<{ draft: SessionDraft; question: QuestionRow }>

type Decided = Result<QuestionDecision>

const FINISHING = 'Answer when that was not possible; a finished session takes no answers.'

/** How an answer reaches the session. */
type Sending = { sendNow: boolean; resume: boolean }

export type GivenAnswer = Sending & {
  /** Numbers from 1. */
  options?: readonly number[] | undefined
  text?: string | undefined
  declined: boolean
  /** Milliseconds in which it can be taken back. */
  undoMs: number
}

/** A person's answer. The first one counts; a second one is told by whom the first was given. */
export function answerQuestion(
  { facts, question }: QuestionState,
  given: GivenAnswer,
  now: Instant,
  ids: Ids,
): Decided {
  const refused = checkOpen(question)
  if (refused !== null) return refused
  const free = checkNotFinishing(facts, FINISHING)
  if (!free.ok) return free
  const answer = answerOf(question, given)
  if (!answer.ok) return answer
  const draft = new SessionDraft(facts, now)
  const { undoMs, sendNow, resume } = given
  const row: QuestionRow = {
    ...question,
    state: 'answered',
    // What the planner still comes to helps nobody any more.
    heldBy: 'person',
    reachedPersonAt: question.reachedPersonAt ?? now,
    answer: answer.value,
    answeredAt: now,
  }
  if (undoMs > 0) {
    const undoUntil = new Date(Date.parse(now) + undoMs).toISOString()
    draft.question({ ...row, undoUntil, held: { sendNow, resume } })
  } else give(draft, row, { sendNow, resume }, ids)
  return accept(decided(draft, row))
}

/** The answer is told, and goes on its way when nothing holds it back. */
function give(draft: SessionDraft, row: QuestionRow, { sendNow, resume }: Sending, ids: Ids): void {
  settleAnswer(draft, row)
  if (sendNow) sendTurn(draft, row.turn, ids)
  else sendAnswers(draft, ids)
  goOn(draft, resume, ids)
}

/** All that is answered of a turn, also what could still be taken back. */
function sendTurn(draft: SessionDraft, turn: number | null, ids: Ids): void {
  const answered = sameTurn(draft, turn).filter(({ state }) => state === 'answered')
  const settled = answered.map((row) => (row.undoUntil === null ? row : settleAnswer(draft, row)))
  sendTogether(draft, settled, ids)
}

/** A session that holds no agent is brought back for what was queued, unless that is to wait. */
function goOn(draft: SessionDraft, resume: boolean, ids: Ids): void {
  const { state, pending } = draft.session
  // One that is being finished from its workspace stays where it is.
  const isAway = (state === 'parked' || state === 'failed') && pending !== 'finish'
  if (isAway && resume && draft.queued.length > 0) bringBack(draft, draft.now)
  draft.deliver(ids)
}

function decided(draft: SessionDraft, question: QuestionRow): QuestionDecision {
  sayWhatIsAsked(draft)
  return {
    answer: { draft, question: draft.changedQuestion(question.id) ?? question },
    change: draft.change(),
  }
}

function checkOpen(question: QuestionRow): Result<never> | null {
  const { state, key } = question
  if (state === 'open') return null
  if (state === 'withdrawn') return withdrawn(question)
  const { answer, overturned, undoUntil } = question
  const who = answer?.author === 'planner' ? 'the planner' : 'a person'
  const hint =
    undoUntil !== null
      ? `It can still be taken back for a moment: Undo beside it, or ballet question undo ${key}`
      : answer?.author === 'planner' && overturned === null
        ? `Overturn it to correct it: Overturn beside it, or ballet overturn ${key} TEXT`
        : 'Send the session a message to correct it.'
  return refuse(
    'question.answered',
    `${key} was answered already, by ${who}: “${short(answer?.text ?? '')}”.`,
    hint,
  )
}

function withdrawn({ key, withdrawn: reason }: QuestionRow): Result<never> {
  return refuse(
    'question.withdrawn',
    `${key} was withdrawn: ${reason ?? 'nobody needs its answer any more'}.`,
    'Start its ticket again for a new session, and say there what is to be done.',
  )
}

const short = (text: string) => (text.length > 200 ? `${text.slice(0, 200)}…` : text)

/** What people read: the labels that were chosen, then the free text. */
function answerOf(question: QuestionRow, given: GivenAnswer): Result<QuestionAnswer> {
  const { text, declined } = given
  const base = { author: 'person' as const, citations: [], declined }
  if (declined) {
    const word = text === undefined ? '' : ` ${text.trim()}`
    return accept({ ...base, text: `Decide yourself.${word}`, options: [] })
  }
  const options = [...new Set(given.options)].sort((a, b) => a - b)
  const { key, options: offered, multiple } = question
  const wrong = options.find((number) => offered[number - 1] === undefined)
  if (wrong !== undefined) {
    return refuse(
      'question.option-unknown',
      `${key} has no option ${wrong}: it has ${offered.length === 0 ? 'none' : offered.length}.`,
      offered.length === 0 ? 'Answer with a text.' : 'Look at its options, which count from 1.',
    )
  }
  if (options.length > 1 && !multiple) {
    return refuse(
      'question.one-option',
      `Of the options of ${key} only one can be chosen.`,
      'Choose one, and say the rest as a text.',
    )
  }
  const labels = options.map((number) => offered[number - 1]?.label ?? '')
  const parts = [labels.join(', '), text?.trim() ?? ''].filter((part) => part !== '')
  return accept({ ...base, text: parts.join('\n'), options })
}

/** The time passed in which an answer could be taken back; without a change where it is not held until then any more. */
export function releaseAnswer(
  { facts, question }: QuestionState,
  until: Instant,
  now: Instant,
  ids: Ids,
): QuestionDecision {
  const draft = new SessionDraft(facts, now)
  const { undoUntil, held } = question
  if (undoUntil !== until) return { answer: { draft, question }, change: null }
  give(draft, question, held ?? { sendNow: false, resume: true }, ids)
  return decided(draft, question)
}

/** Takes an answer back that the session does not have yet: held, or waiting for the others of its turn. */
export function undoAnswer({ facts, question }: QuestionState, now: Instant): Decided {
  const { key, state, answer, inputId } = question
  if (state === 'withdrawn') return withdrawn(question)
  if (state === 'open') {
    return refuse(
      'question.open',
      `${key} has no answer: there is nothing to take back.`,
      'Answer it, or leave it open.',
    )
  }
  if (answer?.author === 'planner') {
    return refuse(
      'question.planned',
      `${key} was answered by the planner: its answers are overturned, not taken back.`,
      `Correct it: Overturn beside it, or ballet overturn ${key} TEXT`,
    )
  }
  if (inputId !== null) {
    return refuse(
      'question.sent',
      `The answer to ${key} is on its way to the session and can no longer be taken back.`,
      'Send the session a message that corrects it.',
    )
  }
  if (isOver(facts.session.state)) {
    return refuse(
      'session.over',
      `The session of ${facts.ticket.key} is ${facts.session.state}: nobody waits for another answer.`,
      'Make a new ticket with what holds instead.',
    )
  }
  const draft = new SessionDraft(facts, now)
  // The timeline tells of it already, unless it was held.
  if (question.undoUntil === null) {
    const text = `The answer to ${key} was taken back: “${short(answer?.text ?? '')}”.`
    const turn = placeOfEvent(draft, question)
    draft.event({ kind: 'notice', level: 'info', code: 'question.undone', text, ...turn })
  }
  const row: QuestionRow = {
    ...question,
    state: 'open',
    answer: null,
    answeredAt: null,
    undoUntil: null,
    held: null,
    overturned: null,
  }
  draft.question(row)
  return accept(decided(draft, row))
}

/** Delivers what is answered of the question's turn, though others of it are open. */
export function sendAnswersNow(
  { facts, question }: QuestionState,
  now: Instant,
  ids: Ids,
): Decided {
  if (question.state === 'withdrawn') return withdrawn(question)
  const draft = new SessionDraft(facts, now)
  if (question.inputId !== null) return accept({ answer: { draft, question }, change: null })
  const free = checkNotFinishing(facts, FINISHING)
  if (!free.ok) return free
  if (sameTurn(draft, question.turn).every(({ state }) => state === 'open')) {
    return refuse(
      'question.open',
      `Nothing is answered yet of what ${question.key} was asked with.`,
      'Answer a question first.',
    )
  }
  sendTurn(draft, question.turn, ids)
  goOn(draft, true, ids)
  return accept(decided(draft, question))
}

/** Replaces an answer of the planner; where the session has that already, the correction is its next input. */
export function overturnAnswer(
  { facts, question }: QuestionState,
  text: string,
  now: Instant,
  ids: Ids,
): Decided {
  const refused = checkOverturns(facts, question)
  if (refused !== null) return refused
  const free = checkNotFinishing(facts, FINISHING)
  if (!free.ok) return free
  const draft = new SessionDraft(facts, now)
  const row: QuestionRow = {
    ...question,
    answer: { text: text.trim(), options: [], author: 'person', citations: [], declined: false },
    overturned: question.answer,
    answeredAt: now,
  }
  const settled = settleAnswer(draft, row, { overturns: true })
  if (question.inputId === null) sendAnswers(draft, ids)
  else {
    const id = InputId.parse(ids.uuid())
    draft.queue({
      id,
      sessionId: draft.session.id,
      inputKind: 'answer',
      text: correctedAnswerText(settled),
      author: 'person',
    })
    draft.question({ ...settled, inputId: id })
  }
  goOn(draft, true, ids)
  return accept(decided(draft, settled))
}

function checkOverturns(facts: SessionFacts, question: QuestionRow): Result<never> | null {
  const { key, state, answer, overturned } = question
  if (state === 'withdrawn') return withdrawn(question)
  if (overturned !== null) {
    return refuse(
      'question.overturned',
      `The planner's answer to ${key} was overturned already, by a person: “${short(answer?.text ?? '')}”.`,
      'Send the session a message to correct it again.',
    )
  }
  if (state === 'open' || answer?.author !== 'planner') {
    return refuse(
      'question.not-planned',
      state === 'open'
        ? `${key} has no answer yet.`
        : `${key} was answered by a person: only answers of the planner are overturned.`,
      state === 'open' ? 'Answer it.' : 'Send the session a message that corrects it.',
    )
  }
  if (isOver(facts.session.state)) {
    return refuse(
      'session.over',
      `The session of ${facts.ticket.key} is ${facts.session.state}: a correction reaches nobody.`,
      'Make a new ticket with the correction.',
    )
  }
  return null
}
