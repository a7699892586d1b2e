import type { z } from 'zod'
import { AGENT_STARTS } from '../../src-shared/agent-reasons.ts'
import type { ToAgent } from '../../src-shared/agent-wire.ts'
import type { AgentId, LeaseId, SessionId, TicketKey } from '../../src-shared/ids.ts'
import type { AgentState } from '../../src-shared/records.ts'
import type { Runtime } from '../../src-shared/runtimes.ts'
import { HEALTHY_MS, SHUTDOWN_MS } from '../limits.ts'
import { AgentLife, type AgentMessage, type SlotPorts, type Vitals } from './agent-life.ts'
import { Backoff } from './backoff.ts'

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

/** Heartbeats in a row that name another lease than the agent was given, before it is ended. */
const DENIAL_LIMIT = 5

const DENIED = 'does not know of its session any more'

/** Why a drained agent is offline. */
const DRAINED = 'drained: it takes no session until that is taken back'

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
  /** Somebody drained it: it takes no sessions, and does not run, until that is taken back. */
  #away = false
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
    return this.isUp && this.#hold === null && !this.#isEnding
  }

  /** Its process takes no more sessions; one that was told to end does, also when its place is wanted again. */
  get #isEnding(): boolean {
    return this.#stopping || this.leaves || this.#life?.isToldToEnd === true
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
    if (this.#isEnding) return 'draining'
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
    else if (this.#away) this.#endAway()
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

  /** It takes no more sessions: its place goes, or somebody drained it. */
  get leaves(): boolean {
    return this.#draining || this.#away
  }

  /** Ends the agent when it holds no session any more, and does not launch it again before `takeBack`. */
  sendAway(): void {
    if (this.#away) return
    this.#away = true
    this.#handlers.changed(this)
    if (this.#hold === null && !this.#draining) this.#endAway()
  }

  takeBack(): void {
    if (!this.#away) return
    this.#away = false
    // One that is ending is launched again when it is gone.
    if (this.#life === null && !this.#stopping && !this.#draining) this.launch()
    else this.#handlers.changed(this)
  }

  #endAway(): void {
    this.#cancelRestart?.()
    this.#cancelRestart = null
    this.#reason = DRAINED
    const life = this.#life
    if (life === null) {
      this.#handlers.changed(this)
      return
    }
    life.isToldToEnd = true
    life.send({ type: 'shutdown' })
    life.after(SHUTDOWN_MS, () => life.kill('did not end in time'))
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

  /** Only while the lease is its own: the next process of the place has nothing to do with it. */
  sendHeld(lease: LeaseId, message: z.input<typeof ToAgent>): void {
    if (this.#hold?.lease === lease) this.send(message)
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

  /**
   * An agent that does not know of its session after a while has lost it, unless its end only waits to be stored. One
   * that goes on with a session that it was not given would take no other.
   */
  #checkHold(life: AgentLife, { lease }: Vitals): void {
    const held = this.#hold?.lease ?? null
    const denied = lease !== held && (held === null || !this.#handlers.isStoring(held))
    life.denials = denied ? life.denials + 1 : 0
    if (life.denials < DENIAL_LIMIT) return
    life.kill(held === null ? 'runs a session that is not its own' : DENIED)
  }

  #gone(detail: string): void {
    const hold = this.#hold
    const life = this.#life
    this.#life = null
    this.#hold = null
    this.#reason = detail
    if (this.#stopping || this.#draining) this.#ports.log.info(`${this.id} ${detail}`)
    else if (this.#away) {
      this.#ports.log.info(`${this.id} ${detail}`)
      this.#reason = DRAINED
    } else if (life?.isToldToEnd === true) this.launch()
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
