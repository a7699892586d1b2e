import type { Clock } from '../port/clock.ts'

const CRASHES = 3
const WITHIN_MS = 60_000

/** Counts how often a runtime ended by itself lately. */
export class CrashLimit {
  readonly #clock: Clock
  #times: number[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts one; true when it is one too many. */
  count(): boolean {
    const now = this.#clock.monotonic()
    this.#times = [...this.#times.filter((time) => now - time < WITHIN_MS), now]
    return this.#times.length >= CRASHES
  }
}
