import type { CommandId, Instant } from '../../src-shared/ids.ts'
import { Question } from '../../src-shared/questions.ts'
import { accept, type Result } from '../../src-shared/refusal.ts'
import { receiptOf } from '../commit/committer.ts'
import type { CallInput, Calls } from '../core.ts'
import {
  answerQuestion,
  overturnAnswer,
  type QuestionDecision,
  type QuestionState,
  sendAnswersNow,
  undoAnswer,
} from '../decide/question-answers.ts'
import { loadFacts } from '../sessions/session-facts.ts'
import type { RowQuery } from '../storage/port.ts'
import { type CallContext, checkNotDeleting, orGone } from './context.ts'
import { resolveProject, resolveQuestion, resolveSession, resolveTicket } from './resolve.ts'

type Command = { ref: string; commandId?: CommandId | undefined }

export function questionCalls(context: CallContext): Calls['questions'] {
  const { committer, joins, ports } = context

  const command = (
    call: string,
    { ref, commandId }: Command,
    decide: (state: QuestionState, now: Instant) => Result<QuestionDecision>,
  ) =>
    committer.transact<Question>(
      async (read, now) => {
        const found = await resolveQuestion(read, ref)
        if (!found.ok) return found
        const facts = orGone('session', await loadFacts(read, found.value.sessionId))
        if (!facts.ok) return facts
        const free = checkNotDeleting(context, facts.value.ticket)
        if (!free.ok) return free
        const decision = decide({ facts: facts.value, question: found.value }, now)
        if (!decision.ok) return decision
        const { question, draft } = decision.value.answer
        const view = orGone('question', joins.questionOf(question, draft.ticket))
        return view.ok ? accept({ change: decision.value.change, answer: view.value }) : view
      },
      receiptOf(call, commandId, Question),
    )

  return {
    list: async (filter) => {
      const where = await whereOf(context, filter)
      if (!where.ok) return where
      const { search, limit } = filter
      const rows = await committer.cache.rows({
        table: 'question',
        where: where.value,
        ...(search === undefined ? { limit, newest: true } : {}),
      })
      const views = await Promise.all(rows.map((row) => joins.question(row)))
      const found = views.filter((view) => view !== undefined)
      if (search === undefined) return accept(found)
      return accept(found.filter((view) => holds(view, search)).slice(-limit))
    },

    show: async ({ ref }) => {
      const found = await resolveQuestion(committer.cache, ref)
      return found.ok ? orGone('question', await joins.question(found.value)) : found
    },

    answer: ({ ref, commandId, ...given }) =>
      command('questions.answer', { ref, commandId }, (state, now) =>
        answerQuestion(state, { ...given, declined: false }, now, ports.ids),
      ),

    decline: ({ ref, commandId, ...given }) =>
      command('questions.decline', { ref, commandId }, (state, now) =>
        answerQuestion(state, { ...given, declined: true }, now, ports.ids),
      ),

    undo: (rest) => command('questions.undo', rest, undoAnswer),

    sendNow: (rest) =>
      command('questions.sendNow', rest, (state, now) => sendAnswersNow(state, now, ports.ids)),

    overturn: ({ text, ...rest }) =>
      command('questions.overturn', rest, (state, now) =>
        overturnAnswer(state, text, now, ports.ids),
      ),
  }
}

type Filter = CallInput<'questions', 'list'>

async function whereOf(
  { committer: { cache } }: CallContext,
  { session, ticket, project, state }: Filter,
): Promise<Result<NonNullable<RowQuery<'question'>['where']>>> {
  const ofSession = session === undefined ? null : await resolveSession(cache, session)
  if (ofSession !== null && !ofSession.ok) return ofSession
  const ofTicket = ticket === undefined ? null : await resolveTicket(cache, ticket)
  if (ofTicket !== null && !ofTicket.ok) return ofTicket
  const ofProject = project === undefined ? null : await resolveProject(cache, project)
  if (ofProject !== null && !ofProject.ok) return ofProject
  return accept({
    ...(ofSession === null ? {} : { sessionId: ofSession.value.id }),
    ...(ofTicket === null ? {} : { ticketId: ofTicket.value.id }),
    ...(ofProject === null ? {} : { projectId: ofProject.value.id }),
    ...(state === undefined ? {} : { state }),
  })
}

/** Whether every word is in the question, its context, its answer or its key. */
function holds({ key, question, context, answer }: Question, search: string): boolean {
  const text = [key, question, context ?? '', answer?.text ?? ''].join('\n').toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}
