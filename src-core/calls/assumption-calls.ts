import { Assumption } from '../../src-shared/questions.ts'
import { Ticket } from '../../src-shared/records.ts'
import { accept, type Result } from '../../src-shared/refusal.ts'
import { type Reader, receiptOf } from '../commit/committer.ts'
import type { Calls } from '../core.ts'
import {
  type AssumptionState,
  confirmAssumption,
  overturnAssumption,
} from '../decide/assumptions.ts'
import { loadFacts } from '../sessions/session-facts.ts'
import { type CallContext, checkNotDeleting, gone, orGone } from './context.ts'
import { resolveAssumption, resolveSession, resolveTicket } from './resolve.ts'

/** The overturned one, and the ticket that was made for the correction. */
const Overturned = Assumption.extend({ newTicket: Ticket.nullable() })

export function assumptionCalls(context: CallContext): Calls['assumptions'] {
  const { committer, joins, ports } = context
  return {
    list: async ({ session: sessionRef, ticket: ticketRef, state }) => {
      const { cache } = committer
      const session = sessionRef === undefined ? null : await resolveSession(cache, sessionRef)
      if (session !== null && !session.ok) return session
      const ticket = ticketRef === undefined ? null : await resolveTicket(cache, ticketRef)
      if (ticket !== null && !ticket.ok) return ticket
      const rows = await cache.rows({
        table: 'assumption',
        where: {
          ...(session === null ? {} : { sessionId: session.value.id }),
          ...(ticket === null ? {} : { ticketId: ticket.value.id }),
          ...(state === undefined ? {} : { state }),
        },
      })
      const views = await Promise.all(rows.map((row) => joins.assumption(row)))
      return accept(views.filter((view) => view !== undefined))
    },

    confirm: ({ ref, commandId }) =>
      committer.transact(
        async (read, now) => {
          const state = await stateOf(context, read, ref)
          if (!state.ok) return state
          const decision = confirmAssumption(state.value, now)
          if (!decision.ok) return decision
          const { assumption, draft } = decision.value.answer
          const view = orGone('assumption', joins.assumptionOf(assumption, draft.ticket))
          return view.ok ? accept({ change: decision.value.change, answer: view.value }) : view
        },
        receiptOf('assumptions.confirm', commandId, Assumption),
      ),

    overturn: ({ ref, commandId, ...correction }) =>
      committer.transact(
        async (read, now) => {
          const state = await stateOf(context, read, ref)
          if (!state.ok) return state
          const project = await read.row('project', state.value.assumption.projectId)
          if (project === undefined) return gone('project')
          const decision = overturnAssumption(
            { ...state.value, project },
            correction,
            now,
            ports.ids,
          )
          if (!decision.ok) return decision
          const { assumption, draft, ticket } = decision.value.answer
          const view = orGone('assumption', joins.assumptionOf(assumption, draft.ticket))
          if (!view.ok) return view
          const newTicket = ticket === null ? null : (joins.ticket(ticket) ?? null)
          return accept({ change: decision.value.change, answer: { ...view.value, newTicket } })
        },
        receiptOf('assumptions.overturn', commandId, Overturned),
      ),
  }
}

async function stateOf(
  context: CallContext,
  read: Reader,
  ref: string,
): Promise<Result<AssumptionState>> {
  const found = await resolveAssumption(read, ref)
  if (!found.ok) return found
  const facts = orGone('session', await loadFacts(read, found.value.sessionId))
  if (!facts.ok) return facts
  const free = checkNotDeleting(context, facts.value.ticket)
  return free.ok ? accept({ facts: facts.value, assumption: found.value }) : free
}
