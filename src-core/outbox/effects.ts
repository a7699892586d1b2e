import { rm } from 'node:fs/promises'
import { isAbsolute, relative } from 'node:path'
import { z } from 'zod'
import { CommandId, ProjectId, SessionId, TicketId } from '../../src-shared/ids.ts'
import { Ticket } from '../../src-shared/records.ts'
import { accept, BalletError, type Result, refuse } from '../../src-shared/refusal.ts'
import { type Committer, receiptOf } from '../commit/committer.ts'
import { changeOf, KEPT_REMOVE, MIRROR_REMOVE, TICKET_DELETE } from '../decide/change.ts'
import { checkTicketDeletion, deleteTicket } from '../decide/tickets.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { REAP_PROBE_MS, REMOVE_PROBE_MS } from '../limits.ts'
import type { CorePorts } from '../ports.ts'
import type { ViewJoins } from '../project/view-joins.ts'
import type { Reaping } from '../sessions/reaping.ts'
import type { OutboxEntry } from '../storage/port.ts'
import type { SessionRow } from '../storage/rows.ts'
import type { Effect } from './outbox.ts'

export type EffectParts = {
  ports: CorePorts
  committer: Committer
  fleet: Fleet
  reaping: Reaping
  joins: ViewJoins
}

export function createEffects(parts: EffectParts): Readonly<Record<string, Effect>> {
  return {
    [TICKET_DELETE]: (entry) => removeTicket(parts, entry),
    [MIRROR_REMOVE]: (entry) => removeMirror(parts, entry),
    [KEPT_REMOVE]: (entry) => removeKept(parts, entry),
  }
}

/** Ends what still runs of the ticket's sessions, removes their workspaces, then the rows. */
async function removeTicket(parts: EffectParts, entry: OutboxEntry): Promise<Result<Ticket>> {
  const { storage } = parts.ports
  const id = TicketId.parse(entry.data.ticket)
  const sessions = await storage.rows({ table: 'session', where: { ticketId: id } })
  for (const session of sessions) {
    const emptied = await removeWorkspace(parts, session)
    if (!emptied.ok) return giveUp(parts, entry, emptied)
  }
  const ended = await endPlanner(parts, id)
  if (!ended.ok) return giveUp(parts, entry, ended)
  const { command } = entry.data
  const removed = await parts.committer.transact<Ticket>(
    async (read) => {
      const ticket = await read.row('ticket', id)
      if (ticket === undefined) {
        return refuse('ticket.not-found', `The ticket ${id} is gone already.`)
      }
      const decision = deleteTicket(
        {
          ticket,
          sessions: await read.rows({ table: 'session', where: { ticketId: id } }),
          openInputs: await read.rows({
            table: 'input',
            where: {
              sessionId: sessions.map((session) => session.id),
              state: ['queued', 'sent', 'unknown'],
            },
          }),
          openRequests: await read.rows({
            table: 'request',
            where: { sessionId: sessions.map((session) => session.id), state: 'open' },
          }),
          openQuestions: await read.rows({
            table: 'question',
            where: { ticketId: ticket.id, state: ['open', 'answered'], inputId: null },
          }),
          openAssumptions: await read.rows({
            table: 'assumption',
            where: { ticketId: ticket.id, state: 'open' },
          }),
        },
        entry.id,
      )
      if (!decision.ok) return decision
      const answer = parts.joins.ticket(ticket)
      if (answer === undefined) return refuse('project.not-found', 'The project is gone already.')
      // The answer outlives the ticket, for who asks again; its text does not.
      return accept({ change: decision.value.change, answer: { ...answer, body: '' } })
    },
    command === undefined
      ? undefined
      : receiptOf('tickets.delete', CommandId.parse(command), Ticket),
  )
  return removed.ok ? removed : giveUp(parts, entry, removed)
}

/** Ends what the planner still runs for the ticket; with its questions goes what knows of it. */
async function endPlanner(
  { ports, fleet }: EffectParts,
  ticketId: TicketId,
): Promise<Result<unknown>> {
  const rows = await ports.storage.rows({
    table: 'question',
    where: { ticketId, planner: ['runs', 'left'] },
  })
  if (rows.length === 0) return accept(undefined)
  const markers = rows.map(({ sessionId, nonce }) => ({ session: sessionId, nonce }))
  return fleet.ask({ kind: 'reap', markers }, REAP_PROBE_MS)
}

async function removeWorkspace(
  { ports, committer, fleet, reaping }: EffectParts,
  session: SessionRow,
): Promise<Result<undefined>> {
  const live = checkTicketDeletion({
    ticket: await ticketOf(ports, session),
    sessions: [session],
  })
  if (!live.ok) return live
  const leases = await ports.storage.rows({
    table: 'lease',
    where: { sessionId: session.id, reaped: false },
  })
  if (!(await reaping.reap(leases))) {
    return refuse(
      'session.not-reaped',
      'Processes of the ticket’s session may still run.',
      'Try again; what is wrong tells: ballet doctor',
    )
  }
  if (session.workspace === null) return accept(undefined)
  const project = await ports.storage.row('project', session.projectId)
  if (project === undefined) return refuse('project.not-found', 'The project is gone already.')
  const found = await fleet.ask(
    {
      kind: 'workspace.remove',
      workspaceDir: session.workspace,
      repo: project.repo,
      branch: session.branch,
      pushedCommit: session.pushedCommit,
      env: { ...project.env },
      force: false,
    },
    REMOVE_PROBE_MS,
  )
  if (!found.ok) return found
  await committer.transact(async (read) => {
    const row = await read.row('session', session.id)
    if (row === undefined) return accept({ change: null, answer: null })
    return accept({
      change: changeOf({ puts: [{ table: 'session', row: { ...row, workspace: null } }] }),
      answer: null,
    })
  })
  return accept(undefined)
}

async function ticketOf({ storage }: CorePorts, session: SessionRow) {
  const ticket = await storage.row('ticket', session.ticketId)
  if (ticket !== undefined) return ticket
  throw new BalletError({
    code: 'ticket.not-found',
    message: `The ticket of the session ${session.id} is gone.`,
  })
}

/** The ticket stays; the person who asked is told why. */
async function giveUp(
  { committer }: EffectParts,
  entry: OutboxEntry,
  refused: { ok: false; refusal: { code: string; message: string; hint?: string | undefined } },
): Promise<Result<never>> {
  await committer.transact(async () =>
    accept({ change: changeOf({ outboxDone: [entry.id] }), answer: null }),
  )
  return refused
}

/** The bare mirror of a project that is gone. */
async function removeMirror(
  { ports, committer }: EffectParts,
  entry: OutboxEntry,
): Promise<Result<undefined>> {
  const folder = ports.paths.mirror(ProjectId.parse(entry.data.project))
  const inside = relative(ports.paths.dataDir, folder)
  if (inside === '' || inside.startsWith('..') || isAbsolute(inside)) {
    throw new BalletError({
      code: 'mirror.outside',
      message: `The mirror ${folder} does not lie in the data folder ${ports.paths.dataDir}.`,
    })
  }
  await rm(folder, { recursive: true, force: true })
  await committer.transact(async () =>
    accept({ change: changeOf({ outboxDone: [entry.id] }), answer: null }),
  )
  return accept(undefined)
}

const KeptNames = z.array(z.string()).nullable()

/** Kept files that nobody needs any more; what the session's row names by now stays. */
async function removeKept(
  { ports, committer }: EffectParts,
  entry: OutboxEntry,
): Promise<Result<undefined>> {
  const session = SessionId.parse(entry.data.session)
  const names = KeptNames.parse(entry.data.names)
  const row = await ports.storage.row('session', session)
  const files = row?.parked?.work.files ?? []
  if (names !== null || files.length === 0) {
    const needed = new Set(files.map(({ name }) => name))
    await ports.kept.remove(session, names?.filter((name) => !needed.has(name)) ?? null)
  }
  await committer.transact(async () =>
    accept({ change: changeOf({ outboxDone: [entry.id] }), answer: null }),
  )
  return accept(undefined)
}
