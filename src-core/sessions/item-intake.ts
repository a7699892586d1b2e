import type { z } from 'zod'
import type { ToAgent } from '../../src-shared/agent-wire.ts'
import type { LeaseId } from '../../src-shared/ids.ts'
import { accept, BalletError, type Result, refuse } from '../../src-shared/refusal.ts'
import type { Committer, Reader } from '../commit/committer.ts'
import { type ItemsAnswer, type RunningTurn, takeItems } from '../decide/agent-items.ts'
import type { Decision } from '../decide/change.ts'
import { type LeaseLoss, loseLease } from '../decide/lease-end.ts'
import { storePlainItems } from '../decide/plain-items.ts'
import { Backoff } from '../fleet/backoff.ts'
import type { LiveBlocks } from '../following/live-blocks.ts'
import { RETRY_MAX_MS, RETRY_MS } from '../limits.ts'
import type { CorePorts } from '../ports.ts'
import type { LeaseRow, SessionRow } from '../storage/rows.ts'
import { anewText } from './anew-text.ts'
import { type Batch, beforeParked, freshItems, lastOf, takeBatches } from './batches.ts'
import type { IntakeHandlers } from './intake-handlers.ts'
import { itemsFacts } from './items-facts.ts'
import { ParkedReading } from './parked-reading.ts'
import type { Problems } from './problems.ts'
import { loadFacts } from './session-facts.ts'

/** The most items that wait for a commit. */
const WAITING_ITEMS = 20_000

/** What came of one lease and is not stored yet, in order. */
type Inbox = {
  batches: Batch[]
  items: number
  loss: LeaseLoss | null
  backoff: Backoff
  /** A commit of it is asked for or under way. */
  work: Promise<void> | null
  /** Cancels its next try; null when none is planned. */
  cancelRetry: (() => void) | null
}

type IntakePorts = Pick<CorePorts, 'clock' | 'ids' | 'log' | 'storage' | 'settings' | 'kept'>

type Stored = { lastItem: number; gap: boolean; answer: ItemsAnswer | null }

/**
 * Stores what agents tell, each item once and in order; what comes while a commit is under way goes into the next
 * one. What cannot be stored is kept and tried again. The end of a lost lease comes after all that was told under it.
 */
export class ItemIntake {
  readonly #committer: Committer
  readonly #ports: IntakePorts
  readonly #live: LiveBlocks
  readonly #problems: Problems
  readonly #handlers: IntakeHandlers
  readonly #parked: ParkedReading
  readonly #inboxes = new Map<LeaseId, Inbox>()
  readonly #running = new Map<string, RunningTurn>()
  #draining = false
  #closed = false

  constructor(
    ports: IntakePorts,
    committer: Committer,
    live: LiveBlocks,
    problems: Problems,
    handlers: IntakeHandlers,
  ) {
    this.#ports = ports
    this.#committer = committer
    this.#live = live
    this.#problems = problems
    this.#handlers = handlers
    this.#parked = new ParkedReading(ports.kept, committer)
  }

  /** The host ends: nothing more is given to agents. */
  drain(): void {
    this.#draining = true
  }

  /** Nothing is tried again: agents left in the spool what is not stored, and the next start ends their leases. */
  close(): void {
    this.#closed = true
    for (const inbox of this.#inboxes.values()) inbox.cancelRetry?.()
  }

  receive(batch: Batch): void {
    const inbox = this.#inbox(batch.lease)
    // The agent keeps what is not acknowledged and sends it again.
    if (inbox.items >= WAITING_ITEMS || isWaiting(inbox, batch)) return
    inbox.batches.push(batch)
    inbox.items += batch.items.length
    this.#drain(batch.lease, inbox)
  }

  /**
   * Items of a lease that the agent does not hold any more, as Core knows it: repetitions of what is stored are
   * acknowledged, everything else is refused.
   */
  receiveStray(
    agent: { id: string; send(message: z.input<typeof ToAgent>): void },
    batch: Batch,
  ): void {
    const { lease } = batch
    this.#committer.cache.row('lease', lease).then(
      (row) => {
        if (row !== undefined && row.lastItem >= lastOf(batch)) {
          agent.send({ type: 'items.ack', lease, n: row.lastItem })
          return
        }
        this.#ports.log.warn('items under a lease that an agent does not hold are refused', {
          agent: agent.id,
          lease,
          from: batch.from,
        })
        agent.send({ type: 'session.release', lease })
      },
      (error: unknown) => {
        this.#ports.log.error('a lease could not be read', { lease, error })
      },
    )
  }

  /** The agent is gone; nothing more comes under the lease. */
  lose(lease: LeaseId, loss: LeaseLoss): void {
    const inbox = this.#inbox(lease)
    inbox.loss = loss
    this.#drain(lease, inbox)
  }

  /** Stores what an agent left behind, up to what is refused; for the time before the fleet starts. */
  async storeLeft(batch: Batch): Promise<Result<{ items: number }>> {
    const read = await this.#parked.read(batch.lease, [batch])
    const good = read.ok ? [batch] : beforeParked([batch])
    if (good.length > 0) {
      const result = await this.#store(batch.lease, good, { left: true, within: false })
      if (!result.ok) return result
    }
    return read.ok ? accept({ items: batch.items.length }) : read
  }

  /** Ends a lease at once; for the time before the fleet starts. */
  loseNow(lease: LeaseId, loss: LeaseLoss): Promise<void> {
    return this.#committer.queue.run(() => this.#lose(lease, loss))
  }

  #inbox(lease: LeaseId): Inbox {
    const existing = this.#inboxes.get(lease)
    if (existing !== undefined) return existing
    const made: Inbox = {
      batches: [],
      items: 0,
      loss: null,
      backoff: new Backoff(RETRY_MS, RETRY_MAX_MS),
      work: null,
      cancelRetry: null,
    }
    this.#inboxes.set(lease, made)
    return made
  }

  /** Something that was told under the lease is not stored yet. */
  isStoring(lease: LeaseId): boolean {
    return this.#inboxes.has(lease)
  }

  /** Resolves when everything that came until now is stored, or waits for another try. */
  async idle(): Promise<void> {
    for (;;) {
      const work = [...this.#inboxes.values()].flatMap((inbox) => inbox.work ?? [])
      if (work.length === 0) return
      await Promise.all(work)
    }
  }

  #drain(lease: LeaseId, inbox: Inbox): void {
    if (inbox.work !== null || inbox.cancelRetry !== null) return
    if (inbox.batches.length === 0 && inbox.loss === null) {
      this.#inboxes.delete(lease)
      return
    }
    inbox.work = this.#next(lease, inbox).then(
      () => {
        inbox.work = null
        inbox.backoff.reset()
        this.#problems.clear(`items ${lease}`)
        this.#drain(lease, inbox)
      },
      (error: unknown) => {
        inbox.work = null
        this.#failed(lease, inbox, error)
      },
    )
  }

  async #next(lease: LeaseId, inbox: Inbox): Promise<void> {
    if (this.#parked.isUnread(inbox.batches)) {
      // Beside all other commits: it may be much to read.
      const read = await this.#parked.read(lease, inbox.batches)
      if (!read.ok) {
        this.#ports.log.error('what an agent kept is not good', { lease, ...read.refusal })
        inbox.batches = beforeParked(inbox.batches)
        while (inbox.batches.length > 0 && !this.#parked.isUnread(inbox.batches)) {
          await this.#committer.queue.run(() => this.#step(lease, inbox))
        }
        inbox.batches = []
        inbox.items = 0
        this.#handlers.broken(lease, `kept what is not good: ${read.refusal.message}`)
        return
      }
    }
    await this.#committer.queue.run(() => this.#step(lease, inbox))
  }

  /** Stores the next items of the inbox, or the end of its lease when there are none left. */
  async #step(lease: LeaseId, inbox: Inbox): Promise<void> {
    if (inbox.batches.length === 0) {
      const { loss } = inbox
      if (loss === null) return
      await this.#lose(lease, loss)
      inbox.loss = null
      this.#handlers.ended(lease)
      return
    }
    const taken = takeBatches(inbox.batches)
    if (this.#parked.isUnread(taken)) return
    const result = await this.#store(lease, taken, { left: false, within: true })
    inbox.batches.splice(0, taken.length)
    inbox.items = inbox.batches.reduce((sum, { items }) => sum + items.length, 0)
    if (!result.ok) {
      this.#ports.log.warn('items of an agent are refused', { lease, ...result.refusal })
      this.#handlers.fence(lease)
      return
    }
    const { lastItem, gap, answer } = result.value
    if (gap) this.#ports.log.warn('items of an agent are missing', { lease, after: lastItem })
    this.#handlers.acknowledge(lease, lastItem)
    if (answer?.ended === true) {
      this.#live.clear(answer.draft.session.id)
      this.#handlers.ended(lease)
    }
  }

  #failed(lease: LeaseId, inbox: Inbox, error: unknown): void {
    const { log, clock } = this.#ports
    if (!(error instanceof BalletError)) {
      log.error('what an agent told cannot be stored', { lease, error })
      const hadItems = inbox.batches.length > 0
      inbox.batches = []
      inbox.items = 0
      this.#problems.clear(`items ${lease}`)
      if (hadItems && inbox.loss !== null) {
        this.#drain(lease, inbox)
        return
      }
      // Where not even the end of the lease can be stored, the next start does it.
      inbox.loss = null
      this.#inboxes.delete(lease)
      this.#handlers.broken(lease, 'told what cannot be stored')
      return
    }
    if (this.#closed) return
    const delay = inbox.backoff.next()
    this.#problems.set(`items ${lease}`, error.toRefusal())
    log.error('what an agent told is not stored yet', { lease, error, retryMs: delay })
    inbox.cancelRetry = clock.after(delay, () => {
      inbox.cancelRetry = null
      this.#drain(lease, inbox)
    })
  }

  async #store(
    lease: LeaseId,
    batches: readonly Batch[],
    how: { left: boolean; within: boolean },
  ): Promise<Result<Stored>> {
    const attempt = (read: Reader, now: string) => this.#decide(read, lease, batches, how.left, now)
    const result = await (how.within
      ? this.#committer.within(attempt)
      : this.#committer.transact(attempt))
    if (result.ok && result.value.answer !== null) {
      const { draft, running } = result.value.answer
      if (running === null) this.#running.delete(draft.session.id)
      else this.#running.set(draft.session.id, running)
    }
    return result
  }

  async #decide(
    read: Reader,
    id: LeaseId,
    batches: readonly Batch[],
    left: boolean,
    now: string,
  ): Promise<Result<Decision<Stored>>> {
    const lease = await read.row('lease', id)
    const session = lease && (await read.row('session', lease.sessionId))
    if (lease === undefined || session === undefined) {
      return refuse('lease.not-found', `There is no lease ${id}.`)
    }
    // A power cut may have taken the events before what an agent left.
    const stored = left ? Math.max(lease.lastItem, (batches[0]?.from ?? 1) - 1) : lease.lastItem
    const { gap, ...items } = freshItems(batches, stored)
    if (items.items.length === 0) {
      return accept({ change: null, answer: { lastItem: lease.lastItem, gap, answer: null } })
    }
    const fenced = await this.#fence(read, lease, session, left)
    if (fenced !== null) return fenced
    const answerOf = (answer: ItemsAnswer | null): Stored => ({
      lastItem: items.last,
      gap,
      answer,
    })
    const plain = storePlainItems(lease, items)
    if (plain !== null) return accept({ change: plain, answer: answerOf(null) })

    const facts = await loadFacts(read, session.id)
    if (facts === undefined) return refuse('lease.not-found', `The session of ${id} is gone.`)
    const running = this.#running.get(session.id) ?? null
    const more = await itemsFacts(this.#ports, read, {
      ...{ facts, running, items: items.items },
      live: this.#live,
      capabilities: this.#handlers.capabilities,
    })
    const decision = takeItems(
      {
        ...{ facts, lease, running, ...more },
        takesMore: !left && !this.#draining,
        drained: left ? 'none' : this.#handlers.drained(lease.id),
      },
      items,
      now,
      this.#ports.ids,
    )
    return accept({ change: decision.change, answer: answerOf(decision.answer) })
  }

  /** Only the session's current lease may tell of it; what was left behind also when no newer one was given. */
  async #fence(
    read: Reader,
    lease: LeaseRow,
    session: SessionRow,
    left: boolean,
  ): Promise<Result<never> | null> {
    if (session.leaseId === lease.id && lease.endedAt === null) return null
    if (left) {
      const leases = await read.rows({ table: 'lease', where: { sessionId: session.id } })
      if (leases.every(({ token }) => token <= lease.token)) return null
    }
    return refuse(
      'lease.over',
      `The lease ${lease.id} of the session ${session.id} is over.`,
      'What the agent still tells under it is not stored.',
    )
  }

  async #lose(id: LeaseId, loss: LeaseLoss): Promise<void> {
    const { storage } = this.#ports
    const result = await this.#committer.within(async (read, now) => {
      const lease = await read.row('lease', id)
      if (lease === undefined || lease.endedAt !== null) {
        return accept({ change: null, answer: null })
      }
      const facts = await loadFacts(read, lease.sessionId)
      if (facts === undefined) return accept({ change: null, answer: null })
      const { session } = facts
      const leases = await read.rows({ table: 'lease', where: { sessionId: session.id } })
      return accept(
        loseLease(
          {
            ...{ facts, lease },
            anew: session.continueWith === null ? '' : await anewText(storage, facts, 'continued'),
            earlier: leases
              .filter(({ token }) => token < lease.token)
              .sort((a, b) => b.token - a.token),
            turnEvents:
              session.turnStartedAt === null ? [] : await storage.turn(session.id, session.turn),
            live: this.#live.of(session.id),
            costBefore: this.#running.get(session.id)?.costBefore ?? null,
          },
          loss,
          now,
          this.#ports.ids,
        ),
      )
    })
    const session = result.ok ? result.value?.session.id : undefined
    if (session === undefined) return
    this.#running.delete(session)
    this.#live.clear(session)
  }
}

/** Whether all of a batch waits for a commit already: it was said again meanwhile. */
function isWaiting({ batches }: Inbox, batch: Batch): boolean {
  const last = batches.at(-1)
  return last !== undefined && lastOf(batch) <= lastOf(last)
}
