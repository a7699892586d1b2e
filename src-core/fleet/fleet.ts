import type { z } from 'zod'
import type { Probe, ToAgent } from '../../src-shared/agent-wire.ts'
import { AgentId, type LeaseId, type TicketKey } from '../../src-shared/ids.ts'
import type { Agent } from '../../src-shared/records.ts'
import type { CorePorts } from '../ports.ts'
import { type AgentMessage, AgentSlot, type Hold } from './agent-slot.ts'
import { Probes } from './probes.ts'

export type FleetHandlers = {
  items(slot: AgentSlot, message: Extract<AgentMessage, { type: 'items' }>): void
  live(slot: AgentSlot, message: Extract<AgentMessage, { type: 'live' | 'live.gone' }>): void
  /** An agent takes work or questions that it did not take before. */
  available(): void
  lost(slot: AgentSlot, hold: Hold, detail: string): void
  changed(agent: AgentId): void
}

type FleetPorts = Pick<CorePorts, 'clock' | 'ids' | 'log' | 'launcher' | 'environment' | 'paths'>

/** The agents of this machine. What of them is shown lives here, in memory; who holds what is in the rows too. */
export class Fleet {
  readonly slots: readonly AgentSlot[]
  readonly #probes: Probes
  readonly #log: FleetPorts['log']
  readonly #handlers: FleetHandlers

  constructor(size: number, ports: FleetPorts, handlers: FleetHandlers) {
    this.#log = ports.log
    this.#handlers = handlers
    this.#probes = new Probes(ports, () => this.slots)
    this.slots = Array.from(
      { length: size },
      (_, index) =>
        new AgentSlot(AgentId.parse(`agent-${index + 1}`), ports, {
          up: () => {
            this.#probes.up()
            handlers.available()
          },
          message: (slot, message) => this.#message(slot, message),
          gone: (slot, hold, detail) => {
            this.#probes.lost(slot)
            if (hold !== null) handlers.lost(slot, hold, detail)
          },
          changed: (slot) => handlers.changed(slot.id),
        }),
    )
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

  /** Ends the agent that holds the lease. */
  killHolder(lease: LeaseId, detail: string): void {
    this.slots.find(({ hold }) => hold?.lease === lease)?.kill(detail)
  }

  ask<P extends z.infer<typeof Probe>>(probe: P, limitMs: number) {
    return this.#probes.ask(probe, limitMs)
  }

  async stop(limitMs: number): Promise<void> {
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

/** An agent as clients see it; `ticket` is the key of its session's ticket. */
export function viewAgent(slot: AgentSlot, ticket: TicketKey | null): Agent {
  const { vitals } = slot
  return {
    id: slot.id,
    state: slot.state,
    session: slot.hold?.session ?? null,
    ticket,
    pid: slot.pid,
    runtimePids: vitals?.runtime.map(({ pid }) => pid) ?? [],
    memoryBytes: vitals?.memoryBytes ?? null,
    runtimeMemoryBytes: vitals?.runtimeMemoryBytes ?? null,
    cpuPercent: vitals?.cpuPercent ?? null,
    restarts: slot.restarts,
    reason: slot.reason,
  }
}
