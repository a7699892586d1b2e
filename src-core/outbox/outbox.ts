import { BalletError, type Refusal, type Result } from '../../src-shared/refusal.ts'
import type { Committed } from '../commit/committer.ts'
import { Backoff } from '../fleet/backoff.ts'
import { RETRY_MAX_MS, RETRY_MS } from '../limits.ts'
import type { Clock, Log } from '../ports.ts'
import type { OutboxEntry, Storage } from '../storage/port.ts'

/**
 * Carries out an effect and stores that it is done, with what came of it, in one commit. It may run again after a
 * restart at any of its lines. Rejects when it is to be tried again.
 */
export type Effect = (entry: OutboxEntry) => Promise<Result<unknown>>

type Running = {
  entry: OutboxEntry
  done: Promise<Result<unknown>>
  /** Why it was tried again last. */
  failure: Refusal | null
}

/** I/O that must happen although the host may end first. What an agent is told is not here: it dies with its lease. */
export class Outbox {
  readonly #clock: Clock
  readonly #log: Log
  readonly #effects: Readonly<Record<string, Effect>>
  readonly #running = new Map<string, Running>()
  #stopped = false

  constructor(ports: { clock: Clock; log: Log }, effects: Readonly<Record<string, Effect>>) {
    this.#clock = ports.clock
    this.#log = ports.log
    this.#effects = effects
  }

  /** Goes on with what an earlier start of the host left. */
  async begin(storage: Storage): Promise<void> {
    for (const entry of await storage.pendingOutbox()) this.#begin(entry)
  }

  committed({ wanted }: Committed): void {
    for (const entry of wanted.outbox) this.#begin(entry)
  }

  /**
   * What came of an entry that was just committed. It goes on where that is not known within the limit: `late` then
   * has the failure that keeps it, if there was one. Undefined when no such entry is carried out.
   */
  async outcome(
    id: string,
    limitMs: number,
  ): Promise<Result<unknown> | { late: Refusal | null } | undefined> {
    const running = this.#running.get(id)
    if (running === undefined) return undefined
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(limitMs, () => resolve({ late: running.failure }))
      running.done.then(resolve, reject).finally(cancel)
    })
  }

  /** Whether an effect of that name runs on the thing. */
  concerns(effect: string, field: string, value: string): OutboxEntry | undefined {
    for (const { entry } of this.#running.values()) {
      if (entry.effect === effect && entry.data[field] === value) return entry
    }
    return undefined
  }

  stop(): void {
    this.#stopped = true
  }

  #begin(entry: OutboxEntry): void {
    if (this.#running.has(entry.id)) return
    const done = this.#carryOut(entry).finally(() => this.#running.delete(entry.id))
    this.#running.set(entry.id, { entry, done, failure: null })
    done.catch((error: unknown) => {
      this.#log.error('an effect is left for the next start', { effect: entry.effect, error })
    })
  }

  async #carryOut(entry: OutboxEntry): Promise<Result<unknown>> {
    const effect = this.#effects[entry.effect]
    if (effect === undefined) {
      throw new BalletError({
        code: 'outbox.unknown',
        message: `This version does not know the effect ${entry.effect}.`,
        hint: 'Start the version that stored it.',
      })
    }
    const backoff = new Backoff(RETRY_MS, RETRY_MAX_MS)
    for (;;) {
      try {
        const result = await effect(entry)
        if (!result.ok) this.#log.warn(`${entry.effect} was refused`, result.refusal)
        return result
      } catch (error) {
        if (this.#stopped) throw error
        const running = this.#running.get(entry.id)
        if (running !== undefined && error instanceof BalletError) {
          running.failure = error.toRefusal()
        }
        const delay = backoff.next()
        this.#log.error(`${entry.effect} is tried again`, { error, retryMs: delay })
        await new Promise<void>((resolve) => {
          this.#clock.after(delay, resolve)
        })
        if (this.#stopped) throw error
      }
    }
  }
}
