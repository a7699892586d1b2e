import type { DeliveryId } from '../../src-shared/ids.ts'
import type { DriverSignal } from './driver.ts'

/** How long what a turn tells may wait for the word that its message is kept. */
const LIMIT_MS = 300

type Tell = (signal: DriverSignal) => void

/**
 * Puts `delivered` before what comes of the message: a quick model answers sooner than the runtime writes its record.
 * Live text is never held back, nor is the end of a turn: a runtime that ends one in order has its message.
 */
export function deliveredFirst(tell: Tell): Tell {
  const order = new DeliveredFirst(tell)
  return (signal) => order.take(signal)
}

class DeliveredFirst {
  readonly #tell: Tell
  readonly #told = new Set<DeliveryId>()
  #waitsFor = new Set<DeliveryId>()
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
        this.#waitsFor = new Set(signal.deliveries.filter((id) => !this.#told.has(id)))
        if (this.#waitsFor.size > 0) {
          this.#limit = setTimeout(() => this.#release(), LIMIT_MS)
        }
        return
      case 'delivered':
        this.#delivered(signal)
        return
      case 'turn.ended': {
        const deliveries = [...this.#waitsFor]
        if (signal.reason !== 'killed' && deliveries.length > 0) {
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
        if (this.#waitsFor.size > 0) this.#held.push(signal)
        else this.#tell(signal)
    }
  }

  #delivered(signal: DriverSignal & { type: 'delivered' }): void {
    const deliveries = signal.deliveries.filter((id) => !this.#told.has(id))
    for (const id of deliveries) {
      this.#told.add(id)
      this.#waitsFor.delete(id)
    }
    if (deliveries.length > 0) this.#tell({ ...signal, deliveries })
    if (this.#waitsFor.size === 0) this.#release()
  }

  #release(): void {
    clearTimeout(this.#limit)
    this.#waitsFor.clear()
    for (const signal of this.#held.splice(0)) this.#tell(signal)
  }
}
