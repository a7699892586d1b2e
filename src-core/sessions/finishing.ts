import { type ProbeFinding, WORKSPACE_GONE } from '../../src-shared/agent-wire.ts'
import type { Instant } from '../../src-shared/ids.ts'
import { accept, BalletError, type Result, refuse } from '../../src-shared/refusal.ts'
import type { Committed, Committer } from '../commit/committer.ts'
import { isPartlyKept, leftOutFiles, storeDamage, usableFiles } from '../decide/damaged-files.ts'
import { close, commitMessage, isFinishedUnheld, refuseFinish } from '../decide/finishing.ts'
import { isKeptOnly, storeFinished } from '../decide/kept-work.ts'
import { removeOthers, storePushed } from '../decide/parking.ts'
import { SessionDraft, type SessionFacts } from '../decide/session-draft.ts'
import { Backoff } from '../fleet/backoff.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { PUSH_PROBE_MS, REMOVE_PROBE_MS, RETRY_MAX_MS, RETRY_MS } from '../limits.ts'
import type { CorePorts } from '../ports.ts'
import type { KeptWork, ProjectRow, SessionRow } from '../storage/rows.ts'
import type { Reaping } from './reaping.ts'
import { loadFacts } from './session-facts.ts'
import { pushMarker } from './unheld-markers.ts'

type Parts = {
  committer: Committer
  fleet: Fleet
  reaping: Reaping
  /** Resolves when nothing else is done with what is kept of the session. */
  idle(session: string): Promise<void>
}
type Ports = Pick<CorePorts, 'clock' | 'log' | 'storage' | 'paths' | 'key'>
type Pushed = Pick<Extract<ProbeFinding, { kind: 'workspace.push' }>, 'commit' | 'notices'>

/**
 * Finishes the sessions that no agent holds, from their workspaces, or from what is kept of parked ones, beside what the
 * agents do and without any runtime. The rows say what is left to do, and each step may be done again: after a death of the agent by another
 * one, after a death of the host by the next.
 */
export class Finishing {
  readonly #ports: Ports
  readonly #parts: Parts
  readonly #running = new Set<string>()
  #stopped = false

  constructor(ports: Ports, parts: Parts) {
    this.#ports = ports
    this.#parts = parts
  }

  /** Goes on with what an earlier start of the host left. */
  async begin(): Promise<void> {
    const rows = await this.#ports.storage.rows({ table: 'session', where: { pending: 'finish' } })
    for (const row of rows) this.#see(row)
  }

  committed({ rows }: Committed): void {
    for (const each of rows) if (each.table === 'session') this.#see(each.row)
  }

  stop(): void {
    this.#stopped = true
  }

  #see(row: SessionRow): void {
    if (this.#stopped || !isFinishedUnheld(row) || this.#running.has(row.id)) return
    this.#running.add(row.id)
    void this.#carryOut(row.id).then(async () => {
      this.#running.delete(row.id)
      // It may have been asked for again since it was refused.
      const now = await this.#parts.committer.cache.row('session', row.id).catch(() => undefined)
      if (now !== undefined) this.#see(now)
    })
  }

  /** Until it is done or refused; what cannot be stored is tried again. Never rejects. */
  async #carryOut(id: string): Promise<void> {
    const { log, clock } = this.#ports
    const backoff = new Backoff(RETRY_MS, RETRY_MAX_MS)
    while (!this.#stopped) {
      try {
        const done = await this.#finish(id)
        if (!done.ok && !this.#stopped) {
          log.warn('a session could not be finished', { session: id, ...done.refusal })
          await this.#change(id, (draft) => {
            storeDamage(draft, done.refusal)
            refuseFinish(draft, done.refusal)
          })
        }
        return
      } catch (error) {
        const retryMs = backoff.next()
        log.error('that a session is finished could not be stored', { session: id, error, retryMs })
        await new Promise<void>((resolve) => {
          clock.after(retryMs, resolve)
        })
      }
    }
  }

  async #finish(id: string): Promise<Result<unknown>> {
    const { storage } = this.#ports
    const { fleet, reaping, idle } = this.#parts
    await idle(id)
    const facts = await this.#factsOf(id)
    if (facts === undefined) return accept(undefined)
    const { session, ticket } = facts
    const project = await storage.row('project', session.projectId)
    if (project === undefined) return refuse('project.not-found', 'The project is gone already.')
    // Nothing may be writing to the workspace any more.
    const leases = await storage.rows({
      table: 'lease',
      where: { sessionId: session.id, reaped: false },
    })
    if (!(await reaping.reap(leases.filter(({ endedAt }) => endedAt !== null)))) {
      return refuse(
        'session.not-reaped',
        `Processes of the session of ${ticket.key} may still run.`,
        'Try again; what is wrong tells: ballet doctor',
      )
    }
    if (session.workspace === null && !isKeptOnly(session)) return this.#change(id, close)
    const pushed = await this.#push({ ...facts, project })
    if (!pushed.ok) return pushed
    // Only when the push is on record may the clone that could prove it go.
    const commit = pushed.value.commit ?? session.pushedCommit
    await this.#change(id, (draft) => {
      for (const notice of pushed.value.notices) draft.event({ kind: 'notice', ...notice })
      if (commit !== draft.session.pushedCommit) {
        draft.set({ pushedCommit: commit })
        storePushed(draft)
      }
      storeFinished(draft)
    })
    const { workspace: workspaceDir, branch } = session
    if (workspaceDir === null) return this.#change(id, close)
    const removed = await fleet.ask(
      {
        kind: 'workspace.remove',
        ...{ repo: project.repo, branch, workspaceDir, env: { ...project.env } },
        ...{ pushedCommit: commit, marker: pushMarker(session.id) },
        // All that a parked one has there is kept, and pushed by now.
        force: isKeptOnly(session),
      },
      REMOVE_PROBE_MS,
    )
    if (!removed.ok) return removed
    return this.#change(id, close)
  }

  /** Out of its workspace, or of what is kept of it. */
  async #push({
    session,
    ticket,
    project,
    ...facts
  }: SessionFacts & { project: ProjectRow }): Promise<Result<Pushed>> {
    const { paths } = this.#ports
    const { branch, pushedCommit, parked, id } = session
    const env = { ...project.env }
    const plan = {
      session: id,
      ticket: ticket.key,
      baseBranch: project.branch,
      mirrorDir: paths.mirror(project.id),
      workspaceDir: session.workspace ?? paths.workspace(ticket.key, id),
      message: commitMessage({ ...facts, ticket }),
      marker: pushMarker(id),
      ...{ repo: project.repo, branch, pushedCommit },
    }
    const { fleet } = this.#parts
    if (!isKeptOnly(session)) {
      const pushed = await fleet.ask({ kind: 'workspace.push', ...plan, env }, PUSH_PROBE_MS)
      const isGone = pushed.ok && pushed.value.gone === true
      if (!isGone || parked === null || parked.work.snapshot === null) return pushed
      // A finish that was cut removed it, with all of it on the remote.
      if (parked.finished === true) return pushed
    }
    if (parked === null) return accept({ commit: null, notices: [] })
    const key = await this.#key()
    if (!key.ok) return key
    const dated = { env: { ...env, ...datesOf(parked.at) } }
    const behind = parked.hasPushed === true ? { behind: true as const } : {}
    const partial = isPartlyKept(parked) ? { partial: true as const } : {}
    const since = { ...behind, ...partial }
    const place = { ...plan, ...dated, ...since, keptDir: paths.kept(id), key: key.value }
    let work = { ...parked.work, files: usableFiles(parked) }
    const keep = parked.work.files.map(({ name }) => name)
    const kept = await fleet.ask({ kind: 'park.keep', ...place, work, keep }, PUSH_PROBE_MS)
    if (!kept.ok) return kept
    const { replaced } = kept.value
    if (replaced !== null) {
      work = replaced
      await this.#change(id, (draft) => storeReplaced(draft, replaced))
    }
    const asked = { kind: 'park.finish' as const, ...place, work }
    const pushed = await fleet.ask(asked, PUSH_PROBE_MS)
    if (!pushed.ok || isKeptOnly(session)) return pushed
    const { commit, notices } = pushed.value
    return accept({ commit, notices: [finishedFromKept(plan.workspaceDir), ...notices] })
  }

  async #key(): Promise<Result<string>> {
    try {
      return accept(await this.#ports.key())
    } catch (error) {
      if (error instanceof BalletError) return { ok: false, refusal: error.toRefusal() }
      throw error
    }
  }

  async #factsOf(id: string): Promise<SessionFacts | undefined> {
    const facts = await loadFacts(this.#parts.committer.cache, id)
    return facts !== undefined && isFinishedUnheld(facts.session) ? facts : undefined
  }

  /** Of a session that is still to be finished; nothing otherwise. Rejects when it cannot be stored. */
  async #change(id: string, change: (draft: SessionDraft) => void): Promise<Result<null>> {
    const changed = await this.#parts.committer.transact(async (read, now) => {
      const facts = await loadFacts(read, id)
      if (facts === undefined || !isFinishedUnheld(facts.session)) {
        return accept({ change: null, answer: null })
      }
      const draft = new SessionDraft(facts, now)
      change(draft)
      return accept({ change: draft.change(), answer: null })
    })
    if (!changed.ok) throw new BalletError(changed.refusal)
    return changed
  }
}

/** So that the commit is the same one each time it is made, also where nobody knows whether it was pushed. */
function datesOf(at: Instant): Record<string, string> {
  return { GIT_AUTHOR_DATE: at, GIT_COMMITTER_DATE: at }
}

/** Until the finish is on record, nobody knows which of the two the remote has. */
function storeReplaced(draft: SessionDraft, replaced: KeptWork['work']): void {
  const { parked } = draft.session
  if (parked === null) return
  const files = [...leftOutFiles(parked), ...replaced.files]
  removeOthers(draft, parked, files)
  draft.set({ parked: { ...parked, work: { ...replaced, files } } })
}

function finishedFromKept(workspace: string): Pushed['notices'][number] {
  const text = `The workspace ${workspace} was not there any more. The work is finished out of what was kept and pushed of it; what was done in the workspace after that is lost.`
  return { level: 'warning', code: WORKSPACE_GONE, text }
}
