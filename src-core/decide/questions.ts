import { InputId, type Instant, type QuestionId } from '../../src-shared/ids.ts'
import type { AskQuestion } from '../../src-shared/mcp-tools.ts'
import type { PlannerDraft } from '../../src-shared/questions.ts'
import type { EventBody } from '../../src-shared/timeline.ts'
import type { Ids } from '../ports.ts'
import { answerText } from '../sessions/prompt.ts'
import type { QuestionRow } from '../storage/rows.ts'
import { inlineText } from './large-text.ts'
import type { SessionDraft } from './session-draft.ts'
import { isOver } from './session-states.ts'

/** The most open questions of one session: an agent that asks more does not wait for answers. */
export const OPEN_LIMIT = 100

const END_TURN = 'End your turn now; the answer arrives as the next message.'

const ASKS = 'waits for an answer: '
const TRIES = 'the planner tries: '

/** How many keys a session's reason names. */
const NAMED = 3

export type Asked = {
  id: QuestionId
  asked: AskQuestion
  at: Instant
  turn: number | null
  /** Why the planner does not try; null where it does. */
  plannerOff: string | null
}

/** What a tool of Ballet answers with. */
export type ToolAnswer = { isError: boolean; text: string }

/** An agent asks. A second identical question is the first one; of a session that is over nobody answers any. */
export function askQuestion(draft: SessionDraft, asked: Asked, ids: Ids): ToolAnswer {
  const same = draft.questions.find((row) => isSame(row, asked.asked))
  if (same !== undefined) {
    const known = same.state === 'open' ? '' : ' It is answered.'
    return { isError: false, text: `You asked this already, as ${same.key}.${known} ${END_TURN}` }
  }
  if (draft.openQuestions.length >= OPEN_LIMIT) {
    return {
      isError: true,
      text: `${OPEN_LIMIT} of your questions are open already; this one was not recorded. ${END_TURN}`,
    }
  }
  const row = newQuestion(draft, asked, ids)
  draft.question(row)
  tellAsked(draft, row, asked.at)
  if (isOver(draft.session.state)) {
    withdrawQuestions(draft, [{ ...row, planner: 'over' }], 'the session is over')
    return { isError: true, text: 'The session is over: nobody answers any more. End your turn.' }
  }
  if (asked.plannerOff !== null)
    reachPerson(draft, row, { outcome: 'off', reason: asked.plannerOff })
  return { isError: false, text: `Recorded as ${row.key}. ${END_TURN}` }
}

const folded = (text: string | null | undefined) => (text ?? '').trim().replace(/\s+/g, ' ')

function isSame(row: QuestionRow, { question, options = [] }: AskQuestion): boolean {
  return (
    folded(row.question) === folded(question) &&
    row.options.length === options.length &&
    row.options.every(({ label, detail }, index) => {
      const other = options[index]
      return folded(label) === folded(other?.label) && folded(detail) === folded(other?.detail)
    })
  )
}

function newQuestion(draft: SessionDraft, { id, asked, at, turn }: Asked, ids: Ids): QuestionRow {
  const { session, ticket } = draft
  const { question, context, options = [], multiple = false, urgency = 'normal' } = asked
  return {
    id,
    sessionId: session.id,
    ticketId: ticket.id,
    projectId: session.projectId,
    key: `${ticket.key}-Q${draft.nextQuestion()}`,
    question,
    context: context === undefined || context.trim() === '' ? null : context,
    options: options.map(({ label, detail, recommended = false }) => ({
      label,
      recommended,
      ...(detail === undefined ? {} : { detail }),
    })),
    multiple,
    urgency,
    state: 'open',
    heldBy: 'planner',
    planner: 'runs',
    nonce: ids.nonce(8),
    draft: null,
    answer: null,
    undoUntil: null,
    held: null,
    inputId: null,
    overturned: null,
    withdrawn: null,
    turn,
    createdAt: at,
    reachedPersonAt: null,
    answeredAt: null,
  }
}

const inTurn = ({ turn }: QuestionRow) => (turn === null ? {} : { turn })

function tellAsked(draft: SessionDraft, row: QuestionRow, at: Instant): void {
  const text = inlineText(row.question)
  const context = row.context === null ? null : inlineText(row.context)
  draft.blob(text.blob)
  draft.blob(context?.blob ?? null)
  draft.event(
    {
      kind: 'question.asked',
      question: row.id,
      key: row.key,
      text: text.text,
      ...(text.id === null ? {} : { textBlob: text.id }),
      ...(context === null ? {} : { context: context.text }),
      ...(context === null || context.id === null ? {} : { contextBlob: context.id }),
      options: [...row.options],
      multiple: row.multiple,
      urgency: row.urgency,
      ...inTurn(row),
    },
    at,
  )
  draft.domain({ kind: 'question.asked', subject: row.id, data: { key: row.key } })
}

/** What a run of the planner took. */
export type RunFigures = { durationMs?: number; costUsd?: number }

type Planned = Extract<EventBody, { kind: 'question.planned' }>

/** What the planner came to where it does not answer. */
export type NoAnswer = RunFigures &
  Partial<Pick<PlannerDraft, 'answer' | 'citations'>> & {
    outcome: Exclude<Planned['outcome'], 'answered'>
    reason: string
    /** Whether something that the planner started may still run. */
    isLeft?: boolean
  }

/** The planner has done what it can: from now on the question waits for the person. */
export function reachPerson(
  draft: SessionDraft,
  row: QuestionRow,
  { outcome, reason, answer = null, citations = [], isLeft = false, ...figures }: NoAnswer,
): QuestionRow {
  const reached: QuestionRow = {
    ...row,
    heldBy: 'person',
    planner: isLeft ? 'left' : 'over',
    reachedPersonAt: draft.now,
    draft: { answer, citations, reason },
  }
  draft.question(reached)
  draft.event({
    kind: 'question.planned',
    question: row.id,
    key: row.key,
    outcome,
    ...(answer === null ? {} : { draft: answer }),
    citations,
    verified: citations.length > 0 && citations.every(({ verified }) => verified),
    reason,
    ...figures,
    ...placeOfEvent(draft, row),
  })
  return reached
}

/** An event of a question belongs to its turn while that runs; afterwards it is told between turns. */
export function placeOfEvent(draft: SessionDraft, { turn }: QuestionRow): { turn?: number } {
  const { turnStartedAt, turn: last } = draft.session
  return turn !== null && turnStartedAt !== null && turn === last ? { turn } : {}
}

/** The answer of a row is given for good: it is told, and goes to the session with the others of its turn. */
export function settleAnswer(
  draft: SessionDraft,
  row: QuestionRow,
  overturns: { overturns?: true } = {},
): QuestionRow {
  const { answer } = row
  if (answer === null) throw new Error(`The question ${row.key} has no answer.`)
  const settled: QuestionRow = { ...row, undoUntil: null, held: null }
  const cut = inlineText(answer.text)
  draft.question(settled)
  draft.blob(cut.blob)
  draft.event({
    kind: 'question.answered',
    question: row.id,
    key: row.key,
    text: cut.text,
    ...(cut.id === null ? {} : { textBlob: cut.id }),
    options: answer.options,
    author: answer.author,
    citations: answer.citations,
    declined: answer.declined,
    ...overturns,
    ...placeOfEvent(draft, row),
  })
  draft.domain({
    kind: 'question.answered',
    subject: row.id,
    data: { author: answer.author, ...overturns },
  })
  return settled
}

/** Those that were asked in the same turn and whose answers no input carries yet. */
export function sameTurn(draft: SessionDraft, turn: number | null): QuestionRow[] {
  return draft.questions.filter((row) => row.turn === turn)
}

/** The answers of every turn that is over and of which nothing is open or held go into one input each. */
export function sendAnswers(draft: SessionDraft, ids: Ids): void {
  const { turnStartedAt, turn: last } = draft.session
  const running = turnStartedAt === null ? null : last
  for (const turn of new Set(draft.questions.map((row) => row.turn))) {
    // The agent may ask more before it ends its turn.
    if (turn !== null && turn === running) continue
    const rows = sameTurn(draft, turn)
    if (rows.every(({ state, undoUntil }) => state === 'answered' && undoUntil === null)) {
      sendTogether(draft, rows, ids)
    }
  }
}

/** One input that carries the answers of the rows. */
export function sendTogether(draft: SessionDraft, rows: readonly QuestionRow[], ids: Ids): void {
  if (rows.length === 0) return
  const id = InputId.parse(ids.uuid())
  draft.queue({
    id,
    sessionId: draft.session.id,
    inputKind: 'answer',
    text: rows.map((row) => answerText(row)).join('\n\n'),
    author: rows.every(({ answer }) => answer?.author === 'planner') ? 'planner' : 'person',
  })
  for (const row of rows) draft.question({ ...row, inputId: id })
}

/** What can still be taken back brings no session back that a person stopped meanwhile. */
export function holdForStopped(draft: SessionDraft): void {
  for (const row of draft.questions) {
    if (row.held?.resume !== true) continue
    draft.question({ ...row, held: { ...row.held, resume: false } })
  }
}

/** Nobody needs to answer these any more, and no answer reaches the session. */
export function withdrawQuestions(
  draft: SessionDraft,
  questions: readonly QuestionRow[],
  reason: string,
): void {
  for (const row of questions) {
    draft.question({ ...row, state: 'withdrawn', withdrawn: reason, undoUntil: null, held: null })
    draft.event({ kind: 'question.withdrawn', question: row.id, key: row.key, reason })
    draft.domain({ kind: 'question.withdrawn', subject: row.id, data: { reason } })
  }
}

/** A session that waits says for which answers, unless it has more to say. */
export function sayWhatIsAsked(draft: SessionDraft): void {
  const { state, reason } = draft.session
  const isOurs = reason === '' || reason.startsWith(ASKS) || reason.startsWith(TRIES)
  if (state !== 'waiting' || !isOurs) return
  const open = draft.openQuestions
  const ofPerson = open.filter(({ heldBy }) => heldBy === 'person')
  const named = ofPerson.length === 0 ? open : ofPerson
  const more = named.length > NAMED ? ` and ${named.length - NAMED} more` : ''
  const keys = named.slice(0, NAMED).map(({ key }) => key)
  const asks = ofPerson.length > 0
  const next = open.length === 0 ? '' : `${asks ? ASKS : TRIES}${keys.join(', ')}${more}`
  if (next === reason) return
  draft.set({ reason: next, hint: asks ? 'Answer in the inbox, or send a message.' : '' })
}
