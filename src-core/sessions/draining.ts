import type { AgentId, LeaseId } from '../../src-shared/ids.ts'
import { accept } from '../../src-shared/refusal.ts'
import type { Committed, Committer } from '../commit/committer.ts'
import { waitsForPerson } from '../decide/online-window.ts'
import { beginPark, hurry } from '../decide/parking.ts'
import { SessionDraft } from '../decide/session-draft.ts'
import { bringBack } from '../decide/tickets.ts'
import type { AgentSlot } from '../fleet/agent-slot.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { LET_GO_MS, RETRY_MS } from '../limits.ts'
import type { CorePorts } from '../ports.ts'
import type { SessionRow } from '../storage/rows.ts'
import type { LiveIndex } from './live-index.ts'
import { loadFacts } from './session-facts.ts'

export type DrainHow = {
  /** How long a turn may go on, in milliseconds. */
  graceMs: number
  /** Nothing is pushed: it is kept here, and pushed later. */
  fast: boolean
  /** The host ends after it. */
  quits: boolean
}

/** One agent's drain. */
type Drain = {
  isGraceOver: boolean
  fast: boolean
  quits: boolean
  /** Leases whose session was to park meanwhile: one that goes on all the same could not be parked. */
  tried: Set<LeaseId>
  cancel: () => void
}

type Ports = Pick<CorePorts, 'clock' | 'ids' | 'log' | 'storage'>

/**
 * Frees agents that are to take no more sessions: a session that waits is parked at once, also in a turn, one that works when its turn
 * ends or its grace is over; one that is just being brought back is let go of then, its workspace where it is, and so is
 * one that cannot be parked.
 */
export class Draining {
  readonly #ports: Ports
  readonly #committer: Committer
  readonly #index: LiveIndex
  readonly #fleet: Fleet
  readonly #drains = new Map<AgentId, Drain>()
  readonly #busy = new Set<string>()
  /** Cancels the limit of agents that were told to let go: they hear nothing else until their lease ends. */
  readonly #released = new Map<LeaseId, () => void>()
  #stopped = false

  constructor(ports: Ports, parts: { committer: Committer; index: LiveIndex; fleet: Fleet }) {
    this.#ports = ports
    this.#committer = parts.committer
    this.#index = parts.index
    this.#fleet = parts.fleet
  }

  /** Drains those that already leave, and lets the others of the list go; a second time with less grace. */
  drain(slots: readonly AgentSlot[], how: DrainHow): void {
    for (const slot of slots) {
      this.#begin(slot.id, how)
      if (!slot.leaves) slot.sendAway()
    }
    this.#look()
  }

  /** They take sessions again; what worked when it was parked for the drain goes on. */
  async cancel(slots: readonly AgentSlot[]): Promise<void> {
    for (const slot of slots) {
      // A place that goes is wanted again only by another size of the fleet.
      if (!slot.isDraining) this.#forget(slot.id)
      slot.takeBack()
    }
    await this.wake()
  }

  /** Places that go because the fleet is to be smaller; those that stay after all are drained no more. */
  resized(how: DrainHow): void {
    for (const slot of this.#fleet.slots) {
      if (slot.isDraining && !this.#drains.has(slot.id)) this.#begin(slot.id, how)
      else if (!slot.leaves) this.#forget(slot.id)
    }
    this.#look()
  }

  /** Brings back what a drain interrupted. */
  async wake(): Promise<void> {
    const where = { state: 'parked', wakes: true } as const
    for (const { id } of await this.#ports.storage.rows({ table: 'session', where })) {
      await this.#change(id, (draft) => {
        const { state, wakes, pending } = draft.session
        if (state === 'parked' && wakes && pending === null) bringBack(draft, draft.now)
      })
    }
  }

  committed({ rows, wanted }: Committed): void {
    for (const { lease, message } of wanted.tell) {
      if (message.type === 'session.release') this.#toldToLetGo(lease)
      if (message.type === 'session.park') this.#drainOf(lease)?.tried.add(lease)
    }
    for (const each of rows) {
      if (each.table === 'lease' && each.row.endedAt !== null) this.#hasLetGo(each.row.id)
    }
    const matters = rows.some(({ table }) => table === 'session' || table === 'request')
    if (this.#drains.size > 0 && matters) this.#look()
  }

  stop(): void {
    this.#stopped = true
    for (const id of [...this.#drains.keys()]) this.#forget(id)
    for (const lease of [...this.#released.keys()]) this.#hasLetGo(lease)
  }

  #toldToLetGo(lease: LeaseId): void {
    if (this.#stopped || this.#released.has(lease)) return
    const cancel = this.#ports.clock.after(LET_GO_MS, () => {
      this.#fleet.killHolder(lease, 'did not let go of its session in time')
    })
    this.#released.set(lease, cancel)
  }

  #hasLetGo(lease: LeaseId): void {
    this.#released.get(lease)?.()
    this.#released.delete(lease)
  }

  #begin(id: AgentId, { graceMs, fast, quits }: DrainHow): void {
    this.#forget(id)
    const drain: Drain = {
      ...{ isGraceOver: graceMs <= 0, fast, quits },
      tried: new Set(),
      cancel: () => undefined,
    }
    if (graceMs > 0) {
      drain.cancel = this.#ports.clock.after(graceMs, () => {
        drain.isGraceOver = true
        this.#look()
      })
    }
    this.#drains.set(id, drain)
  }

  #forget(id: AgentId): void {
    this.#drains.get(id)?.cancel()
    this.#drains.delete(id)
  }

  #drainOf(lease: LeaseId): Drain | undefined {
    const slot = this.#fleet.slots.find(({ hold }) => hold?.lease === lease)
    return slot && this.#drains.get(slot.id)
  }

  #look(): void {
    if (this.#stopped) return
    for (const slot of this.#fleet.slots) {
      const drain = this.#drains.get(slot.id)
      if (drain === undefined || !slot.leaves || slot.hold === null) continue
      const session = this.#index.session(slot.hold.session)
      if (session === undefined || session.leaseId !== slot.hold.lease) continue
      if (this.#released.has(slot.hold.lease)) continue
      // Whether its runtime waits for one of them is seen when it is looked at.
      const mayWait = this.#index.hasOpenRequest(session.id)
      const step = nextStep(session, mayWait, drain)
      if (step === null || (step === 'hurry' && session.saga?.fast === true)) continue
      void this.#carryOut(session.id, slot.hold.lease, step, drain)
    }
  }

  async #carryOut(
    session: string,
    lease: LeaseId,
    step: NonNullable<ReturnType<typeof nextStep>>,
    drain: Drain,
  ): Promise<void> {
    const key = `${lease} ${step}`
    if (this.#busy.has(key)) return
    this.#busy.add(key)
    try {
      await this.#change(session, (draft) => {
        if (draft.session.leaseId !== lease || this.#released.has(lease)) return
        if (nextStep(draft.session, waitsForPerson(draft), drain) !== step) return
        if (step === 'park') {
          const why = drain.quits ? 'quit' : 'drain'
          beginPark(draft, lease, { why, fast: drain.fast }, this.#ports.ids)
        } else if (step === 'hurry') hurry(draft)
        else {
          // Its turn is cut by it, and nobody else says that it is to go on.
          const works = draft.session.state === 'working' && !waitsForPerson(draft)
          if (works) draft.set({ wakes: true })
          this.#fleet.tell(lease, { type: 'session.release', lease })
          this.#toldToLetGo(lease)
        }
      })
      this.#busy.delete(key)
    } catch (error) {
      this.#ports.log.error('a drained session is not parked yet', { session, error })
      this.#ports.clock.after(RETRY_MS, () => {
        this.#busy.delete(key)
        this.#look()
      })
    }
  }

  async #change(id: string, change: (draft: SessionDraft) => void): Promise<void> {
    await this.#committer.transact(async (read, now) => {
      const facts = await loadFacts(read, id)
      if (facts === undefined) return accept({ change: null, answer: null })
      const draft = new SessionDraft(facts, now)
      change(draft)
      const isSame = draft.session === facts.session
      return accept({ change: isSame ? null : draft.change(), answer: null })
    })
  }
}

/** What is to be done with the session of a drained agent now; null: it comes to its end by itself. */
function nextStep(
  { state, pending, leaseId }: Pick<SessionRow, 'state' | 'pending' | 'leaseId'>,
  waits: boolean,
  { isGraceOver, fast, tried }: Drain,
): 'park' | 'hurry' | 'release' | null {
  // What is being stopped or finished frees the agent too, and what goes on with another runtime.
  if (pending !== null && pending !== 'interrupt') return null
  const wayOut = leaseId !== null && tried.has(leaseId) ? 'release' : 'park'
  switch (state) {
    case 'waiting':
      return wayOut
    case 'working':
      return isGraceOver || waits ? wayOut : null
    case 'starting':
    case 'resuming':
      return isGraceOver ? 'release' : null
    case 'parking':
      return fast ? 'hurry' : null
    default:
      return null
  }
}
