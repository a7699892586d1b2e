import type { DeliveryId } from '../../src-shared/ids.ts'
import type { DriverSignal } from './driver.ts'

/** How long what a turn tells may wait for the word that its message is kept. */
const LIMIT_MS = 300

/** As long as somebody waits for an answer to it: a tool that was called. */
const CALL_LIMIT_MS = 60

/**
 * Puts `delivered` before what comes of the message: a quick model answers sooner than the runtime writes its record.
 * Live text is never held back, nor is the end of a turn: a runtime that completes one has its message.
 */
export class DeliveredFirst {
  readonly #tell: (signal: DriverSignal) => void
  readonly #told = new Set<DeliveryId>()
  /** What the running turn began with or took, and is not told yet. */
  readonly #untold = new Set<DeliveryId>()
  #isHolding = false
  #held: (() => void)[] = []
  #limit: NodeJS.Timeout | undefined
  #callLimit: NodeJS.Timeout | undefined

  constructor(tell: (signal: DriverSignal) => void) {
    this.#tell = tell
  }

  take(signal: DriverSignal): void {
    switch (signal.type) {
      case 'live':
      case 'live.gone':
        this.#tell(signal)
        return
      case 'turn.started':
        this.release()
        this.#untold.clear()
        this.#tell(signal)
        this.#hold(signal.deliveries)
        return
      case 'turn.joined':
        this.#tell(signal)
        this.#hold(signal.deliveries)
        return
      case 'delivered':
        this.#delivered(signal)
        return
      case 'turn.ended': {
        const deliveries = [...this.#untold]
        this.#untold.clear()
        if (signal.reason === 'completed' && deliveries.length > 0) {
          this.#delivered({ type: 'delivered', at: signal.at, deliveries })
        }
        this.release()
        this.#tell(signal)
        return
      }
      case 'exited':
        this.release()
        this.#tell(signal)
        return
      default:
        if (this.#isHolding) this.#held.push(() => this.#tell(signal))
        else this.#tell(signal)
    }
  }

  /** Tells a call of the runtime, for whose answer it waits, after everything that the turn told before. */
  call(tell: () => void): void {
    if (!this.#isHolding) {
      tell()
      return
    }
    this.#held.push(tell)
    this.#callLimit ??= setTimeout(() => this.release(), CALL_LIMIT_MS)
  }

  /** Holds nothing back any more. */
  release(): void {
    clearTimeout(this.#limit)
    clearTimeout(this.#callLimit)
    this.#callLimit = undefined
    this.#isHolding = false
    for (const tell of this.#held.splice(0)) tell()
  }

  #hold(deliveries: readonly DeliveryId[]): void {
    const untold = deliveries.filter((id) => !this.#told.has(id))
    for (const id of untold) this.#untold.add(id)
    if (untold.length === 0 || this.#isHolding) return
    this.#isHolding = true
    this.#limit = setTimeout(() => this.release(), LIMIT_MS)
  }

  #delivered(signal: DriverSignal & { type: 'delivered' }): void {
    const deliveries = signal.deliveries.filter((id) => !this.#told.has(id))
    for (const id of deliveries) {
      this.#told.add(id)
      this.#untold.delete(id)
    }
    if (deliveries.length > 0) this.#tell({ ...signal, deliveries })
    if (this.#untold.size === 0) this.release()
  }
}
