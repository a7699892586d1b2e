import {
  AGENT_WIRE_VERSION,
  type FromAgent,
  type ProcessIdentity,
  type SessionSpec,
  ToAgent,
} from '../../src-shared/agent-wire.ts'
import type { Channel } from '../../src-shared/channel.ts'
import type { LeaseId } from '../../src-shared/ids.ts'
import { assertNever } from '../../src-shared/refusal.ts'
import type { Clock } from '../port/clock.ts'
import { Outgoing } from '../port/outgoing.ts'
import { writeSpool } from '../port/spool.ts'
import { within } from '../port/within.ts'
import { runProbe } from '../probes/probe.ts'
import type { Driver } from '../runtimes/driver.ts'
import { type Drivers, driverOf } from '../runtimes/registry.ts'
import { refusalOf } from '../workspace/failure.ts'
import type { Log } from './context.ts'
import { type Heartbeat, startHeartbeat } from './heartbeat.ts'
import { SessionLoop } from './session-loop.ts'

/** How long an agent that ends waits for its processes to end, and for the host to store the rest. */
const END_TREE_MS = 3_000
const STORED_MS = 2_000

type Init = ToAgent & { type: 'init' }
type Held = { outgoing: Outgoing; loop: SessionLoop | null }

export type AgentOptions = {
  channel: Channel
  drivers: Drivers
  clock: Clock
  own: ProcessIdentity
}

/** One agent: takes the host's messages and runs at most one session at a time. */
export class Agent {
  readonly #options: AgentOptions
  #init: Init | null = null
  /** The running session's lease, and earlier ones of which something is not stored yet. */
  readonly #leases = new Map<LeaseId, Held>()
  #current: LeaseId | null = null
  #heartbeat: Heartbeat | null = null
  #leaving: Promise<void> | null = null
  /** Aborted when the agent leaves. */
  readonly #leave = new AbortController()
  readonly #probes = new Set<Promise<unknown>>()

  constructor(options: AgentOptions) {
    this.#options = options
    const { channel, own } = options
    channel.onMessage((message) => this.#receive(message))
    const runtimes = Object.values(options.drivers).map((driver: Driver) => {
      const { runtime, capabilities, versions } = driver
      return { runtime, capabilities, versions }
    })
    this.#send({ type: 'hello', wire: AGENT_WIRE_VERSION, process: own, runtimes })
  }

  log(
    level: 'debug' | 'info' | 'warn' | 'error',
    message: string,
    fields: Record<string, unknown> = {},
  ): void {
    this.#send({ type: 'log', level, message, fields })
  }

  /**
   * Ends the running session's processes and leaves in the spool what the host did not store. `canStore`: the host
   * is still there and may store it itself.
   */
  leave(canStore: boolean): Promise<void> {
    this.#leaving ??= this.#handOver(canStore)
    return this.#leaving
  }

  async #handOver(canStore: boolean): Promise<void> {
    this.#heartbeat?.stop()
    this.#leave.abort()
    await Promise.all([this.#handOverSession(canStore), this.#endProbes()])
  }

  /** What they started is ended too. */
  async #endProbes(): Promise<void> {
    await within(this.#options.clock, END_TREE_MS, Promise.all(this.#probes))
  }

  async #handOverSession(canStore: boolean): Promise<void> {
    const loop = this.#currentLoop()
    if (loop === null) {
      if (canStore) await this.#untilStored()
      this.spool()
      return
    }
    await loop.handOver(END_TREE_MS, () => {
      // First of all: this process may be ended at any moment now.
      if (!canStore) this.spool()
    })
    if (canStore) await this.#untilStored()
    this.spool()
  }

  /** Writes what is not acknowledged, and sends nothing any more. Synchronous. */
  spool(): void {
    for (const [lease, { outgoing }] of this.#leases) {
      const batch = outgoing.unacknowledged()
      outgoing.close()
      this.#leases.delete(lease)
      if (batch !== null && this.#init !== null) writeSpool(this.#init.dataDir, batch)
    }
  }

  async #untilStored(): Promise<void> {
    const open = [...this.#leases.values()].map(({ outgoing }) => outgoing.settled(STORED_MS))
    await Promise.all(open)
  }

  #send(message: FromAgent): void {
    this.#options.channel.send(message)
  }

  #receive(message: unknown): void {
    const decoded = ToAgent.safeParse(message)
    if (!decoded.success) {
      this.log('error', 'a message of the host was refused: it does not fit the schema', {
        issues: decoded.error.issues.slice(0, 5),
      })
      return
    }
    if (this.#leaving !== null && decoded.data.type !== 'items.ack') return
    this.#handle(decoded.data)
  }

  #handle(message: ToAgent): void {
    switch (message.type) {
      case 'init':
        this.#begin(message)
        return
      case 'session.start':
        this.#startSession(message.spec)
        return
      case 'items.ack':
        this.#acknowledge(message.lease, message.n)
        return
      case 'input.deliver':
        this.#loopOf(message)?.deliver(message.delivery)
        return
      case 'turn.interrupt':
        this.#loopOf(message)?.interrupt()
        return
      case 'request.answer': {
        const { request, outcome, text, grants } = message
        const answer = { outcome, ...(text === undefined ? {} : { text }) }
        this.#loopOf(message)?.answerRequest(request, answer, grants)
        return
      }
      case 'mcp.answer': {
        const { call, isError, text } = message
        this.#loopOf(message)?.answerCall(call, { isError, text })
        return
      }
      case 'session.finish':
        void this.#loopOf(message)?.finish(message.message)
        return
      case 'session.stop':
        void this.#loopOf(message)?.stop()
        return
      case 'session.park':
        void this.#loopOf(message)?.park(message)
        return
      case 'session.release':
        void this.#loopOf(message)?.release()
        return
      case 'probe':
        void this.#probe(message)
        return
      case 'shutdown':
        // The entry waits for this and ends the process.
        void this.leave(true).finally(() => this.#options.channel.close())
        return
      default:
        assertNever(message)
    }
  }

  #begin(init: Init): void {
    this.#init = init
    const { clock, own } = this.#options
    this.#heartbeat?.stop()
    this.#heartbeat = startHeartbeat({
      everyMs: init.heartbeatMs,
      own,
      clock,
      lease: () => this.#current,
      processes: async () => (await this.#currentLoop()?.processes()) ?? [],
      send: (message) => this.#send(message),
    })
  }

  #startSession(spec: SessionSpec): void {
    const { clock, drivers } = this.#options
    if (this.#init === null) {
      this.log('error', 'a session was started before the agent was told its environment', {
        session: spec.session,
      })
      return
    }
    if (this.#leases.has(spec.lease)) return
    const held: Held = { loop: null, outgoing: this.#outgoingOf(spec.lease, () => held.loop) }
    this.#leases.set(spec.lease, held)
    const driver = driverOf(drivers, spec.runtime, spec.acp)
    if (this.#current !== null || driver === undefined) {
      const refusal =
        driver === undefined
          ? {
              code: 'runtime.no-driver',
              message: `This build of Ballet cannot drive ${spec.runtime}.`,
              hint: 'Update Ballet, or choose another runtime.',
            }
          : { code: 'agent.busy', message: 'The agent runs another session.' }
      held.outgoing.item({ type: 'ended', at: clock.now(), outcome: 'failed', kept: true, refusal })
      return
    }
    this.#current = spec.lease
    held.loop = new SessionLoop({
      spec,
      dataDir: this.#init.dataDir,
      env: this.#init.env,
      driver,
      outgoing: held.outgoing,
      clock,
      log: (...entry) => this.log(...entry),
      onRuntime: () => this.#heartbeat?.soon(),
      onEnded: () => {
        this.#current = null
        this.#heartbeat?.soon()
      },
    })
    held.loop.start()
  }

  #outgoingOf(lease: LeaseId, loop: () => SessionLoop | null): Outgoing {
    return new Outgoing({
      lease,
      clock: this.#options.clock,
      send: (message) => this.#send(message),
      onPressure: (pressure) => loop()?.onPressure(pressure),
    })
  }

  #acknowledge(lease: LeaseId, n: number): void {
    const held = this.#leases.get(lease)
    held?.outgoing.ack(n)
    if (held === undefined || !held.outgoing.isSettled || held.loop?.isEnded === false) return
    held.outgoing.close()
    this.#leases.delete(lease)
  }

  #loopOf({ lease, type }: { lease: LeaseId; type: string }): SessionLoop | null {
    const loop = this.#leases.get(lease)?.loop ?? null
    // Late messages of an ended lease are no one's fault.
    if (loop === null) this.log('debug', 'a message came for a lease that is over', { lease, type })
    return loop
  }

  #currentLoop(): SessionLoop | null {
    return this.#current === null ? null : (this.#leases.get(this.#current)?.loop ?? null)
  }

  async #probe({ id, probe, limitMs }: ToAgent & { type: 'probe' }): Promise<void> {
    const { clock, drivers } = this.#options
    if (this.#init === null) {
      const refusal = { code: 'agent.not-ready', message: 'The agent was not told its folder yet.' }
      this.#send({ type: 'probe.found', id, finding: null, refusal })
      return
    }
    const { dataDir, env } = this.#init
    const options = {
      dataDir,
      env,
      drivers,
      clock,
      signal: this.#leave.signal,
      log: (...entry: Parameters<Log>) => this.log(...entry),
      running: this.#probes,
    }
    const found = await runProbe(probe, limitMs, options).catch((error: unknown) => ({
      finding: null,
      refusal: refusalOf(error, 'looking'),
    }))
    // What this agent's own end cut is no answer: the host asks another one.
    if (this.#leave.signal.aborted && found.finding === null) return
    this.#send({ type: 'probe.found', id, ...found })
  }
}
