import type { z } from 'zod'
import { AGENT_WIRE_VERSION, FromAgent, type ToAgent } from '../../src-shared/agent-wire.ts'
import type { AgentId } from '../../src-shared/ids.ts'
import type { Runtime } from '../../src-shared/runtimes.ts'
import { HEARTBEAT_MS, HELLO_MS, KILL_MS, LAST_WORDS_MS, SILENCE_MS } from '../limits.ts'
import type { AgentProcess, CorePorts } from '../ports.ts'

export type AgentMessage = z.infer<typeof FromAgent>

/** What a heartbeat said last. */
export type Vitals = Omit<Extract<AgentMessage, { type: 'heartbeat' }>, 'type'>

export type SlotPorts = Pick<CorePorts, 'clock' | 'log' | 'launcher' | 'environment' | 'paths'>

/** An agent whose messages did not decode so often in one life is ended. */
const MALFORMED_LIMIT = 3

type LifeHandlers = {
  up(): void
  message(message: AgentMessage): void
  vitals(): void
  gone(detail: string): void
}

/** One process of a slot, from launch to end. */
export class AgentLife {
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
