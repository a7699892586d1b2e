import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionId } from '../../src-shared/ids.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import type { HostUnderBlows } from './host-under-blows.ts'

/** Watches one session as a window does, through every death of the host, and keeps what it was shown. */
export class Follower {
  readonly #session: SessionId
  readonly #host: HostUnderBlows
  readonly #faults: string[] = []
  readonly shown: TimelineEvent[] = []
  #live = 0
  #stopped = false

  constructor(session: SessionId, host: HostUnderBlows) {
    this.#session = session
    this.#host = host
    void this.#follow()
  }

  /** A tool runs, as far as it was shown. */
  get isInTool(): boolean {
    const open = new Set<string>()
    for (const event of this.shown) {
      if (event.kind === 'tool.call') open.add(event.callId)
      if (event.kind === 'tool.result') open.delete(event.callId)
    }
    return open.size > 0
  }

  get isInStream(): boolean {
    return this.#live > 0
  }

  /** What was wrong with what it was shown. */
  faults(): readonly string[] {
    return this.#faults
  }

  stop(): void {
    this.#stopped = true
  }

  async #follow(): Promise<void> {
    while (!this.#stopped) {
      const life = this.#host.life
      try {
        if (life === null) throw new Error('away')
        const after = this.shown.length
        const { events, reset, blocks } = await life.client.timeline.follow({
          session: this.#session,
          after,
          waitMs: 1_000,
        })
        this.#live = blocks.length
        if (reset) {
          const { events: page } = await life.client.timeline.page({
            session: this.#session,
            after,
            limit: 1_000,
          })
          this.#take(page)
        } else this.#take(events)
        // Live text alone answers at once, again and again.
        if (events.length === 0) await sleep(20)
      } catch {
        this.#live = 0
        await sleep(30)
      }
    }
  }

  #take(events: readonly TimelineEvent[]): void {
    for (const event of events) {
      if (event.seq !== this.shown.length + 1) {
        this.#faults.push(`a follower was shown ${event.seq} after ${this.shown.length}`)
        return
      }
      this.shown.push(event)
    }
  }
}
