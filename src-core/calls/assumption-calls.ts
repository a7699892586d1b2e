import { accept, refuse } from '../../src-shared/refusal.ts'
import type { Calls } from '../core.ts'
import type { CallContext } from './context.ts'
import { resolveSession, resolveTicket } from './resolve.ts'

const notYet = async () => refuse('assumption.not-yet', 'Assumptions cannot be reviewed yet.')

export function assumptionCalls(context: CallContext): Calls['assumptions'] {
  const { committer, joins } = context
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
    confirm: notYet,
    overturn: notYet,
  }
}
