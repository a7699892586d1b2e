import type { DeliveryId } from '../../src-shared/ids.ts'
import type { DriverSignal } from './driver.ts'

/** How long what a turn tells may wait for the word that its message is kept. */
const LIMIT_MS = 300

type Tell = (signal: DriverSignal) => void

/**
 * Puts `delivered` before what comes of the message: a quick model answers sooner than the runtime writes its record.
 * Live text is never held back, nor is the end of a turn: a runtime that completes one has its message.
 */
export function deliveredFirst(tell: Tell): Tell {
  const order = new DeliveredFirst(tell)
  return (signal) => order.take(signal)
}

class DeliveredFirst {
  readonly #tell: Tell
  readonly #told = new Set<DeliveryId>()
  /** What the running turn began with and is not told yet. */
  #untold = new Set<DeliveryId>()
  #isHolding = false
  #held: DriverSignal[] = []
  #limit: NodeJS.Timeout | undefined

  constructor(tell: Tell) {
    this.#tell = tell
  }

  take(signal: DriverSignal): void {
    switch (signal.type) {
      case 'live':
      case 'live.gone':
        this.#tell(signal)
        return
      case 'turn.started':
        this.#release()
        this.#tell(signal)
        this.#untold = new Set(signal.deliveries.filter((id) => !this.#told.has(id)))
        if (this.#untold.size > 0) {
          this.#isHolding = true
          this.#limit = setTimeout(() => this.#release(), LIMIT_MS)
        }
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
        this.#release()
        this.#tell(signal)
        return
      }
      case 'exited':
        this.#release()
        this.#tell(signal)
        return
      default:
        if (this.#isHolding) this.#held.push(signal)
        else this.#tell(signal)
    }
  }

  #delivered(signal: DriverSignal & { type: 'delivered' }): void {
    const deliveries = signal.deliveries.filter((id) => !this.#told.has(id))
    for (const id of deliveries) {
      this.#told.add(id)
      this.#untold.delete(id)
    }
    if (deliveries.length > 0) this.#tell({ ...signal, deliveries })
    if (this.#untold.size === 0) this.#release()
  }

  #release(): void {
    clearTimeout(this.#limit)
    this.#isHolding = false
    for (const signal of this.#held.splice(0)) this.#tell(signal)
  }
}
