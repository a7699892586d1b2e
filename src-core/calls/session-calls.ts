import { Session } from '../../src-shared/records.ts'
import { accept } from '../../src-shared/refusal.ts'
import { receiptOf } from '../commit/committer.ts'
import type { Calls } from '../core.ts'
import { finish } from '../decide/finishing.ts'
import { checkImages } from '../decide/images.ts'
import { interrupt, send, stop } from '../decide/session-commands.ts'
import { viewInput } from '../project/views.ts'
import type { StoredRow } from '../storage/rows.ts'
import { type CallContext, orGone, sessionAnswer } from './context.ts'
import { continueCall } from './continue-call.ts'
import { movingCalls } from './moving-calls.ts'
import { parkingCalls } from './parking-calls.ts'
import { resolveProject, resolveSession, resolveTicket } from './resolve.ts'
import { type DecideSession, factsOf, sessionCommand } from './session-command.ts'

export function sessionCalls(context: CallContext): Calls['sessions'] {
  const { committer, joins, ports } = context

  const command = (call: string, decide: DecideSession): Calls['sessions']['stop'] => {
    return ({ ref, commandId }) =>
      sessionCommand(context, ref, decide, receiptOf(call, commandId, Session))
  }

  return {
    list: async ({ project: projectRef, ticket: ticketRef, state }) => {
      const { cache } = committer
      const project = projectRef === undefined ? null : await resolveProject(cache, projectRef)
      if (project !== null && !project.ok) return project
      const ticket = ticketRef === undefined ? null : await resolveTicket(cache, ticketRef)
      if (ticket !== null && !ticket.ok) return ticket
      const rows = await cache.rows({
        table: 'session',
        where: {
          ...(project === null ? {} : { projectId: project.value.id }),
          ...(ticket === null ? {} : { ticketId: ticket.value.id }),
          ...(state === undefined ? {} : { state }),
        },
      })
      const views = await Promise.all(rows.map((row) => joins.session(row)))
      return accept(views.filter((view) => view !== undefined))
    },

    show: async ({ ref }) => {
      const found = await resolveSession(committer.cache, ref)
      if (!found.ok) return found
      return orGone('session', await joins.session(found.value))
    },

    send: async ({ ref, images: given = [], ...message }) => {
      const images = checkImages(given)
      if (!images.ok) return images
      const sent = await committer.transact(async (read, now) => {
        const existing =
          message.input === undefined ? undefined : await read.row('input', message.input)
        const facts = await factsOf(context, read, ref)
        if (!facts.ok) return facts
        const { runtime, continueWith } = facts.value.session
        const capabilities = context.fleet.capabilities(continueWith?.runtime ?? runtime)
        const decision = send(
          {
            ...{ facts: facts.value, existing, capabilities },
            agents: ports.settings.current.acpAgents,
          },
          { ...message, images: images.value },
          now,
          ports.ids,
        )
        if (!decision.ok) return decision
        const { draft: _, ...answer } = decision.value.answer
        return accept({ change: decision.value.change, answer })
      })
      if (!sent.ok) return sent
      const { input, ...more } = sent.value
      const row = await committer.cache.row('input', input)
      return orGone('input', row && { ...viewInput(row), ...more })
    },

    interrupt: ({ ref, commandId, ...message }) =>
      committer.transact<Session>(
        async (read, now) => {
          const existing =
            message.input === undefined ? undefined : await read.row('input', message.input)
          const facts = await factsOf(context, read, ref)
          if (!facts.ok) return facts
          const decision = interrupt({ facts: facts.value, existing }, message, now, ports.ids)
          if (!decision.ok) return decision
          return sessionAnswer(context, decision.value.answer, decision.value.change)
        },
        receiptOf('sessions.interrupt', commandId, Session),
      ),

    stop: command('sessions.stop', stop),

    finish: command('sessions.finish', finish),

    continueWith: continueCall(context),

    ...parkingCalls(context),
    ...movingCalls(context),

    inputs: async ({ ref, state }) => {
      const found = await resolveSession(committer.cache, ref)
      if (!found.ok) return found
      const rows: StoredRow<'input'>[] = await committer.cache.rows({
        table: 'input',
        where: { sessionId: found.value.id, ...(state === undefined ? {} : { state }) },
      })
      return accept(rows.sort((a, b) => a.position - b.position).map((row) => viewInput(row)))
    },
  }
}
