import type { z } from 'zod'
import type { Probe, ToAgent } from '../../src-shared/agent-wire.ts'
import { AgentId, type LeaseId } from '../../src-shared/ids.ts'
import type { Agent } from '../../src-shared/records.ts'
import {
  capabilitiesOf,
  type Runtime,
  type RuntimeCapabilities,
  type RuntimeName,
} from '../../src-shared/runtimes.ts'
import type { Drained } from '../decide/parking.ts'
import type { CorePorts } from '../ports.ts'
import type { AgentMessage } from './agent-life.ts'
import { AgentSlot, type Hold } from './agent-slot.ts'
import { Probes } from './probes.ts'

export type FleetHandlers = {
  items(slot: AgentSlot, message: Extract<AgentMessage, { type: 'items' }>): void
  live(slot: AgentSlot, message: Extract<AgentMessage, { type: 'live' | 'live.gone' }>): void
  /** An agent takes work or questions that it did not take before. */
  available(): void
  lost(slot: AgentSlot, hold: Hold, detail: string): void
  isStoring(lease: LeaseId): boolean
  changed(agent: AgentId): void
  /** What a runtime can do is known from now on. */
  learned(runtime: RuntimeName): void
}

type FleetPorts = Pick<
  CorePorts,
  'clock' | 'ids' | 'log' | 'launcher' | 'environment' | 'paths' | 'settings'
>

/** The agents of this machine. What of them is shown lives here, in memory; who holds what is in the rows too. */
export class Fleet {
  #slots: readonly AgentSlot[]
  readonly #probes: Probes
  readonly #ports: FleetPorts
  readonly #log: FleetPorts['log']
  readonly #handlers: FleetHandlers
  readonly #runtimes = new Map<RuntimeName, Runtime>()
  #size: number
  #stopped = false

  constructor(size: number, ports: FleetPorts, handlers: FleetHandlers) {
    this.#ports = ports
    this.#log = ports.log
    this.#handlers = handlers
    this.#size = size
    this.#probes = new Probes(ports, () => this.slots)
    this.#slots = places(size).map((id) => this.#newSlot(id))
  }

  /** In the order of their places, those that drain too. */
  get slots(): readonly AgentSlot[] {
    return this.#slots
  }

  /** The agents as clients see them. */
  get agents(): readonly Agent[] {
    return this.#slots.map(viewAgent)
  }

  /** How many agents it is to have. */
  get size(): number {
    return this.#size
  }

  /** Every runtime that an agent could drive since the host began. */
  get runtimes(): readonly Runtime[] {
    return [...this.#runtimes.values()]
  }

  /** Undefined while no agent has told them, and for a runtime without a driver. */
  capabilities(runtime: RuntimeName): RuntimeCapabilities | undefined {
    return capabilitiesOf(runtime, this.#runtimes, this.#ports.settings.current.acpAgents)
  }

  /** Launches what is missing; the highest places that are too many drain. */
  resize(size: number): void {
    if (this.#stopped) return
    this.#size = size
    for (const slot of [...this.#slots]) {
      if (!this.#isWanted(slot)) slot.drain()
      else if (slot.isDraining) slot.keep()
    }
    this.#fill()
    this.#handlers.available()
  }

  #isWanted(slot: AgentSlot): boolean {
    return places(this.#size).includes(slot.id)
  }

  /** A place whose agent is still ending is filled when it is gone. */
  #fill(): void {
    for (const id of places(this.#size)) {
      if (this.slot(id) !== undefined) continue
      const slot = this.#newSlot(id)
      this.#slots = [...this.#slots, slot].sort(byPlace)
      slot.launch()
    }
  }

  #newSlot(id: AgentId): AgentSlot {
    return new AgentSlot(id, this.#ports, {
      up: (slot) => {
        for (const runtime of slot.runtimes) {
          if (this.#runtimes.has(runtime.runtime)) continue
          this.#runtimes.set(runtime.runtime, runtime)
          this.#handlers.learned(runtime.runtime)
        }
        this.#probes.up()
        this.#handlers.available()
      },
      message: (slot, message) => this.#message(slot, message),
      isStoring: (lease) => this.#handlers.isStoring(lease),
      gone: (slot, hold, detail) => {
        this.#probes.lost(slot)
        if (slot.isDraining && !this.#stopped) {
          this.#slots = this.#slots.filter((other) => other !== slot)
          this.#handlers.changed(slot.id)
          this.#fill()
        }
        if (hold !== null) this.#handlers.lost(slot, hold, detail)
      },
      changed: (slot) => this.#handlers.changed(slot.id),
    })
  }

  launch(): void {
    for (const slot of this.slots) slot.launch()
  }

  get idle(): readonly AgentId[] {
    return this.slots.filter((slot) => slot.isIdle).map((slot) => slot.id)
  }

  get anyUp(): boolean {
    return this.slots.some((slot) => slot.isUp)
  }

  slot(id: string): AgentSlot | undefined {
    return this.slots.find((slot) => slot.id === id)
  }

  /** To the agent that holds the lease; nothing when none does any more. */
  tell(lease: LeaseId, message: z.input<typeof ToAgent>): void {
    const slot = this.slots.find(({ hold }) => hold?.lease === lease)
    if (slot === undefined) {
      this.#log.debug('nobody holds the lease of a message', { lease, type: message.type })
      return
    }
    slot.send(message)
  }

  free(lease: LeaseId): void {
    for (const slot of this.slots) slot.free(lease)
  }

  /** Which agents are drained, as the holder of the lease sees it. */
  drained(lease: LeaseId): Drained {
    if (this.slots.every(({ leaves }) => leaves)) return 'all'
    return this.slots.some(({ hold, leaves }) => leaves && hold?.lease === lease) ? 'own' : 'none'
  }

  /** Ends the agent that holds the lease. */
  killHolder(lease: LeaseId, detail: string): void {
    this.slots.find(({ hold }) => hold?.lease === lease)?.kill(detail)
  }

  ask<P extends z.infer<typeof Probe>>(probe: P, limitMs: number) {
    return this.#probes.ask(probe, limitMs)
  }

  async stop(limitMs: number): Promise<void> {
    this.#stopped = true
    this.#probes.close()
    await Promise.all(this.slots.map((slot) => slot.stop(limitMs)))
  }

  #message(slot: AgentSlot, message: AgentMessage): void {
    switch (message.type) {
      case 'items':
        this.#handlers.items(slot, message)
        break
      case 'live':
      case 'live.gone':
        if (message.lease === slot.hold?.lease) this.#handlers.live(slot, message)
        break
      case 'probe.found':
        this.#probes.found(message)
        break
      case 'heartbeat':
      case 'hello':
      case 'log':
        break
    }
  }
}

const places = (size: number): AgentId[] =>
  Array.from({ length: size }, (_, index) => AgentId.parse(`agent-${index + 1}`))

const byPlace = (a: AgentSlot, b: AgentSlot) => placeOf(a) - placeOf(b)
const placeOf = ({ id }: AgentSlot) => Number(id.slice('agent-'.length))

function viewAgent(slot: AgentSlot): Agent {
  const { vitals } = slot
  // What was told under another lease has ended with it.
  const runtime = vitals?.lease === (slot.hold?.lease ?? null) ? vitals : null
  return {
    id: slot.id,
    state: slot.state,
    session: slot.hold?.session ?? null,
    ticket: slot.hold?.ticket ?? null,
    pid: slot.pid,
    runtimePids: runtime?.runtime.map(({ pid }) => pid) ?? [],
    memoryBytes: vitals?.memoryBytes ?? null,
    runtimeMemoryBytes: runtime?.runtimeMemoryBytes ?? null,
    cpuPercent: vitals?.cpuPercent ?? null,
    restarts: slot.restarts,
    reason: slot.reason,
  }
}
