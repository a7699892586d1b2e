import type { Question } from '../../src-shared/questions.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import type { CallInput, Calls } from '../core.ts'
import type { RowQuery } from '../storage/port.ts'
import { type CallContext, orGone } from './context.ts'
import { resolveProject, resolveQuestion, resolveSession, resolveTicket } from './resolve.ts'

const notYet = async () => refuse('question.not-yet', 'Questions cannot be answered yet.')

export function questionCalls(context: CallContext): Calls['questions'] {
  const { committer, joins } = context
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

    answer: notYet,
    decline: notYet,
    undo: notYet,
    sendNow: notYet,
    overturn: notYet,
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
