import type { Clock } from './clock.ts'

/** A clock that moves only when a test moves it. */
export class HandClock implements Clock {
  #now = 0
  #timers: { at: number; run: () => void }[] = []

  now = () => new Date(Date.UTC(2026, 10, 29) + this.#now).toISOString()
  monotonic = () => this.#now
  after = (ms: number, run: () => void) => {
    const timer = { at: this.#now + ms, run }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  /** How many timers have not come yet. */
  get planned(): number {
    return this.#timers.length
  }

  advance(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const due = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0]
      if (due === undefined) break
      this.#timers = this.#timers.filter((timer) => timer !== due)
      this.#now = due.at
      due.run()
    }
    this.#now = end
  }
}
