import { CommandId, type SessionId, TicketId } from '../../src-shared/ids.ts'
import { DeletedTicket, DeletionReport } from '../../src-shared/moving.ts'
import { accept, BalletError, type Refusal, type Result, refuse } from '../../src-shared/refusal.ts'
import type { RuntimeName } from '../../src-shared/runtimes.ts'
import { someOf } from '../../src-shared/some-of.ts'
import { receiptOf } from '../commit/committer.ts'
import { changeOf } from '../decide/change.ts'
import { withConversation } from '../decide/continue-with.ts'
import { usableFiles } from '../decide/damaged-files.ts'
import { isKeptOnly } from '../decide/kept-work.ts'
import { checkUnheld, deleteTicket } from '../decide/tickets.ts'
import { PUSH_PROBE_MS, REAP_PROBE_MS, REMOVE_PROBE_MS } from '../limits.ts'
import type { CorePorts } from '../ports.ts'
import { pushMarker, unheldMarkers } from '../sessions/unheld-markers.ts'
import type { OutboxEntry } from '../storage/port.ts'
import type { ProjectRow, SessionRow, StoredRow } from '../storage/rows.ts'
import type { EffectParts } from './effects.ts'

/** What the person wants gone besides the rows; an entry of an earlier version says nothing of it. */
type Wanted = { remoteBranch: boolean; force: boolean }

/**
 * These say nothing against a deletion: nobody answered, as at the end of a host, or an agent is not done yet. An agent's
 * own time limit is an answer: the next try would meet it too, and a person may want to go on by force.
 */
const PASSING: ReadonlySet<string> = new Set(['fleet.offline', 'probe.timeout', 'session.held'])

/**
 * Ends what still runs of the ticket's sessions, removes their workspaces, then the rows. Rejects where only nobody
 * answered: what is removed by then does not come back, so it is tried again until it is done or refused.
 */
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
  // Everything that may be refused comes before anything that is removed.
  const may = await checkWork(parts, sessions, wanted)
  if (!may.ok) return giveUp(parts, entry, may)
  const progress = await progressOf(parts, entry, sessions)
  const { report } = progress
  const ended = await endGitAndPlanner(parts, id, sessions)
  if (!ended.ok) return giveUp(parts, entry, ended)
  for (const session of sessions) {
    const emptied = await removeWorkspace(parts, session.id, wanted.force, progress)
    if (!emptied.ok) return giveUp(parts, entry, emptied)
  }
  if (wanted.remoteBranch) {
    const branch = await removeBranch(parts, sessions, { look: false, force: wanted.force })
    if (!branch.ok) return giveUp(parts, entry, branch)
    if (report.remoteBranch !== 'removed') report.remoteBranch = branch.value
    await remember(parts, progress)
  }
  const states = await removeStates(parts, sessions, progress)
  if (!states.ok) return giveUp(parts, entry, states)
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

/** What is removed by now, kept with the entry, so that an attempt after this one goes on counting. */
type Progress = {
  report: DeletionReport
  /** Another attempt was made before this one. */
  isAgain: boolean
  entry: OutboxEntry
}

async function progressOf(
  parts: EffectParts,
  entry: OutboxEntry,
  sessions: readonly StoredRow<'session'>[],
): Promise<Progress> {
  const pending = await parts.ports.storage.pendingOutbox()
  const data = pending.find(({ id }) => id === entry.id)?.data ?? entry.data
  const earlier = DeletionReport.safeParse(data.removed)
  if (earlier.success) return { report: earlier.data, isAgain: true, entry }
  const progress = { report: reportOf(sessions), isAgain: false, entry }
  await remember(parts, progress)
  return progress
}

async function remember({ committer }: EffectParts, progress: Progress): Promise<void> {
  await committer.transact(async () =>
    accept({ change: changeOf({ outbox: [entryWith(progress)] }), answer: null }),
  )
}

const entryWith = ({ entry, report }: Progress): OutboxEntry => ({
  ...entry,
  data: { ...entry.data, removed: { ...report } },
})

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
  for (const { branch, parked, state } of sessions) {
    if (state === 'moved' || parked === null || !isKeptOnly({ parked })) continue
    const { commit, pushed, aside } = parked.work
    const files = usableFiles(parked)
    const force = `type the name of the branch to remove the work too: --force-branch ${branch}`
    if (commit !== null && !pushed) {
      return refuse(
        'ticket.not-pushed',
        `The work of the ticket is kept here and nowhere else: its branch ${branch} is not pushed yet.`,
        `Wait until it is pushed, or ${force}`,
      )
    }
    if (files.some(({ kind }) => kind === 'archive' || kind === 'refs')) {
      return refuse(
        'ticket.not-pushed',
        `The branch ${branch} cannot hold all of the ticket's work: other branches, stashes or the whole workspace are kept here and nowhere else.`,
        `Resume the session and finish it, or ${force}`,
      )
    }
    if (files.some(({ kind }) => kind === 'aside')) {
      const names = someOf(aside.map(({ name }) => name))
      return refuse(
        'ticket.not-pushed',
        `Files of the ticket's work that are not for the remote are kept here and nowhere else: ${names}.`,
        `Resume the session to take them out of its workspace, or ${force}`,
      )
    }
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
  const found = await fleet.ask(
    {
      kind: 'branch.remove',
      ...{ repo, branch: session.branch, env: { ...env }, ...how },
      mirrorDir: ports.paths.mirror(project.id),
      marker: pushMarker(session.id),
    },
    PUSH_PROBE_MS,
  )
  return found.ok ? accept(found.value.commit === null ? 'none' : 'removed') : found
}

/** What runtimes keep of the conversations, as far as they ran in this data folder. */
async function removeStates(
  parts: EffectParts,
  sessions: readonly SessionRow[],
  progress: Progress,
): Promise<Result<unknown>> {
  const { ports, fleet } = parts
  for (const session of sessions) {
    const project: ProjectRow | undefined = await ports.storage.row('project', session.projectId)
    const env = { ...project?.env }
    for (const [runtime, conversations] of conversationsOf(session)) {
      const found = await fleet.ask(
        {
          ...{ kind: 'state.remove', runtime, conversations, env },
          runtimePath: ports.settings.current.runtimePaths[runtime] ?? null,
          marker: pushMarker(session.id),
        },
        REMOVE_PROBE_MS,
      )
      if (!found.ok) return found
      progress.report.runtimeFiles += found.value.files
      await remember(parts, progress)
    }
  }
  return accept(undefined)
}

/** All that it ever had, by the runtime that keeps them. */
function conversationsOf(session: SessionRow): Map<RuntimeName, string[]> {
  const all = new Map<RuntimeName, string[]>()
  for (const { runtime, conversation } of withConversation(session)) {
    all.set(runtime, [...(all.get(runtime) ?? []), conversation])
  }
  return all
}

/**
 * Ends what the planner still runs for the ticket, and Ballet's own git that an agent left: with the rows goes what
 * knows of it.
 */
async function endGitAndPlanner(
  { ports, fleet }: EffectParts,
  ticketId: TicketId,
  sessions: readonly SessionRow[],
): Promise<Result<unknown>> {
  const rows = await ports.storage.rows({
    table: 'question',
    where: { ticketId, planner: ['runs', 'left'] },
  })
  const planned = rows.map(({ sessionId, nonce }) => ({ session: sessionId, nonce }))
  const markers = [...planned, ...sessions.flatMap(({ id }) => unheldMarkers(id))]
  if (markers.length === 0) return accept(undefined)
  return fleet.ask({ kind: 'reap', markers }, REAP_PROBE_MS)
}

async function removeWorkspace(
  { ports, committer, fleet, reaping }: EffectParts,
  id: SessionId,
  force: boolean,
  progress: Progress,
): Promise<Result<unknown>> {
  // What was asked of agents before may have taken minutes.
  const session = await ports.storage.row('session', id)
  if (session === undefined) return accept(undefined)
  const unheld = checkUnheld({ ticket: await ticketOf(ports, session), sessions: [session] })
  if (!unheld.ok) return unheld
  const leases = await ports.storage.rows({
    table: 'lease',
    where: { sessionId: session.id, reaped: false },
  })
  const reaped = await reaping.attempt(leases.filter(({ endedAt }) => endedAt !== null))
  if (!reaped.ok) {
    if (PASSING.has(reaped.refusal.code)) return reaped
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
      marker: pushMarker(session.id),
      force,
    },
    REMOVE_PROBE_MS,
  )
  if (!found.ok) return found
  // What is not there any more went with the attempt before.
  if (found.value.removed || progress.isAgain) progress.report.workspaces += 1
  await committer.transact(async (read) => {
    const row = await read.row('session', session.id)
    if (row === undefined) return accept({ change: null, answer: null })
    const puts = [{ table: 'session' as const, row: { ...row, workspace: null } }]
    return accept({ change: changeOf({ puts, outbox: [entryWith(progress)] }), answer: null })
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

/** The ticket stays; the person who asked is told why. Rejects where that may pass by itself. */
async function giveUp(
  { committer }: EffectParts,
  entry: OutboxEntry,
  refused: { ok: false; refusal: Refusal },
): Promise<Result<never>> {
  if (PASSING.has(refused.refusal.code)) throw new BalletError(refused.refusal)
  await committer.transact(async () =>
    accept({ change: changeOf({ outboxDone: [entry.id] }), answer: null }),
  )
  return refused
}
