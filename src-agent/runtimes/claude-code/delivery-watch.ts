import { setTimeout as sleep } from 'node:timers/promises'
import type { DeliveryId } from '../../../src-shared/ids.ts'
import { holdsMessage, locateTranscript, transcriptSize } from './transcript.ts'

const FIRST_EVERY_MS = 25
/** More often than what a turn tells is held back for it. */
const LATER_EVERY_MS = 100
const FIRST_LOOKS = 40
/** A turn that is over without a trace of its message in a transcript: the file is not where it is looked for. */
const AFTER_TURN_MS = 1_000

export type TranscriptPlace = { configFolder: string; cwd: string; conversation: string }

/** Where the transcript ends before a message is written: what comes later is looked through. */
export async function markTranscript(
  place: TranscriptPlace,
): Promise<{ path: string | null; size: number }> {
  const path = await locateTranscript(place.configFolder, place.cwd, place.conversation)
  return { path, size: await transcriptSize(path) }
}

/**
 * Watches until the runtime's own record holds a message, so that a kill cannot lose it any more. `found` is called
 * once: when it does, or some time after the turn is over. `stop` looks a last time.
 */
class DeliveryWatch {
  readonly #place: TranscriptPlace
  readonly #delivery: DeliveryId
  readonly #found: (how: 'prompt' | 'steered' | null) => void
  readonly #mark: { path: string | null; size: number }
  #path: string | null
  #done = false
  #turnOverAt: number | null = null

  constructor(options: {
    place: TranscriptPlace
    delivery: DeliveryId
    mark: { path: string | null; size: number }
    /** How the record holds it; null where it was not found. */
    found: (how: 'prompt' | 'steered' | null) => void
  }) {
    this.#place = options.place
    this.#delivery = options.delivery
    this.#mark = options.mark
    this.#path = options.mark.path
    this.#found = options.found
  }

  async run(): Promise<void> {
    for (let looks = 0; !this.#done; looks += 1) {
      if (await this.#look()) return
      if (this.#turnOverAt !== null && performance.now() - this.#turnOverAt > AFTER_TURN_MS) {
        this.#report(null)
        return
      }
      await sleep(looks < FIRST_LOOKS ? FIRST_EVERY_MS : LATER_EVERY_MS)
    }
  }

  turnOver(): void {
    this.#turnOverAt ??= performance.now()
  }

  /** The runtime does not have it. */
  forget(): void {
    this.#done = true
  }

  async stop(): Promise<void> {
    if (!this.#done) await this.#look()
    this.#done = true
  }

  async #look(): Promise<boolean> {
    const { configFolder, cwd, conversation } = this.#place
    this.#path ??= await locateTranscript(configFolder, cwd, conversation)
    if (this.#path === null) return false
    const size = await transcriptSize(this.#path)
    if (size <= this.#mark.size) return false
    const how = await holdsMessage(this.#path, this.#delivery, this.#mark.size)
    if (how === null) return false
    this.#report(how)
    return true
  }

  #report(how: 'prompt' | 'steered' | null): void {
    if (this.#done) return
    this.#done = true
    this.#found(how)
  }
}

export type WatchHandlers = {
  /** The record holds it; how is null where it was not found. */
  found: (delivery: DeliveryId, how: 'prompt' | 'steered' | null) => void
  /** The record cannot be read: the fate of a message stays open, and a resume looks again. */
  unreadable: (why: string) => void
}

/** The watches of one runtime, by what they look for. */
export class DeliveryWatches {
  readonly #place: TranscriptPlace
  readonly #handlers: WatchHandlers
  readonly #watches = new Map<DeliveryId, DeliveryWatch>()

  constructor(place: TranscriptPlace, handlers: WatchHandlers) {
    this.#place = place
    this.#handlers = handlers
  }

  /** `mark`: where the transcript ended before the message was written. */
  begin(delivery: DeliveryId, mark: Awaited<ReturnType<typeof markTranscript>>): void {
    const watch = new DeliveryWatch({
      place: this.#place,
      delivery,
      mark,
      found: (how) => {
        this.#watches.delete(delivery)
        this.#handlers.found(delivery, how)
      },
    })
    this.#watches.set(delivery, watch)
    watch.run().catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      this.#handlers.unreadable(
        `The runtime's record of the conversation could not be read: ${why}`,
      )
    })
  }

  /** The runtime does not have them. */
  forget(deliveries: readonly DeliveryId[]): void {
    for (const id of deliveries) {
      this.#watches.get(id)?.forget()
      this.#watches.delete(id)
    }
  }

  /** Of all but one that no turn has taken yet. */
  turnOver(but: DeliveryId | null): void {
    for (const [id, watch] of this.#watches) if (id !== but) watch.turnOver()
  }

  async stop(): Promise<void> {
    await Promise.all(
      [...this.#watches.values()].map((watch) => watch.stop().catch(() => undefined)),
    )
  }
}
