import { join } from 'node:path'
import type { QuestionId } from '../../src-shared/ids.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import type { Committed, Committer } from '../commit/committer.ts'
import { type Plan, planQuestion } from '../decide/planned-answers.ts'
import { Backoff } from '../fleet/backoff.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { PLANNER_RUNS, REAP_PROBE_MS, RETRY_MAX_MS, RETRY_MS } from '../limits.ts'
import type { CorePorts } from '../ports.ts'
import { loadFacts } from '../sessions/session-facts.ts'
import type { QuestionRow } from '../storage/rows.ts'
import { type Finding, failedPlan, judgePlan } from './judge.ts'
import { plannerPrompt } from './planner-prompt.ts'

/** How many earlier questions and assumptions a run is told of. */
const EARLIER = 60

type Ports = Pick<CorePorts, 'clock' | 'ids' | 'log' | 'storage' | 'settings' | 'paths' | 'texts'>

/** A question that waits for its run; `until` is when it goes to the person. */
type Queued = { id: QuestionId; until: number; cancel: () => void }

/**
 * Lets the planner try questions, a few at once and beside the fleet's sessions. A question is with it for the limit
 * of the settings at most, waiting for its turn included. The rows say which it has: a restart takes them from it.
 */
export class Planner {
  readonly #ports: Ports
  readonly #committer: Committer
  readonly #fleet: Fleet
  readonly #known = new Set<string>()
  #queue: Queued[] = []
  /** Those that run, and whether their end is asked for before they are done. */
  readonly #running = new Map<string, { ends: boolean }>()
  #stopped = false

  constructor(ports: Ports, parts: { committer: Committer; fleet: Fleet }) {
    this.#ports = ports
    this.#committer = parts.committer
    this.#fleet = parts.fleet
  }

  /** Questions that an earlier start of the host left with it go to the person. Before the fleet starts. */
  async begin(): Promise<void> {
    const rows = await this.#ports.storage.rows({ table: 'question', where: { planner: 'runs' } })
    for (const { id } of rows) {
      this.#known.add(id)
      await this.#store(id, {
        outcome: 'failed',
        reason: 'the host was restarted while the planner tried',
        isLeft: true,
      })
    }
  }

  committed({ rows, deletes }: Committed): void {
    for (const each of rows) if (each.table === 'question') this.#see(each.row)
    for (const { table, id } of deletes) if (table === 'question') this.#known.delete(id)
  }

  /** What runs is ended with its agent; the next start decides. */
  stop(): void {
    this.#stopped = true
    for (const { cancel } of this.#queue) cancel()
    this.#queue = []
  }

  #see(row: QuestionRow): void {
    const { id, planner, state, heldBy } = row
    if (planner !== 'runs') {
      this.#known.delete(id)
      return
    }
    const isWanted = state === 'open' && heldBy === 'planner'
    if (!isWanted) this.#endRun(row)
    if (this.#stopped || this.#known.has(id) || !isWanted) return
    this.#known.add(id)
    const { clock, settings } = this.#ports
    const limitMs = settings.current.planner.limitSeconds * 1_000
    const queued: Queued = {
      id,
      until: clock.monotonic() + limitMs,
      cancel: clock.after(limitMs, () => this.#giveUp(queued)),
    }
    this.#queue.push(queued)
    this.#next()
  }

  /** Somebody was quicker: what still runs costs money and helps nobody. */
  #endRun({ id, sessionId, nonce }: QuestionRow): void {
    const running = this.#running.get(id)
    if (running === undefined || running.ends) return
    running.ends = true
    const markers = [{ session: sessionId, nonce }]
    void this.#fleet.ask({ kind: 'reap', markers }, REAP_PROBE_MS).then((found) => {
      if (found.ok) return
      this.#ports.log.warn('a run of the planner goes on in vain', {
        question: id,
        ...found.refusal,
      })
    })
  }

  #giveUp(queued: Queued): void {
    this.#queue = this.#queue.filter((other) => other !== queued)
    const { limitSeconds } = this.#ports.settings.current.planner
    void this.#keepStoring(queued.id, {
      outcome: 'failed',
      reason: `the planner was busy with other questions for ${limitSeconds} s`,
    })
  }

  #next(): void {
    if (this.#stopped || this.#running.size >= PLANNER_RUNS) return
    const next = this.#queue.shift()
    if (next === undefined) return
    next.cancel()
    this.#running.set(next.id, { ends: false })
    void this.#run(next).finally(() => {
      this.#running.delete(next.id)
      this.#next()
    })
    this.#next()
  }

  /** Never rejects. */
  async #run({ id, until }: Queued): Promise<void> {
    const { log, settings } = this.#ports
    let plan: Plan | null
    try {
      plan = await this.#plan(id, until)
    } catch (error) {
      log.error('the planner could not try a question', { question: id, error })
      plan = {
        outcome: 'failed',
        reason: `the planner failed: ${error instanceof Error ? error.message : String(error)}`,
        isLeft: true,
      }
    }
    if (plan === null || this.#stopped) return
    log.info('the planner is done', {
      question: id,
      outcome: plan.outcome,
      limitSeconds: settings.current.planner.limitSeconds,
    })
    await this.#keepStoring(id, plan)
  }

  /** Null where the question is gone, or nobody waits for it any more. */
  async #plan(id: QuestionId, until: number): Promise<Plan | null> {
    const { clock, settings } = this.#ports
    const { cache } = this.#committer
    const question = await cache.row('question', id)
    if (question === undefined) return null
    if (question.state !== 'open' || question.heldBy !== 'planner') {
      return { outcome: 'failed', reason: 'it was answered before the planner tried' }
    }
    const probe = await this.#probe(question)
    const found = probe.ok
      ? await this.#fleet.ask(probe.value, Math.max(1, until - clock.monotonic()))
      : probe
    return found.ok
      ? judgePlan(found.value as Finding, question.options)
      : failedPlan(found.refusal, settings.current.planner.limitSeconds)
  }

  async #probe(question: QuestionRow) {
    const { settings, paths, texts } = this.#ports
    const { cache } = this.#committer
    const facts = await loadFacts(cache, question.sessionId)
    const project = facts && (await cache.row('project', facts.session.projectId))
    if (facts === undefined || project === undefined) return gone
    const { planner, runtimePaths } = settings.current
    const { session, ticket } = facts
    const { projectId } = session
    const [answered, reviewed] = await Promise.all([
      cache.rows({
        table: 'question',
        where: { projectId, state: 'answered' },
        limit: EARLIER,
        newest: true,
      }),
      cache.rows({
        table: 'assumption',
        where: { projectId, state: ['confirmed', 'overturned'] },
        limit: EARLIER,
        newest: true,
      }),
    ])
    const isOwn = planner.runtime === project.runtime
    return accept({
      kind: 'planner' as const,
      question: question.id,
      marker: { session: session.id, nonce: question.nonce },
      runtime: planner.runtime,
      runtimePath: runtimePaths[planner.runtime] ?? null,
      model: planner.model ?? (isOwn ? project.model : null),
      // A project's own arguments may allow more than reading.
      runtimeArgs: [],
      env: { ...project.env },
      // What an agent committed itself must not vouch for what it asks.
      workspaceDir: session.baseCommit === null ? session.workspace : null,
      mirrorDir: paths.mirror(project.id),
      commit: session.baseCommit,
      sources: [...project.sources],
      // Where reaping by the same nonce removes what is left of it.
      folder: join(paths.dataDir, 'scratch', question.nonce),
      prompt: plannerPrompt({
        instructions: texts.planner,
        project,
        ticket,
        answered,
        reviewed,
        question,
      }),
      costLimitUsd: planner.costLimitUsd,
    })
  }

  /** Until it is stored. Never rejects. */
  async #keepStoring(id: QuestionId, plan: Plan): Promise<void> {
    const { clock, log } = this.#ports
    const backoff = new Backoff(RETRY_MS, RETRY_MAX_MS)
    for (;;) {
      try {
        await this.#store(id, plan)
        return
      } catch (error) {
        log.error('what the planner came to is not stored yet', { question: id, error })
        // The next start takes the question from the planner.
        if (this.#stopped) return
        await new Promise<void>((resolve) => {
          clock.after(backoff.next(), resolve)
        })
      }
    }
  }

  async #store(id: QuestionId, plan: Plan): Promise<void> {
    await this.#committer.transact(async (read, now) => {
      const question = await read.row('question', id)
      const facts = question && (await loadFacts(read, question.sessionId))
      if (question === undefined || facts === undefined) {
        return accept({ change: null, answer: null })
      }
      const { change } = planQuestion({ facts, question }, plan, now, this.#ports.ids)
      return accept({ change, answer: null })
    })
  }
}

const gone: Result<never> = refuse('session.not-found', 'The session is gone meanwhile.')
