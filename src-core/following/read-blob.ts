import type { BlobId, SessionId } from '../../src-shared/ids.ts'
import type { Clock } from '../ports.ts'
import type { Storage } from '../storage/port.ts'

/** Larger ones are read anew for every piece; in UTF-16 code units. */
const KEPT_LENGTH = 16 * 1024 * 1024

/** Who reads a text in pieces asks for the next one at once. */
const KEPT_MS = 10_000

/** Keeps the text that was read last for a moment: it never changes, and is read in pieces. */
export class LastBlob {
  readonly #storage: Pick<Storage, 'blob'>
  readonly #clock: Pick<Clock, 'after'>
  #kept: { session: SessionId; blob: BlobId; text: string } | null = null
  #cancel = () => {}

  constructor(ports: { storage: Pick<Storage, 'blob'>; clock: Pick<Clock, 'after'> }) {
    this.#storage = ports.storage
    this.#clock = ports.clock
  }

  async read(session: SessionId, blob: BlobId): Promise<string | undefined> {
    if (this.#kept?.session === session && this.#kept.blob === blob) {
      this.#keepOn()
      return this.#kept.text
    }
    const text = await this.#storage.blob(session, blob)
    if (text !== undefined && text.length <= KEPT_LENGTH) {
      this.#kept = { session, blob, text }
      this.#keepOn()
    }
    return text
  }

  /** Of a session that is gone. */
  forget(session: string): void {
    if (this.#kept?.session === session) this.clear()
  }

  clear(): void {
    this.#cancel()
    this.#kept = null
  }

  #keepOn(): void {
    this.#cancel()
    this.#cancel = this.#clock.after(KEPT_MS, () => {
      this.#kept = null
    })
  }
}
