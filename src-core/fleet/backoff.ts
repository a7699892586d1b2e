import { RESTART_MAX_MS, RESTART_MS } from '../limits.ts'

/** Delays that double from one to the next, up to a limit. */
export class Backoff {
  readonly #first: number
  readonly #max: number
  #delay: number

  constructor(first: number = RESTART_MS, max: number = RESTART_MAX_MS) {
    this.#first = first
    this.#max = max
    this.#delay = first
  }

  /** Milliseconds to wait this time. */
  next(): number {
    const delay = this.#delay
    this.#delay = Math.min(this.#max, delay * 2)
    return delay
  }

  reset(): void {
    this.#delay = this.#first
  }
}
