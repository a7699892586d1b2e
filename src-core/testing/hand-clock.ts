import type { Instant } from '../../src-shared/ids.ts'
import type { BootClock } from '../ports.ts'

type Timer = { at: number; callback: () => void }

/** A clock that goes only as far as it is turned by hand. */
export class HandClock implements BootClock {
  #ms: number
  /** Of the clock on the wall, and of the time since the start of the machine. */
  #wallAhead = 0
  #slept = 0
  readonly #timers = new Set<Timer>()

  constructor(start: Instant = '2026-11-29T12:00:00.000Z') {
    this.#ms = Date.parse(start)
  }

  now(): Instant {
    return new Date(this.#ms + this.#wallAhead).toISOString()
  }

  monotonic(): number {
    return this.#ms
  }

  sinceBoot(): number {
    return this.#ms + this.#slept
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#ms + ms, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Time passes in which nothing runs, as while a machine sleeps. */
  sleep(ms: number): void {
    this.#ms += ms
  }

  /** The machine sleeps, and with it the monotonic clock. */
  suspend(ms: number): void {
    this.#slept += ms
    this.#wallAhead += ms
  }

  /** Somebody sets the clock on the wall. */
  set(ms: number): void {
    this.#wallAhead += ms
  }

  /** Turns it on, and calls back what is due, in order. */
  turn(ms: number): void {
    const until = this.#ms + ms
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
      if (due === undefined) break
      this.#timers.delete(due)
      this.#ms = Math.max(this.#ms, due.at)
      due.callback()
    }
    this.#ms = until
  }
}
