import type { Delivery, OpenDelivery } from '../../src-shared/agent-wire.ts'
import type { DeliveryId } from '../../src-shared/ids.ts'

export type Open = OpenDelivery & {
  /** A turn has begun with it, or has taken it. */
  began: boolean
  /** The runtime's own record holds it. */
  kept: boolean
}

/** What waits for the runtime, and what it was given and may still lose. */
export class Deliveries {
  readonly #known = new Set<DeliveryId>()
  #queue: Delivery[] = []
  #open: Open[]

  constructor(open: readonly OpenDelivery[]) {
    this.#open = open.map((each) => ({ ...each, began: false, kept: false }))
    for (const { id } of open) this.#known.add(id)
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0
  }

  get hasOpen(): boolean {
    return this.#open.length > 0
  }

  /** A message was handed over, and no turn has begun with it or taken it yet. */
  get expectsTurn(): boolean {
    return this.#open.some(({ began }) => !began)
  }

  /** Like `expectsTurn`, for this one. */
  expects(id: DeliveryId): boolean {
    return this.#open.some((each) => each.id === id && !each.began)
  }

  /** A turn that others began has taken it. */
  hasJoined(id: DeliveryId): boolean {
    return this.#open.some((each) => each.id === id && each.steer && each.began)
  }

  /** False when it came before. */
  add(delivery: Delivery): boolean {
    if (this.#known.has(delivery.id)) return false
    this.#known.add(delivery.id)
    this.#queue.push(delivery)
    return true
  }

  /** The next one, open from now on; it begins a turn. */
  take(): Delivery | undefined {
    const delivery = this.#queue.shift()
    if (delivery !== undefined) this.#opened(delivery, false)
    return delivery
  }

  /** The next one that is for a running turn, open from now on. */
  takeSteer(): Delivery | undefined {
    const delivery = this.#queue.find(({ steer }) => steer === true)
    if (delivery === undefined) return undefined
    this.#queue = this.#queue.filter((other) => other !== delivery)
    this.#opened(delivery, true)
    return delivery
  }

  began(ids: readonly DeliveryId[]): void {
    this.#mark(ids, { began: true, steer: false })
  }

  joined(ids: readonly DeliveryId[]): void {
    this.#mark(ids, { began: true })
  }

  kept(ids: readonly DeliveryId[]): void {
    this.#mark(ids, { kept: true })
  }

  /** All that are open, which are not any more. */
  takeOpen(): Open[] {
    const open = this.#open
    this.#open = []
    return open
  }

  /** It is not open any more. */
  drop(id: DeliveryId): void {
    this.#open = this.#open.filter((each) => each.id !== id)
  }

  /** For the driver that brings the runtime back. */
  openForResume(): OpenDelivery[] {
    return this.#open.map(({ id, inputs, steer }) => ({ id, inputs: [...inputs], steer }))
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

  #opened({ id, inputs }: Delivery, steer: boolean): void {
    this.#open.push({ id, inputs, steer, began: false, kept: false })
  }

  /** What has begun and is kept is not open any more. */
  #mark(ids: readonly DeliveryId[], change: Partial<Open>): void {
    this.#open = this.#open
      .map((each) => (ids.includes(each.id) ? { ...each, ...change } : each))
      .filter(({ began, kept }) => !(began && kept))
  }
}
