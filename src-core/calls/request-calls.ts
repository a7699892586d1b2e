import type { CommandId } from '../../src-shared/ids.ts'
import { Request } from '../../src-shared/records.ts'
import { accept, type Result } from '../../src-shared/refusal.ts'
import { type Reader, receiptOf } from '../commit/committer.ts'
import type { Calls } from '../core.ts'
import { type Answer, answerRequest } from '../decide/requests.ts'
import { loadFacts } from '../sessions/session-facts.ts'
import type { StoredRow } from '../storage/rows.ts'
import { type CallContext, checkNotDeleting, orGone } from './context.ts'
import { resolveRequest, resolveSession } from './resolve.ts'

export function requestCalls(context: CallContext): Calls['requests'] {
  const { committer, joins, ports } = context

  const answer = (call: string, ref: string, commandId: CommandId | undefined, given: Answer) =>
    committer.transact<Request>(
      async (read, now) => {
        const found = await resolveRequest(read, ref)
        if (!found.ok) return found
        const facts = await factsOf(context, read, found.value)
        if (!facts.ok) return facts
        const state = { facts: facts.value, request: found.value }
        const decision = answerRequest(state, given, now, ports.ids)
        if (!decision.ok) return decision
        const { request, draft } = decision.value.answer
        const view = orGone('request', joins.requestOf(request, draft.ticket))
        return view.ok ? accept({ change: decision.value.change, answer: view.value }) : view
      },
      receiptOf(call, commandId, Request),
    )

  return {
    list: async ({ session: ref, state }) => {
      const { cache } = committer
      const session = ref === undefined ? undefined : await resolveSession(cache, ref)
      if (session !== undefined && !session.ok) return session
      const rows = await cache.rows({
        table: 'request',
        where: {
          ...(session === undefined ? {} : { sessionId: session.value.id }),
          ...(state === undefined ? {} : { state }),
        },
      })
      const views = await Promise.all(rows.map((row) => joins.request(row)))
      return accept(views.filter((view) => view !== undefined))
    },

    show: async ({ ref }) => {
      const found = await resolveRequest(committer.cache, ref)
      return found.ok ? orGone('request', await joins.request(found.value)) : found
    },

    allow: ({ ref, forSession, commandId }) =>
      answer('requests.allow', ref, commandId, {
        outcome: forSession ? 'allowed-for-session' : 'allowed',
      }),

    deny: ({ ref, text, commandId }) =>
      answer('requests.deny', ref, commandId, { outcome: 'denied', text }),
  }
}

async function factsOf(context: CallContext, read: Reader, request: StoredRow<'request'>) {
  const facts = orGone('session', await loadFacts(read, request.sessionId))
  if (!facts.ok) return facts
  const free: Result<undefined> = checkNotDeleting(context, facts.value.ticket)
  return free.ok ? facts : free
}
