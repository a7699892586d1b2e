import type { Clock } from '../ports.ts'

/** Lets calls wait until something happens under a name. Nothing is kept for who does not wait. */
export class Wakeups {
  readonly #clock: Clock
  readonly #waiting = new Map<string, Set<() => void>>()
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  wake(name: string): void {
    for (const wake of [...(this.#waiting.get(name) ?? [])]) wake()
  }

  /** Nobody waits any more, now and later. */
  close(): void {
    this.#closed = true
    for (const name of [...this.#waiting.keys()]) this.wake(name)
  }

  /** Resolves at the next `wake` of the name, after `ms`, or when the signal aborts; false when it is no use to wait on. */
  wait(name: string, ms: number, signal: AbortSignal | undefined): Promise<boolean> {
    if (ms <= 0 || this.#closed || signal?.aborted === true) return Promise.resolve(false)
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(name) ?? new Set()
      this.#waiting.set(name, waiting)
      const done = (woken: boolean) => {
        cancel()
        signal?.removeEventListener('abort', aborted)
        waiting.delete(wake)
        if (waiting.size === 0) this.#waiting.delete(name)
        resolve(woken && !this.#closed)
      }
      const wake = () => done(true)
      const aborted = () => done(false)
      const cancel = this.#clock.after(ms, () => done(false))
      signal?.addEventListener('abort', aborted, { once: true })
      waiting.add(wake)
    })
  }
}
