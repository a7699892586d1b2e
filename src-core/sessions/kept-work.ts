import { accept, type Refusal, type Result, refuse } from '../../src-shared/refusal.ts'
import type { Committed, Committer } from '../commit/committer.ts'
import { isKeptOnly, parkedReason } from '../decide/kept-work.ts'
import { SessionDraft } from '../decide/session-draft.ts'
import { Backoff } from '../fleet/backoff.ts'
import type { Fleet } from '../fleet/fleet.ts'
import {
  KEPT_PUSH_ALONE_MS,
  KEPT_PUSH_MAX_MS,
  KEPT_PUSH_MS,
  KEPT_PUSH_RETRY_MAX_MS,
  KEPT_PUSH_RETRY_MS,
  REMOVE_PROBE_MS,
} from '../limits.ts'
import type { CorePorts } from '../ports.ts'
import type { SessionRow } from '../storage/rows.ts'
import type { Reaping } from './reaping.ts'
import { loadFacts } from './session-facts.ts'
import { pushMarker } from './unheld-markers.ts'

type Parts = {
  committer: Committer
  fleet: Fleet
  reaping: Reaping
  /** A session may get an agent that could not have one before. */
  available(): void
}
type Ports = Pick<CorePorts, 'clock' | 'log' | 'storage' | 'paths' | 'key'>

/** What is still to be done for it while no agent holds it. */
type Job = 'clear' | 'push'

type Running = {
  /** Nothing else may begin with the session. */
  busy: boolean
  backoff: Backoff
  /** Of the next push, in milliseconds. */
  limitMs: number
  cancel: () => void
  /** Resolves when it is not busy any more. */
  done: Promise<void>
}

/**
 * Does for parked sessions what their agents could not: removes a workspace whose agent died before it did, and pushes
 * what did not get through, until it is. The rows say what is left to do.
 */
export class KeptWorkKeeper {
  readonly #ports: Ports
  readonly #parts: Parts
  readonly #running = new Map<string, Running>()
  #stopped = false

  constructor(ports: Ports, parts: Parts) {
    this.#ports = ports
    this.#parts = parts
  }

  /** Goes on with what an earlier start of the host left. */
  async begin(): Promise<void> {
    const rows = await this.#ports.storage.rows({ table: 'session', where: { state: 'parked' } })
    for (const row of rows) this.#see(row)
  }

  committed({ rows, deletes }: Committed): void {
    for (const each of rows) if (each.table === 'session') this.#see(each.row)
    for (const { table, id } of deletes) if (table === 'session') this.#forget(id)
  }

  /** Something is done with its workspace or its branch right now: no agent may begin with it. */
  isBusy(session: string): boolean {
    return this.#running.get(session)?.busy === true
  }

  /** Resolves when nothing of the session is being done here that another one has to wait for. */
  async idle(session: string): Promise<void> {
    while (this.isBusy(session)) await this.#running.get(session)?.done
  }

  stop(): void {
    this.#stopped = true
    for (const id of [...this.#running.keys()]) this.#forget(id)
  }

  #see(row: SessionRow): void {
    const running = this.#running.get(row.id)
    if (this.#stopped || jobOf(row) === null) {
      if (running?.busy !== true) this.#forget(row.id)
      return
    }
    if (running !== undefined) return
    const backoff = new Backoff(KEPT_PUSH_RETRY_MS, KEPT_PUSH_RETRY_MAX_MS)
    const done = Promise.resolve()
    const limitMs = KEPT_PUSH_MS
    const added: Running = { busy: false, backoff, limitMs, cancel: () => undefined, done }
    this.#running.set(row.id, added)
    // What was tried a moment ago by the agent is not tried at once again.
    if (jobOf(row) === 'push') this.#later(row.id, added)
    else void this.#run(row.id, added)
  }

  #forget(id: string): void {
    this.#running.get(id)?.cancel()
    this.#running.delete(id)
  }

  #later(id: string, running: Running): void {
    running.cancel = this.#ports.clock.after(running.backoff.next(), () => {
      void this.#run(id, running)
    })
  }

  #run(id: string, running: Running): Promise<void> {
    running.busy = true
    running.done = this.#carryOut(id, running)
    return running.done
  }

  async #carryOut(id: string, running: Running): Promise<void> {
    let done = false
    try {
      const row = await this.#parts.committer.cache.row('session', id)
      const job = row === undefined ? null : jobOf(row)
      if (row !== undefined && job !== null) {
        const result =
          job === 'clear' ? await this.#clear(row) : await this.#pushBeside(row, running)
        done = result.ok
        if (!result.ok) this.#ports.log.info(`a parked session: ${job} again later`, result.refusal)
      }
    } catch (error) {
      this.#ports.log.error('what is kept of a session could not be looked after', { id, error })
    }
    running.busy = false
    this.#parts.available()
    if (this.#running.get(id) !== running) return
    const now = await this.#parts.committer.cache.row('session', id).catch(() => undefined)
    if (this.#stopped || now === undefined || jobOf(now) === null) this.#forget(id)
    else if (done) void this.#run(id, running)
    else this.#later(id, running)
  }

  /** Everything in it is kept, and was verified before the session was parked. */
  async #clear(row: SessionRow): Promise<Result<unknown>> {
    const { reaping, fleet } = this.#parts
    const { id, workspace: workspaceDir, branch, pushedCommit } = row
    const project = await this.#ports.storage.row('project', row.projectId)
    if (project === undefined || workspaceDir === null) return accept(undefined)
    const where = { sessionId: id, reaped: false } as const
    const leases = await this.#ports.storage.rows({ table: 'lease', where })
    if (!(await reaping.reap(leases.filter(({ endedAt }) => endedAt !== null)))) {
      return refuse('session.not-reaped', 'Processes of the session may still run.')
    }
    const { repo, env } = project
    const removed = await fleet.ask(
      {
        kind: 'workspace.remove',
        ...{ workspaceDir, repo, branch, pushedCommit, env: { ...env }, force: true },
        marker: pushMarker(id),
      },
      REMOVE_PROBE_MS,
    )
    if (!removed.ok) return removed
    return this.#change(id, (draft) => draft.set({ workspace: null }))
  }

  /** After a while others may go on with the session: a push that is overtaken replaces nothing on the remote. */
  async #pushBeside(row: SessionRow, running: Running): Promise<Result<unknown>> {
    let cancel = () => {}
    const alone = new Promise<void>((resolve) => {
      cancel = this.#ports.clock.after(KEPT_PUSH_ALONE_MS, () => {
        running.busy = false
        resolve()
        this.#parts.available()
      })
    })
    running.done = Promise.race([running.done, alone])
    try {
      return await this.#push(row, running)
    } finally {
      cancel()
    }
  }

  async #push(row: SessionRow, running: Running): Promise<Result<unknown>> {
    const { id, branch, pushedCommit, parked } = row
    const project = await this.#ports.storage.row('project', row.projectId)
    if (project === undefined || parked === null) return accept(undefined)
    const { paths } = this.#ports
    const { limitMs } = running
    const asked = await this.#parts.fleet.ask(
      {
        kind: 'park.push',
        marker: pushMarker(id),
        ...{ repo: project.repo, baseBranch: project.branch, branch, pushedCommit },
        ...{ mirrorDir: paths.mirror(project.id), env: { ...project.env } },
        ...{ work: parked.work, key: await this.#ports.key(), keptDir: paths.kept(id) },
      },
      limitMs,
    )
    if (isTimeOut(asked)) running.limitMs = Math.min(2 * limitMs, KEPT_PUSH_MAX_MS)
    const pushed = isTimeOut(asked) ? tooSlow(limitMs, running.limitMs) : asked
    await this.#change(id, (draft) => {
      const { parked: now, reason, state } = draft.session
      const before = parkedReason(draft.session)
      if (now === null || now.at !== parked.at) return
      const notPushed = pushed.ok ? null : pushed.refusal
      if (!pushed.ok && notPushed?.message === now.work.notPushed?.message) return
      const next = { ...now, work: { ...now.work, pushed: pushed.ok, notPushed } }
      draft.set({ parked: next })
      if (pushed.ok) {
        // Who went on with the session beside it may have pushed more.
        if (draft.session.pushedCommit === pushedCommit) {
          draft.set({ pushedCommit: pushed.value.commit })
        }
        const text = `The branch ${branch} is on the remote now.`
        draft.event({ kind: 'notice', level: 'info', code: 'park.pushed', text })
      }
      if (state === 'parked' && reason === before) {
        draft.set({ reason: parkedReason(draft.session) })
      }
    })
    return pushed
  }

  /** Rejects when it cannot be stored. */
  #change(id: string, change: (draft: SessionDraft) => void): Promise<Result<null>> {
    return this.#parts.committer.transact(async (read, now) => {
      const facts = await loadFacts(read, id)
      if (facts === undefined) return accept({ change: null, answer: null })
      const draft = new SessionDraft(facts, now)
      change(draft)
      const isSame = draft.session === facts.session
      return accept({ change: isSame ? null : draft.change(), answer: null })
    })
  }
}

function jobOf({ state, leaseId, parked, workspace, pending }: SessionRow): Job | null {
  // One that is finished has its workspace back for that.
  if (state !== 'parked' || leaseId !== null || parked === null || pending !== null) return null
  if (!isKeptOnly({ parked })) return null
  if (workspace !== null) return 'clear'
  return parked.work.pushed || parked.work.commit === null ? null : 'push'
}

const isTimeOut = (result: Result<unknown>): boolean =>
  !result.ok &&
  (result.refusal.code === 'probe.time-limit' || result.refusal.code === 'probe.timeout')

function tooSlow(limitMs: number, nextMs: number): { ok: false; refusal: Refusal } {
  const inMinutes = (ms: number) => `${Math.round(ms / 60_000)} minutes`
  return {
    ok: false,
    refusal: {
      code: 'push.time-limit',
      message: `The remote did not take it within ${inMinutes(limitMs)}; the next try may take ${inMinutes(nextMs)}.`,
      hint: 'Nothing is lost: it is kept here, and a resume does not wait for it.',
    },
  }
}
