import { BalletError, type Refusal, type Result } from '../../src-shared/refusal.ts'
import type { Committed } from '../commit/committer.ts'
import { Backoff } from '../fleet/backoff.ts'
import { RETRY_MAX_MS, RETRY_MS } from '../limits.ts'
import type { Clock, Log } from '../ports.ts'
import type { Problems } from '../sessions/problems.ts'
import type { OutboxEntry, Storage } from '../storage/port.ts'

export type Effect = {
  /**
   * Carries it out and stores that it is done, with what came of it, in one commit. It may run again after a restart
   * at any of its lines. Rejects when it is to be tried again.
   */
  carryOut(entry: OutboxEntry): Promise<Result<unknown>>
  /** For people, as a sentence begins with it: `The deletion of SHOP-1`. */
  name(entry: OutboxEntry): string
}

type Running = {
  entry: OutboxEntry
  done: Promise<Result<unknown>>
  /** Why it was tried again last. */
  failure: Refusal | null
}

type Parts = {
  effects: Readonly<Record<string, Effect>>
  problems: Problems
  /** Nothing concerns what the entry was about any more. */
  ended(): void
}

const problemOf = ({ id }: OutboxEntry) => `outbox ${id}`

/** I/O that must happen although the host may end first. What an agent is told is not here: it dies with its lease. */
export class Outbox {
  readonly #clock: Clock
  readonly #log: Log
  readonly #parts: Parts
  readonly #running = new Map<string, Running>()
  #stopped = false

  constructor(ports: { clock: Clock; log: Log }, parts: Parts) {
    this.#clock = ports.clock
    this.#log = ports.log
    this.#parts = parts
  }

  /** Goes on with what an earlier start of the host left. */
  async begin(storage: Storage): Promise<void> {
    for (const entry of await storage.pendingOutbox()) this.#begin(entry)
  }

  committed({ wanted }: Committed): void {
    for (const entry of wanted.outbox) this.#begin(entry)
  }

  /**
   * What came of an entry that was just committed. It goes on where that is not known within the limit, or before the
   * host ends: `late` then has the failure that keeps it, if there was one. Undefined when no such entry is carried out.
   */
  async outcome(
    id: string,
    limitMs: number,
  ): Promise<Result<unknown> | { late: Refusal | null } | undefined> {
    const running = this.#running.get(id)
    if (running === undefined) return undefined
    return new Promise((resolve) => {
      const late = () => resolve({ late: running.failure })
      const cancel = this.#clock.after(limitMs, late)
      running.done.then(resolve, late).finally(cancel)
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
    const done = this.#carryOut(entry).finally(() => {
      this.#running.delete(entry.id)
      this.#parts.problems.clear(problemOf(entry))
      this.#parts.ended()
    })
    this.#running.set(entry.id, { entry, done, failure: null })
    done.catch((error: unknown) => {
      this.#log.error('an effect is left for the next start', { effect: entry.effect, error })
    })
  }

  async #carryOut(entry: OutboxEntry): Promise<Result<unknown>> {
    const effect = this.#parts.effects[entry.effect]
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
        const result = await effect.carryOut(entry)
        if (!result.ok) this.#log.warn(`${entry.effect} was refused`, result.refusal)
        return result
      } catch (error) {
        if (this.#stopped) throw error
        this.#tell(entry, effect.name(entry), error)
        const delay = backoff.next()
        this.#log.error(`${entry.effect} is tried again`, { error, retryMs: delay })
        await new Promise<void>((resolve) => {
          this.#clock.after(delay, resolve)
        })
        if (this.#stopped) throw error
      }
    }
  }

  /** Whoever waits for it, and whoever asks what is wrong, sees why it is not done yet. */
  #tell(entry: OutboxEntry, name: string, error: unknown): void {
    const failure = error instanceof BalletError ? error.toRefusal() : null
    const running = this.#running.get(entry.id)
    if (running !== undefined && failure !== null) running.failure = failure
    const why = failure?.message ?? (error instanceof Error ? error.message : String(error))
    this.#parts.problems.set(problemOf(entry), {
      code: failure?.code ?? 'outbox.failed',
      message: `${name} is not done yet: ${why}`,
      hint: ['It is tried again by itself.', failure?.hint ?? ''].join(' ').trim(),
    })
  }
}
