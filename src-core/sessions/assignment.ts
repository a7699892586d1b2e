import { accept, BalletError, type Refusal } from '../../src-shared/refusal.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import type { Committer, Reader } from '../commit/committer.ts'
import { type Change, joinChanges } from '../decide/change.ts'
import { parkOrder } from '../decide/parking.ts'
import {
  assign,
  type Grant,
  grantLeases,
  type Leased,
  type Waiting,
  type WaitReason,
  whyItWaits,
} from '../decide/scheduling.ts'
import { SessionDraft, type SessionFacts } from '../decide/session-draft.ts'
import { Backoff } from '../fleet/backoff.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { RETRY_MAX_MS, RETRY_MS } from '../limits.ts'
import type { CorePorts } from '../ports.ts'
import type { SessionRow } from '../storage/rows.ts'
import type { ItemIntake } from './item-intake.ts'
import type { LiveIndex } from './live-index.ts'
import { loadFacts } from './session-facts.ts'
import { buildSpec, needsKey } from './session-spec.ts'

/** Gives waiting sessions to idle agents, whenever either may have come. */
export class Assignment {
  readonly #ports: CorePorts
  readonly #committer: Committer
  readonly #index: LiveIndex
  readonly #fleet: Fleet
  readonly #intake: ItemIntake
  readonly #isBusy: (session: string) => boolean
  readonly #backoff = new Backoff(RETRY_MS, RETRY_MAX_MS)
  #asked = false
  #stopped = false

  constructor(
    ports: CorePorts,
    parts: {
      committer: Committer
      index: LiveIndex
      fleet: Fleet
      intake: ItemIntake
      /** Something is done with the session that an agent would be in the way of. */
      isBusy(session: string): boolean
    },
  ) {
    this.#ports = ports
    this.#committer = parts.committer
    this.#index = parts.index
    this.#fleet = parts.fleet
    this.#intake = parts.intake
    this.#isBusy = parts.isBusy
  }

  /** Looks again, after what is being stored now. */
  look(): void {
    if (this.#asked || this.#stopped || this.#index.waiting.length === 0) return
    const hasIdle = this.#fleet.idle.length > 0
    if (!hasIdle && this.#unexplained().length === 0) return
    this.#asked = true
    this.#committer.queue
      .run(async () => {
        this.#asked = false
        if (this.#stopped) return
        if (this.#fleet.idle.length > 0) await this.#assign()
        await this.#explain()
      })
      .then(
        () => this.#backoff.reset(),
        (error: unknown) => {
          this.#ports.log.error('waiting sessions could not be given to agents', { error })
          this.#ports.clock.after(this.#backoff.next(), () => this.look())
        },
      )
  }

  stop(): void {
    this.#stopped = true
  }

  /** Sessions that wait and do not say yet what for. */
  #unexplained(): { session: SessionRow; why: WaitReason }[] {
    const { slots, anyUp, idle } = this.#fleet
    if (!anyUp) return []
    const holding = slots.filter(({ hold }) => hold !== null).length
    const fleet = { size: slots.length, holding, hasIdle: idle.length > 0 }
    const { held } = this.#index
    return this.#index.waiting.flatMap((session) => {
      const project = this.#index.project(session.projectId)
      if (session.state !== 'queued' || project === undefined) return []
      const why = whyItWaits(project, held.get(project.id) ?? 0, fleet)
      return why === null || why.reason === session.reason ? [] : [{ session, why }]
    })
  }

  async #explain(): Promise<void> {
    const unexplained = this.#unexplained()
    if (unexplained.length === 0) return
    const explained = await this.#committer.within(async (read, now) => {
      const changes: Change[] = []
      for (const { session, why } of unexplained) {
        const facts = await loadFacts(read, session.id)
        if (facts?.session.state !== 'queued') continue
        const draft = new SessionDraft(facts, now)
        draft.set(why)
        changes.push(draft.change())
      }
      const change = changes.length === 0 ? null : joinChanges(...changes)
      return accept({ change, answer: null })
    })
    if (!explained.ok) throw new BalletError(explained.refusal)
  }

  async #assign(): Promise<void> {
    const granted = await this.#committer.within(async (read, now) => {
      const { grants, unable } = await this.#ableOf(await this.#grants(read))
      if (grants.length === 0 && unable.length === 0) return accept({ change: null, answer: [] })
      const { change, leases } = grantLeases(grants, now, this.#ports.ids)
      const failed = unable.map(({ facts, refusal }) => failedChange(facts, refusal, now))
      return accept({ change: joinChanges(change, ...failed), answer: leases })
    })
    if (!granted.ok) throw new BalletError(granted.refusal)
    for (const leased of granted.value) await this.#begin(leased)
  }

  /** Without the data key what is kept of a session cannot be used: it does not get an agent for nothing. */
  async #ableOf(
    grants: readonly Grant[],
  ): Promise<{ grants: Grant[]; unable: { facts: SessionFacts; refusal: Refusal }[] }> {
    if (!grants.some(({ facts }) => needsKey(facts.session))) {
      return { grants: [...grants], unable: [] }
    }
    try {
      await this.#ports.key()
      return { grants: [...grants], unable: [] }
    } catch (error) {
      if (!(error instanceof BalletError)) throw error
      const refusal = error.toRefusal()
      return {
        grants: grants.filter(({ facts }) => !needsKey(facts.session)),
        unable: grants.flatMap(({ facts }) =>
          needsKey(facts.session) ? [{ facts, refusal }] : [],
        ),
      }
    }
  }

  async #grants(read: Reader): Promise<Grant[]> {
    const waiting: Waiting[] = []
    for (const session of this.#index.waiting) {
      if (this.#isBusy(session.id)) continue
      const ticket = await read.row('ticket', session.ticketId)
      if (ticket !== undefined) waiting.push({ ...session, priority: ticket.priority })
    }
    const chosen = assign({
      waiting,
      idle: this.#fleet.idle,
      held: this.#index.held,
      projects: new Map(this.#index.projects.map((project) => [project.id, project])),
    })
    const grants: Grant[] = []
    for (const { session, agent } of chosen) {
      const facts = await loadFacts(read, session)
      const project = facts && (await read.row('project', facts.session.projectId))
      if (facts === undefined || project === undefined) continue
      const leases = await read.rows({ table: 'lease', where: { sessionId: session } })
      grants.push({
        facts,
        agent,
        lastToken: Math.max(0, ...leases.map(({ token }) => token)),
        workspace: this.#ports.paths.workspace(facts.ticket.key, session),
        project,
      })
    }
    return grants
  }

  /** Tells the agent to begin. An agent that died since it was chosen loses the lease at once. */
  async #begin({ lease, ticket }: Leased): Promise<void> {
    const slot = this.#fleet.slot(lease.agent)
    if (slot?.take({ lease: lease.id, session: lease.sessionId, ticket }) !== true) {
      this.#intake.lose(lease.id, {
        reason: 'agent died',
        detail: `${lease.agent} was gone before the session began`,
      })
      return
    }
    try {
      const { cache } = this.#committer
      const facts = await loadFacts(cache, lease.sessionId)
      const project = facts && (await cache.row('project', facts.session.projectId))
      if (facts === undefined || project === undefined) throw new Error('The session is gone.')
      const { session } = facts
      const turnEvents = await this.#turn(session, 0)
      const turnBefore = await this.#turn(session, 1)
      const key = await this.#keyFor(session)
      const hasTools = this.#fleet.capabilities(session.runtime)?.mcp ?? true
      const spec = buildSpec(
        { facts, lease, project, turnEvents, turnBefore, key, hasTools },
        this.#ports.paths,
        this.#ports.settings.current,
        this.#ports.texts,
      )
      // It may have been lost, and the place have another process, while all of this was read.
      slot.sendHeld(lease.id, { type: 'session.start', spec })
      const order = spec.task === 'park' ? parkOrder(session, lease.id) : null
      if (order === null || key === null) return
      const { session: id, ...park } = order
      slot.sendHeld(lease.id, { ...park, key, keptDir: this.#ports.paths.kept(id) })
    } catch (error) {
      this.#ports.log.error('a session could not be begun', { error, session: lease.sessionId })
      slot.kill('could not be told what to do')
    }
  }

  /** Null where it is not needed. Rejects where it is, and cannot be had. */
  async #keyFor(session: SessionRow): Promise<string | null> {
    if (needsKey(session)) return this.#ports.key()
    if (session.parked === null) return null
    try {
      return await this.#ports.key()
    } catch (error) {
      // Most likely its workspace is there.
      this.#ports.log.warn('what was kept of a session cannot be used', { error, id: session.id })
      return null
    }
  }

  /** The events of the last turn, or of one before it. */
  async #turn({ id, turn }: SessionRow, before: number): Promise<TimelineEvent[]> {
    return turn > before ? this.#ports.storage.turn(id, turn - before) : []
  }
}

function failedChange(facts: SessionFacts, { message, hint }: Refusal, now: string): Change {
  const draft = new SessionDraft(facts, now)
  draft.move('failed', message, hint)
  draft.set({ queuedAt: null, saga: null, pending: null })
  return draft.change()
}
