import type { LeaseId } from '../../src-shared/ids.ts'
import type { Committed } from '../commit/committer.ts'
import type { Tell } from '../decide/change.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { CorePorts } from '../ports.ts'

type Ports = Pick<CorePorts, 'log' | 'storage'>

/** Tells agents what was decided, each lease in order; the images of a delivery are read from storage first. */
export class Tells {
  readonly #ports: Ports
  readonly #fleet: Fleet
  /** Leases of which something is being read. */
  readonly #reading = new Map<LeaseId, Promise<void>>()

  constructor(ports: Ports, fleet: Fleet) {
    this.#ports = ports
    this.#fleet = fleet
  }

  committed({ wanted }: Committed): void {
    for (const tell of wanted.tell) this.#tell(tell)
  }

  #tell(tell: Tell): void {
    const { lease, message, images } = tell
    const before = this.#reading.get(lease)
    if (before === undefined && images === undefined) {
      this.#fleet.tell(lease, message)
      return
    }
    const done = (before ?? Promise.resolve())
      .then(async () => this.#fleet.tell(lease, await this.#whole(tell)))
      .catch((error: unknown) => {
        // What comes after it for the same lease is told all the same.
        this.#ports.log.error('an agent could not be told', { lease, type: message.type, error })
      })
      .then(() => {
        if (this.#reading.get(lease) === done) this.#reading.delete(lease)
      })
    this.#reading.set(lease, done)
  }

  async #whole({ message, images }: Tell): Promise<Tell['message']> {
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
}
