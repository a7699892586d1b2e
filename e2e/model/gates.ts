import { setMaxListeners } from 'node:events'

/** Named points at which streams stop until a test lets them go on. */
export class Gates {
  readonly #released = new Set<string>()
  readonly #waiting = new Map<string, Set<() => void>>()

  release(gate: string): void {
    this.#released.add(gate)
    for (const goOn of this.#waiting.get(gate) ?? []) goOn()
  }

  /** Closes every gate again; what has passed has passed. */
  reset(): void {
    this.#released.clear()
  }

  /** True when the gate was released, false when the limit (milliseconds) or the signal came first. */
  wait(gate: string, limitMs: number, signal: AbortSignal): Promise<boolean> {
    if (this.#released.has(gate)) return Promise.resolve(true)
    if (signal.aborted) return Promise.resolve(false)
    setMaxListeners(0, signal)
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(gate) ?? new Set()
      this.#waiting.set(gate, waiting)
      const finish = (released: boolean): void => {
        waiting.delete(goOn)
        clearTimeout(timer)
        signal.removeEventListener('abort', giveUp)
        resolve(released)
      }
      const goOn = (): void => finish(true)
      const giveUp = (): void => finish(false)
      const timer = setTimeout(giveUp, limitMs)
      waiting.add(goOn)
      signal.addEventListener('abort', giveUp)
    })
  }
}
