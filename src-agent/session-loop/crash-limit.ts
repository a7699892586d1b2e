import type { Clock } from '../port/clock.ts'

const CRASHES = 3
const WITHIN_MS = 60_000

/** Counts how often a runtime ended by itself lately, and how often it began no turn with what it was given. */
export class CrashLimit {
  readonly #clock: Clock
  #times: number[] = []
  #turn: number | null = null
  #inVain = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Counts one; true when it is one too many. `turn`: the number of the last turn that began, where the runtime was
   * given something to do; else null.
   */
  count(turn: number | null): boolean {
    const now = this.#clock.monotonic()
    this.#times = [...this.#times.filter((time) => now - time < WITHIN_MS), now]
    if (turn !== null) {
      this.#inVain = turn === this.#turn ? this.#inVain + 1 : 1
      this.#turn = turn
    }
    return this.#times.length >= CRASHES || this.#inVain >= CRASHES
  }
}
