import type { z } from 'zod'
import { AGENT_STARTS } from '../../src-shared/agent-reasons.ts'
import { AGENT_WIRE_VERSION, FromAgent, type ToAgent } from '../../src-shared/agent-wire.ts'
import type { AgentId, LeaseId, SessionId, TicketKey } from '../../src-shared/ids.ts'
import type { AgentState, Runtime } from '../../src-shared/records.ts'
import {
  HEALTHY_MS,
  HEARTBEAT_MS,
  HELLO_MS,
  KILL_MS,
  LAST_WORDS_MS,
  SHUTDOWN_MS,
  SILENCE_MS,
} from '../limits.ts'
import type { AgentProcess, CorePorts } from '../ports.ts'
import { Backoff } from './backoff.ts'

export type AgentMessage = z.infer<typeof FromAgent>

/** What an agent holds: a ticket's session under a lease. */
export type Hold = { lease: LeaseId; session: SessionId; ticket: TicketKey }

export type SlotHandlers = {
  /** It said hello and takes work. */
  up(slot: AgentSlot): void
  message(slot: AgentSlot, message: AgentMessage): void
  /** Something that was told under the lease is not stored yet. */
  isStoring(lease: LeaseId): boolean
  /** Its process is gone; `hold` is what it held. */
  gone(slot: AgentSlot, hold: Hold | null, detail: string): void
  /** Something that people see of it changed. */
  changed(slot: AgentSlot): void
}

/** What a heartbeat said last. */
export type Vitals = Omit<Extract<AgentMessage, { type: 'heartbeat' }>, 'type'>

type SlotPorts = Pick<CorePorts, 'clock' | 'log' | 'launcher' | 'environment' | 'paths'>

/** An agent whose messages did not decode so often in one life is ended. */
const MALFORMED_LIMIT = 3

/** Heartbeats in a row that deny the lease which the agent was given, before it is ended. */
const DENIAL_LIMIT = 5

/** One place of the fleet: launches its agent, watches it, and launches it again. */
export class AgentSlot {
  readonly id: AgentId
  readonly #ports: SlotPorts
  readonly #handlers: SlotHandlers
  readonly #backoff: Backoff
  #life: AgentLife | null = null
  #hold: Hold | null = null
  #stopping = false
  /** Its place goes: it takes no more sessions and ends when it holds none. */
  #draining = false
  #cancelRestart: (() => void) | null = null
  #restarts = 0
  #reason: string = AGENT_STARTS[0]

  constructor(id: AgentId, ports: SlotPorts, handlers: SlotHandlers) {
    this.id = id
    this.#ports = ports
    this.#handlers = handlers
    this.#backoff = new Backoff()
  }

  get hold(): Hold | null {
    return this.#hold
  }

  get isUp(): boolean {
    return this.#life?.isUp === true
  }

  get isIdle(): boolean {
    return this.isUp && this.#hold === null && !this.#stopping && !this.#draining
  }

  get restarts(): number {
    return this.#restarts
  }

  get reason(): string {
    return this.#reason
  }

  get pid(): number | null {
    return this.#life?.pid ?? null
  }

  get vitals(): Vitals | null {
    return this.#life?.vitals ?? null
  }

  /** What its process can drive; none while it is not up. */
  get runtimes(): readonly Runtime[] {
    return this.#life?.runtimes ?? []
  }

  get state(): AgentState {
    if (!this.isUp) return 'offline'
    if (this.#stopping || this.#draining) return 'draining'
    return this.#hold === null ? 'idle' : 'busy'
  }

  launch(): void {
    this.#cancelRestart = null
    this.#reason = AGENT_STARTS[1]
    const life = new AgentLife(this.id, this.#ports, {
      up: () => {
        this.#reason = ''
        life.after(HEALTHY_MS, () => this.#backoff.reset())
        this.#handlers.changed(this)
        this.#handlers.up(this)
      },
      message: (message) => {
        if (message.type === 'heartbeat') this.#checkHold(life, message)
        this.#handlers.message(this, message)
      },
      vitals: () => this.#handlers.changed(this),
      gone: (detail) => this.#gone(detail),
    })
    this.#life = life
    life.begin()
    this.#handlers.changed(this)
  }

  /** Reserves the agent for a session; false when it is not free any more. */
  take(hold: Hold): boolean {
    if (!this.isIdle) return false
    this.#hold = hold
    this.#handlers.changed(this)
    return true
  }

  /** It may take another session. */
  free(lease: LeaseId): void {
    if (this.#hold?.lease !== lease) return
    this.#hold = null
    this.#handlers.changed(this)
    if (this.#draining) this.#endDrained()
  }

  get isDraining(): boolean {
    return this.#draining
  }

  /** Ends the agent when it holds no session any more, at once where it holds none; it is not launched again. */
  drain(): void {
    if (this.#draining) return
    this.#draining = true
    this.#handlers.changed(this)
    if (this.#hold === null) this.#endDrained()
  }

  /** It stays after all; false when it is ending already. */
  keep(): boolean {
    if (this.#stopping) return false
    this.#draining = false
    this.#handlers.changed(this)
    return true
  }

  #endDrained(): void {
    if (this.#life === null && !this.#stopping) {
      this.#stopping = true
      this.#cancelRestart?.()
      this.#cancelRestart = null
      this.#handlers.gone(this, null, `${this.id} is not needed any more`)
      return
    }
    void this.stop(SHUTDOWN_MS)
  }

  /** Lost without a word when the agent is gone: its lease then ends. */
  send(message: z.input<typeof ToAgent>): void {
    this.#life?.send(message)
  }

  /** Ends the process at once; it is launched again. */
  kill(detail: string): void {
    this.#life?.kill(detail)
  }

  /** Asks the agent to end in order; resolves when its process is gone, at the latest after both limits. */
  async stop(limitMs: number): Promise<void> {
    this.#stopping = true
    this.#cancelRestart?.()
    this.#cancelRestart = null
    const life = this.#life
    if (life === null) return
    this.#handlers.changed(this)
    life.isToldToEnd = true
    life.send({ type: 'shutdown' })
    life.after(limitMs, () => life.kill('did not end in time'))
    await life.ended
  }

  /** An agent that does not know of its session after a while has lost it, unless its end only waits to be stored. */
  #checkHold(life: AgentLife, { lease }: Vitals): void {
    const held = this.#hold?.lease
    const denied = held !== undefined && lease !== held && !this.#handlers.isStoring(held)
    life.denials = denied ? life.denials + 1 : 0
    if (life.denials >= DENIAL_LIMIT) life.kill('does not know of its session any more')
  }

  #gone(detail: string): void {
    const hold = this.#hold
    this.#life = null
    this.#hold = null
    this.#reason = detail
    if (this.#stopping || this.#draining) this.#ports.log.info(`${this.id} ${detail}`)
    else {
      this.#ports.log.warn(`${this.id} ${detail}`, { ...hold })
      const delay = this.#backoff.next()
      this.#restarts += 1
      this.#cancelRestart = this.#ports.clock.after(delay, () => this.launch())
    }
    this.#handlers.changed(this)
    this.#handlers.gone(this, hold, `${this.id} ${detail}`)
  }
}

type LifeHandlers = {
  up(): void
  message(message: AgentMessage): void
  vitals(): void
  gone(detail: string): void
}

/** One process of a slot, from launch to end. */
class AgentLife {
  readonly ended: Promise<void>
  denials = 0
  isToldToEnd = false
  vitals: Vitals | null = null
  runtimes: readonly Runtime[] = []
  /** It takes work. */
  isUp = false
  readonly #id: AgentId
  readonly #ports: SlotPorts
  readonly #handlers: LifeHandlers
  #settle: () => void = () => undefined
  #process: AgentProcess | null = null
  #timers = new Set<() => void>()
  #over = false
  #closed = false
  #exit: string | null = null
  #cause: string | null = null
  #heardAt = 0
  #malformed = 0

  constructor(id: AgentId, ports: SlotPorts, handlers: LifeHandlers) {
    this.#id = id
    this.#ports = ports
    this.#handlers = handlers
    this.ended = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  get pid(): number | null {
    return this.#process?.pid() ?? null
  }

  begin(): void {
    const { launcher, environment, paths } = this.#ports
    let process: AgentProcess
    try {
      process = launcher.launch(this.#id, { ...environment, BALLET_AGENT: this.#id })
    } catch (error) {
      this.#ports.log.error(`${this.#id} could not be launched`, { error })
      this.after(0, () => this.#finish('could not be launched'))
      return
    }
    this.#process = process
    process.channel.onClose(() => {
      this.#closed = true
      this.isUp = false
      if (this.#exit !== null) this.#finish(this.#exit)
      // Of a process that died the channel ends first.
      else this.after(LAST_WORDS_MS, () => this.kill('closed its channel'))
    })
    process.onExit(({ code, reason }) => {
      const why = reason || (code === null ? 'was killed' : `exit code ${code}`)
      const how = this.isToldToEnd && code === 0 ? 'ended in order' : `died (${why})`
      this.#exit = this.#cause ?? how
      if (this.#closed) this.#finish(this.#exit)
      else this.after(LAST_WORDS_MS, () => this.#finish(this.#exit ?? 'died'))
    })
    process.channel.onMessage((raw) => this.#receive(raw))
    this.send({
      type: 'init',
      wire: AGENT_WIRE_VERSION,
      agent: this.#id,
      dataDir: paths.dataDir,
      heartbeatMs: HEARTBEAT_MS,
      env: { ...environment },
    })
    this.after(HELLO_MS, () => {
      if (!this.isUp) this.kill(`did not say hello within ${HELLO_MS / 1_000} s`)
    })
  }

  send(message: z.input<typeof ToAgent>): void {
    if (this.#over || this.#closed) return
    this.#process?.channel.send(message)
  }

  kill(cause: string): void {
    if (this.#over || this.#cause !== null) return
    this.#cause = cause
    this.isUp = false
    if (this.#exit === null) this.#ports.log.warn(`${this.#id} is ended: it ${cause}`)
    this.#process?.kill()
    this.after(KILL_MS, () => {
      this.#ports.log.error(`${this.#id} cannot be ended`, { pid: this.pid })
      this.#finish(cause)
    })
  }

  /** A timer that ends with the process. */
  after(ms: number, callback: () => void): void {
    if (this.#over) return
    const cancel = this.#ports.clock.after(ms, () => {
      this.#timers.delete(cancel)
      callback()
    })
    this.#timers.add(cancel)
  }

  #receive(raw: unknown): void {
    if (this.#over) return
    this.#heardAt = this.#ports.clock.monotonic()
    const decoded = FromAgent.safeParse(raw)
    if (!decoded.success) {
      this.#malformed += 1
      this.#ports.log.error(`${this.#id} sent what does not decode`, {
        issues: decoded.error.issues.slice(0, 5),
        count: this.#malformed,
      })
      if (this.#malformed >= MALFORMED_LIMIT) this.kill('sent what does not decode')
      return
    }
    const message = decoded.data
    switch (message.type) {
      case 'hello':
        if (message.wire !== AGENT_WIRE_VERSION) {
          this.kill(`speaks version ${message.wire} of the wire, not ${AGENT_WIRE_VERSION}`)
          return
        }
        if (this.isUp || this.#cause !== null) return
        this.isUp = true
        this.runtimes = message.runtimes
        this.#watch()
        this.#handlers.up()
        return
      case 'heartbeat': {
        const { type: _, ...vitals } = message
        this.vitals = vitals
        this.#handlers.vitals()
        break
      }
      case 'log':
        this.#ports.log[message.level](`${this.#id}: ${message.message}`, message.fields)
        return
    }
    this.#handlers.message(message)
  }

  /** Ends an agent that is silent; a pause of the whole machine is nobody's silence. */
  #watch(): void {
    const { clock } = this.#ports
    const every = SILENCE_MS / 3
    let checkedAt = clock.monotonic()
    const check = () => {
      const now = clock.monotonic()
      if (now - checkedAt > 2 * every) this.#heardAt = now
      checkedAt = now
      if (now - this.#heardAt >= SILENCE_MS) {
        this.kill(`was silent for ${SILENCE_MS / 1_000} s`)
        return
      }
      this.after(every, check)
    }
    this.after(every, check)
  }

  #finish(detail: string): void {
    if (this.#over) return
    this.#over = true
    this.isUp = false
    for (const cancel of this.#timers) cancel()
    this.#timers.clear()
    this.#process?.channel.close()
    this.#handlers.gone(detail)
    this.#settle()
  }
}
