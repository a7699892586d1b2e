import { CommandId, TicketId } from '../../src-shared/ids.ts'
import { DeletedTicket, type DeletionReport } from '../../src-shared/moving.ts'
import { accept, BalletError, type Result, refuse } from '../../src-shared/refusal.ts'
import type { RuntimeName } from '../../src-shared/runtimes.ts'
import { receiptOf } from '../commit/committer.ts'
import { changeOf } from '../decide/change.ts'
import { withConversation } from '../decide/continue-with.ts'
import { isKeptOnly } from '../decide/kept-work.ts'
import { checkTicketDeletion, deleteTicket } from '../decide/tickets.ts'
import { PUSH_PROBE_MS, REAP_PROBE_MS, REMOVE_PROBE_MS } from '../limits.ts'
import type { CorePorts } from '../ports.ts'
import type { OutboxEntry } from '../storage/port.ts'
import type { ProjectRow, SessionRow, StoredRow } from '../storage/rows.ts'
import type { EffectParts } from './effects.ts'

/** What the person wants gone besides the rows; an entry of an earlier version says nothing of it. */
type Wanted = { remoteBranch: boolean; force: boolean }

/** Ends what still runs of the ticket's sessions, removes their workspaces, then the rows. */
export async function removeTicket(
  parts: EffectParts,
  entry: OutboxEntry,
): Promise<Result<DeletedTicket>> {
  const { storage } = parts.ports
  const id = TicketId.parse(entry.data.ticket)
  const wanted = {
    remoteBranch: entry.data.remoteBranch === true,
    force: entry.data.force === true,
  }
  const sessions = await storage.rows({ table: 'session', where: { ticketId: id } })
  const report = reportOf(sessions)
  // Everything that may be refused comes before anything that is removed.
  const may = await checkWork(parts, sessions, wanted)
  if (!may.ok) return giveUp(parts, entry, may)
  for (const session of sessions) {
    const emptied = await removeWorkspace(parts, session, wanted.force)
    if (!emptied.ok) return giveUp(parts, entry, emptied)
    if (emptied.value) report.workspaces += 1
  }
  const ended = await endPlanner(parts, id)
  if (!ended.ok) return giveUp(parts, entry, ended)
  if (wanted.remoteBranch) {
    const branch = await removeBranch(parts, sessions, { look: false, force: wanted.force })
    if (!branch.ok) return giveUp(parts, entry, branch)
    report.remoteBranch = branch.value
  }
  const states = await removeStates(parts, sessions)
  if (!states.ok) return giveUp(parts, entry, states)
  report.runtimeFiles = states.value
  const { command } = entry.data
  const removed = await parts.committer.transact<DeletedTicket>(
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
      return accept({
        change: decision.value.change,
        answer: { ...answer, body: '', removed: report },
      })
    },
    command === undefined
      ? undefined
      : receiptOf('tickets.delete', CommandId.parse(command), DeletedTicket),
  )
  return removed.ok ? removed : giveUp(parts, entry, removed)
}

/** As far as it is known before anything is removed. */
function reportOf(sessions: readonly StoredRow<'session'>[]): DeletionReport {
  const kept = sessions.flatMap(({ parked }) => parked?.work.files ?? [])
  return {
    sessions: sessions.length,
    events: sessions.reduce((sum, { lastSeq }) => sum + lastSeq, 0),
    workspaces: 0,
    keptFiles: kept.length,
    keptBytes: kept.reduce((sum, { bytes }) => sum + bytes, 0),
    runtimeFiles: 0,
    remoteBranch: sessions.some(({ pushedCommit }) => pushedCommit !== null) ? 'left' : 'none',
  }
}

/** Refused where work would be gone that nobody said may go. */
async function checkWork(
  parts: EffectParts,
  sessions: readonly SessionRow[],
  { remoteBranch, force }: Wanted,
): Promise<Result<unknown>> {
  if (force) return accept(undefined)
  const only = sessions.find(
    ({ parked, state }) =>
      state !== 'moved' &&
      parked !== null &&
      isKeptOnly({ parked }) &&
      parked.work.commit !== null &&
      !parked.work.pushed,
  )
  if (only !== undefined) {
    return refuse(
      'ticket.not-pushed',
      `The work of the ticket is kept here and nowhere else: its branch ${only.branch} is not pushed yet.`,
      `Wait until it is pushed, or type the name of the branch to remove the work too: --force-branch ${only.branch}`,
    )
  }
  return remoteBranch ? removeBranch(parts, sessions, { look: true, force }) : accept(undefined)
}

/** All sessions of a ticket have one branch. */
async function removeBranch(
  { ports, fleet }: EffectParts,
  sessions: readonly SessionRow[],
  how: { look: boolean; force: boolean },
): Promise<Result<'removed' | 'none'>> {
  const [session] = sessions
  const project = session && (await ports.storage.row('project', session.projectId))
  if (session === undefined || project === undefined) return accept('none')
  const { repo, env } = project
  const mirrorDir = ports.paths.mirror(project.id)
  const found = await fleet.ask(
    { kind: 'branch.remove', repo, branch: session.branch, mirrorDir, env: { ...env }, ...how },
    PUSH_PROBE_MS,
  )
  return found.ok ? accept(found.value.commit === null ? 'none' : 'removed') : found
}

/** What runtimes keep of the conversations, as far as they ran in this data folder. */
async function removeStates(
  { ports, fleet }: EffectParts,
  sessions: readonly SessionRow[],
): Promise<Result<number>> {
  let files = 0
  for (const session of sessions) {
    const project: ProjectRow | undefined = await ports.storage.row('project', session.projectId)
    const env = { ...project?.env }
    for (const [runtime, conversations] of conversationsOf(session)) {
      const found = await fleet.ask(
        {
          ...{ kind: 'state.remove', runtime, conversations, env },
          runtimePath: ports.settings.current.runtimePaths[runtime] ?? null,
        },
        REMOVE_PROBE_MS,
      )
      if (!found.ok) return found
      files += found.value.files
    }
  }
  return accept(files)
}

/** All that it ever had, by the runtime that keeps them. */
function conversationsOf(session: SessionRow): Map<RuntimeName, string[]> {
  const all = new Map<RuntimeName, string[]>()
  for (const { runtime, conversation } of withConversation(session)) {
    all.set(runtime, [...(all.get(runtime) ?? []), conversation])
  }
  return all
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
  force: boolean,
): Promise<Result<boolean>> {
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
  if (session.workspace === null) return accept(false)
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
      force,
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
  return accept(found.value.removed)
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
