import type { DeliveryId, Instant } from '../../../src-shared/ids.ts'
import type { DriverSignal } from '../driver.ts'
import type { LifecycleLine } from './lines.ts'

/** What was written to the runtime, and no turn has begun with it or taken it yet. */
export class HandedOver {
  #expected: DeliveryId | null = null
  #steered: DeliveryId | null = null
  /** The turn that is about to begin is interrupted. */
  interrupted = false

  get isAny(): boolean {
    return this.#expected !== null || this.#steered !== null
  }

  /** Written in the middle of a turn. */
  get steered(): DeliveryId | null {
    return this.#steered
  }

  /** A message with this id is being written: the next turn is its. */
  expect(delivery: DeliveryId): void {
    this.#expected = delivery
    this.interrupted = false
  }

  /** The message was certainly not written. */
  unexpect(): void {
    this.#expected = null
  }

  /** A message with this id is being written for the running turn. */
  steer(delivery: DeliveryId): void {
    this.#steered = delivery
  }

  /** The message for the running turn was certainly not written. */
  unsteer(): void {
    this.#steered = null
  }

  /** The running turn has taken it, or the runtime certainly does not have it any more. */
  told(type: 'turn.joined' | 'withdrawn', delivery: DeliveryId, at: Instant): DriverSignal[] {
    if (this.#steered !== delivery) return []
    this.#steered = null
    return [{ type, at, deliveries: [delivery] }]
  }

  /** What the runtime does with it by now, as it says by its id. */
  progress({ command_uuid: uuid, state }: LifecycleLine): 'begun' | 'cancelled' | null {
    if (state === 'started') return this.isOf(uuid) ? 'begun' : null
    return state === 'cancelled' && uuid === this.#steered ? 'cancelled' : null
  }

  isOf(uuid: string | undefined): boolean {
    return uuid !== undefined && (uuid === this.#expected || uuid === this.#steered)
  }

  /** A turn begins with it; what came too late for a turn begins the next one. */
  begin(): { deliveries: DeliveryId[]; interrupted: boolean } {
    const { interrupted } = this
    const first = this.#expected ?? this.#steered
    if (this.#expected === null) this.#steered = null
    this.#expected = null
    this.interrupted = false
    return { deliveries: first === null ? [] : [first], interrupted }
  }
}
