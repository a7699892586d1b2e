import type { Delivery } from '../../src-shared/agent-wire.ts'
import type { DeliveryId } from '../../src-shared/ids.ts'

type OpenIds = Pick<Delivery, 'id' | 'inputs'>

type Open = OpenIds & {
  /** A turn has begun with it. */
  began: boolean
  /** The runtime's own record holds it. */
  kept: boolean
}

/** What waits for the runtime, and the one delivery that it was given and may still lose. */
export class Deliveries {
  readonly #known = new Set<DeliveryId>()
  #queue: Delivery[] = []
  #open: Open | null = null

  constructor(open: OpenIds | null) {
    if (open !== null) {
      this.#open = { ...open, began: false, kept: false }
      this.#known.add(open.id)
    }
  }

  get open(): Readonly<Open> | null {
    return this.#open
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0
  }

  /** False when it came before. */
  add(delivery: Delivery): boolean {
    if (this.#known.has(delivery.id)) return false
    this.#known.add(delivery.id)
    this.#queue.push(delivery)
    return true
  }

  /** The next one, open from now on. */
  take(): Delivery | undefined {
    const delivery = this.#queue.shift()
    if (delivery !== undefined) {
      this.#open = { id: delivery.id, inputs: delivery.inputs, began: false, kept: false }
    }
    return delivery
  }

  began(ids: readonly DeliveryId[]): void {
    this.#mark(ids, 'began')
  }

  kept(ids: readonly DeliveryId[]): void {
    this.#mark(ids, 'kept')
  }

  takeOpen(): Open | null {
    const open = this.#open
    this.#open = null
    return open
  }

  /** For the driver that brings the runtime back. */
  openForResume(): OpenIds | null {
    return this.#open === null ? null : { id: this.#open.id, inputs: [...this.#open.inputs] }
  }

  /** Everything that was not handed over. They may come again. */
  giveBack(): DeliveryId[] {
    const ids = this.#queue.map(({ id }) => id)
    this.#queue = []
    for (const id of ids) this.#known.delete(id)
    return ids
  }

  forget(id: DeliveryId): void {
    this.#known.delete(id)
  }
  /** With both nothing is open any more. */
  #mark(ids: readonly DeliveryId[], what: 'began' | 'kept'): void {
    if (this.#open === null || !ids.includes(this.#open.id)) return
    this.#open[what] = true
    if (this.#open.began && this.#open.kept) this.#open = null
  }
}
