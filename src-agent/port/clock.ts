import type { Instant } from '../../src-shared/ids.ts'

/** Time as a port, so that tests run with a clock in hand. */
export type Clock = {
  now(): Instant
  /** Milliseconds that only grow, for durations. */
  monotonic(): number
  /** Calls back once after `ms`; the answer cancels it. */
  after(ms: number, callback: () => void): () => void
}

export const systemClock: Clock = {
  now: () => new Date().toISOString(),
  monotonic: () => performance.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
}
