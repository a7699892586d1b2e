import type { DeliveryId } from '../../../src-shared/ids.ts'

/** What was handed to the server, by the delivery's id, which stands in the message's own part. */
export class HandedOver {
  #expected: DeliveryId | null = null
  /** Of the running turn: in the record, and not answered yet when `message` is set. */
  #steered: { delivery: DeliveryId; message: string | null } | null = null

  get isAny(): boolean {
    return this.#expected !== null || this.#steered !== null
  }

  get expected(): DeliveryId | null {
    return this.#expected
  }

  get steered(): { delivery: DeliveryId; message: string | null } | null {
    return this.#steered
  }

  expect(delivery: DeliveryId | null): void {
    this.#expected = delivery
  }

  steer(delivery: DeliveryId | null): void {
    this.#steered = delivery === null ? null : { delivery, message: null }
  }

  /** The server has it as this message. */
  steeredAs(message: string): void {
    if (this.#steered !== null) this.#steered.message = message
  }
}

/** The delivery that a part of a message says it is. */
export function deliveryOf(part: {
  metadata?: Record<string, unknown> | undefined
}): string | undefined {
  const value = part.metadata?.[DELIVERY_FIELD]
  return typeof value === 'string' ? value : undefined
}

/** Kept with the text of a message, in the server's record and in an export. */
export const DELIVERY_FIELD = 'balletDelivery'
