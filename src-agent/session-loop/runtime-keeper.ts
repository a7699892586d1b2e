import type { Delivery, ProcessIdentity } from '../../src-shared/agent-wire.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import type { Clock } from '../port/clock.ts'
import { within } from '../port/within.ts'
import { endTree, type Marker } from '../process-tree/index.ts'
import { DeliveredFirst } from '../runtimes/delivered-first.ts'
import type {
  Driver,
  DriverSignal,
  DriverSpec,
  Recovery,
  ResumeFacts,
  RuntimeSession,
} from '../runtimes/driver.ts'
import { START_KILLED } from '../runtimes/failures.ts'

/** How long a runtime may take, in milliseconds. */
export const RUNTIME_LIMITS = {
  /** To find its program: a busy machine is no reason to fail. */
  look: 60_000,
  start: 120_000,
  resume: 180_000,
  send: 30_000,
  /** From a message that was handed over to the turn that it begins. */
  turnStart: 120_000,
  interrupt: 8_000,
  stop: 15_000,
  kill: 10_000,
} as const

const EXITED_IN_START = 'runtime.exited'

/** Holds the one runtime of a session: nothing of an earlier one is heard any more, and every wait has a limit. */
export class RuntimeKeeper {
  readonly #driver: Driver
  readonly #marker: Marker
  readonly #clock: Clock
  readonly #onSignal: (signal: DriverSignal) => void
  #session: RuntimeSession | null = null
  #order: DeliveredFirst | null = null
  #generation = 0

  constructor(
    driver: Driver,
    marker: Marker,
    clock: Clock,
    onSignal: (signal: DriverSignal) => void,
  ) {
    this.#driver = driver
    this.#marker = marker
    this.#clock = clock
    this.#onSignal = onSignal
  }

  /** The running runtime; null when none runs. */
  get session(): RuntimeSession | null {
    return this.#session
  }

  /** Starts a conversation, or resumes the one of the facts. Rejects with `BalletError`; nothing is left running. */
  async launch(spec: DriverSpec, facts: ResumeFacts | null): Promise<Recovery> {
    this.#generation += 1
    const generation = this.#generation
    const hear = (signal: DriverSignal) => {
      if (generation !== this.#generation) return
      if (signal.type === 'exited') {
        this.#generation += 1
        this.#session = null
      }
      this.#onSignal(signal)
    }
    this.#order?.release()
    const order = new DeliveredFirst(hear)
    this.#order = order
    const take = (signal: DriverSignal) => order.take(signal)
    const launched =
      facts === null
        ? this.#driver.start(spec, take).then((session) => ({ session, recovery: NOTHING }))
        : this.#driver.resume(spec, facts, take)
    const limit = facts === null ? RUNTIME_LIMITS.start : RUNTIME_LIMITS.resume
    const answer = await within(this.#clock, limit, launched)
    if (answer === 'too-late') {
      this.#generation += 1
      launched
        .then(
          ({ session }) => session.stop(),
          () => undefined,
        )
        .catch(() => undefined)
      await this.kill()
      throw new BalletError({
        code: 'runtime.time-limit',
        message: `${spec.executable} did not take a message within ${limit / 1_000} s and was ended.`,
        hint: 'Try it in a terminal in the same folder, then try again.',
      })
    }
    if (generation !== this.#generation) {
      // It was stopped, or exited, while it came up.
      await this.kill()
      throw new BalletError({
        code: EXITED_IN_START,
        message: 'The runtime ended while it started.',
        hint: 'Try again. If it stays, run it in a terminal in the same folder.',
      })
    }
    this.#session = answer.session
    return answer.recovery
  }

  /** Rejects with `BalletError` when the message was certainly not handed over. */
  async send(delivery: Delivery): Promise<'sent' | 'unknown'> {
    if (this.#session === null) throw notRunning()
    const answer = await within(this.#clock, RUNTIME_LIMITS.send, this.#session.send(delivery))
    return answer === 'too-late' ? 'unknown' : 'sent'
  }

  /** Like `send`, for the running turn. */
  async steer(delivery: Delivery): Promise<'sent' | 'unknown'> {
    if (this.#session === null) throw notRunning()
    const answer = await within(this.#clock, RUNTIME_LIMITS.send, this.#session.steer(delivery))
    return answer === 'too-late' ? 'unknown' : 'sent'
  }

  /** Tells a call that the runtime made, in the order of what it tells itself. */
  call(tell: () => void): void {
    if (this.#order === null) tell()
    else this.#order.call(tell)
  }

  async processes(): Promise<ProcessIdentity[]> {
    return (await this.#session?.processes()) ?? []
  }

  /** Ends the runtime and everything that carries the session's marker. Rejects with `processes.survived`. */
  async stop(): Promise<void> {
    const session = this.#session
    if (session !== null) {
      // What it tells while it ends is heard; a stop that fails is followed by the kill all the same.
      const stopped = session.stop().catch(() => undefined)
      await within(this.#clock, RUNTIME_LIMITS.stop, stopped)
    }
    this.#order?.release()
    this.#generation += 1
    this.#session = null
    await this.kill()
  }

  /** Ends what carries the marker, also what no driver knows. */
  async kill(): Promise<void> {
    await endTree([this.#marker], { limitMs: RUNTIME_LIMITS.kill, freezesOldest: true })
  }
}

const NOTHING: Recovery = { signals: [], fates: new Map() }

function notRunning(): BalletError {
  return new BalletError({
    code: 'runtime.exited',
    message: 'The runtime of this session does not run any more.',
    hint: 'Send a message: the same conversation goes on.',
  })
}

/** The start of a runtime was ended by something else than Ballet or the runtime itself: another may go well. */
export const wasKilledInStart = (error: unknown): error is BalletError =>
  error instanceof BalletError && (error.code === START_KILLED || error.code === EXITED_IN_START)
