import type { ToAgent } from '../../src-shared/agent-wire.ts'
import type { LeaseId } from '../../src-shared/ids.ts'
import { BalletError, type Refusal } from '../../src-shared/refusal.ts'
import type { Committed } from '../commit/committer.ts'
import type { ParkOrder, Tell } from '../decide/change.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { CorePorts } from '../ports.ts'

type Ports = Pick<CorePorts, 'log' | 'storage' | 'paths' | 'key'>

/** Without the data key nothing can be parked. */
type OnNoKey = (order: ParkOrder, refusal: Refusal) => Promise<void>

/** Tells agents what was decided, each lease in order; what a message needs besides is read first. */
export class Tells {
  readonly #ports: Ports
  readonly #fleet: Fleet
  readonly #onNoKey: OnNoKey
  /** Leases of which something is being read. */
  readonly #reading = new Map<LeaseId, Promise<void>>()

  constructor(ports: Ports, fleet: Fleet, onNoKey: OnNoKey) {
    this.#ports = ports
    this.#fleet = fleet
    this.#onNoKey = onNoKey
  }

  committed({ wanted }: Committed): void {
    for (const tell of wanted.tell) this.#tell(tell)
  }

  #tell(tell: Tell): void {
    const { lease, message, images } = tell
    const before = this.#reading.get(lease)
    if (before === undefined && images === undefined && message.type !== 'session.park') {
      this.#fleet.tell(lease, message)
      return
    }
    const done = (before ?? Promise.resolve())
      .then(async () => {
        const whole = await this.#whole(tell)
        if (whole !== null) this.#fleet.tell(lease, whole)
      })
      .catch((error: unknown) => {
        // What comes after it for the same lease is told all the same.
        this.#ports.log.error('an agent could not be told', { lease, type: message.type, error })
      })
      .then(() => {
        if (this.#reading.get(lease) === done) this.#reading.delete(lease)
      })
    this.#reading.set(lease, done)
  }

  async #whole({ message, images }: Tell): Promise<ToAgent | null> {
    if (message.type === 'session.park') return this.#withKey(message)
    if (images === undefined || message.type !== 'input.deliver') return message
    const { delivery } = message
    const read: NonNullable<typeof delivery.images> = []
    const missing: string[] = []
    for (const { blob, mediaType } of images.list) {
      try {
        const data = await this.#ports.storage.blob(images.session, blob)
        if (data === undefined) throw new Error('it is not there')
        read.push({ mediaType, data })
      } catch (error) {
        this.#ports.log.error('an image of a message could not be read', { blob, error })
        // The rest of the message is worth more than none of it.
        missing.push('[An image of this message could not be read and is missing.]')
      }
    }
    const text = [delivery.text, ...missing].filter((part) => part !== '').join('\n\n')
    return { ...message, delivery: { ...delivery, text, images: read } }
  }

  async #withKey(order: ParkOrder): Promise<ToAgent | null> {
    const { session, ...message } = order
    try {
      const key = await this.#ports.key()
      return { ...message, key, keptDir: this.#ports.paths.kept(session) }
    } catch (error) {
      if (!(error instanceof BalletError)) throw error
      await this.#onNoKey(order, error.toRefusal())
      return null
    }
  }
}
