import type { z } from 'zod'
import type { BlobId, SessionId } from '../../src-shared/ids.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import type { TimelineFollow } from '../../src-shared/timeline-calls.ts'
import type { Committed } from '../commit/committer.ts'
import type { RowCache } from '../commit/row-cache.ts'
import type { Clock } from '../ports.ts'
import type { Storage } from '../storage/port.ts'
import { LiveBlocks } from './live-blocks.ts'
import { LastBlob } from './read-blob.ts'
import { RecentEvents } from './recent-events.ts'
import { Wakeups } from './wakeups.ts'

/** The most events of one answer. */
const PAGE = 500
/** Who is further behind gets the end of the timeline instead. */
const FAR_BEHIND = 2_000
const TAIL = 200

export type FollowInput = {
  session: SessionId
  after: number
  live: Readonly<Record<string, number>>
  waitMs: number
}

type Followed = z.infer<typeof TimelineFollow>

/**
 * Long polls over the sessions' timelines: level-triggered, so that a client that is slow just gets more at once,
 * and nothing is kept for it.
 */
export class TimelineFollower {
  readonly live = new LiveBlocks()
  readonly #recent = new RecentEvents()
  readonly #wakeups: Wakeups
  readonly #storage: Storage
  readonly #cache: RowCache
  readonly #clock: Clock
  readonly #blob: LastBlob

  constructor(ports: { storage: Storage; clock: Clock }, cache: RowCache) {
    this.#storage = ports.storage
    this.#clock = ports.clock
    this.#cache = cache
    this.#blob = new LastBlob(ports)
    this.#wakeups = new Wakeups(ports.clock)
  }

  committed({ events, deletes }: Committed): void {
    this.#recent.stored(events)
    for (const event of events) this.live.stored(event)
    for (const session of new Set(events.map((event) => event.session))) this.wake(session)
    for (const { table, id } of deletes) {
      if (table !== 'session') continue
      this.#recent.forget(id)
      this.live.clear(id)
      this.#blob.forget(id)
      this.wake(id)
    }
  }

  /** Something of the session's live blocks changed. */
  wake(session: string): void {
    this.#wakeups.wake(session)
  }

  close(): void {
    this.#blob.clear()
    this.#wakeups.close()
  }

  async follow(input: FollowInput, signal?: AbortSignal): Promise<Result<Followed>> {
    const { session, after } = input
    const until = this.#clock.monotonic() + input.waitMs
    for (;;) {
      const last = await this.#last(session)
      if (last === undefined) return noSession(session)
      const news =
        last !== after ||
        this.live.anyGone(session, input.live) ||
        this.live.news(session, input.live).length > 0
      if (news) return accept(await this.#answer(input, last))
      const left = until - this.#clock.monotonic()
      if (!(await this.#wakeups.wait(session, left, signal))) {
        return accept(await this.#answer(input, last))
      }
    }
  }

  /** The last `limit` events before `before` (or at the end), or the first `limit` after `after`. */
  async page(
    session: SessionId,
    range: { before?: number | undefined; after?: number | undefined; limit: number },
  ): Promise<Result<{ events: TimelineEvent[]; last: number }>> {
    const { before, after, limit } = range
    return accept(
      await this.#storage.timeline(session, {
        limit,
        ...(before === undefined ? {} : { before }),
        ...(after === undefined ? {} : { after }),
      }),
    )
  }

  async blob(
    session: SessionId,
    blob: BlobId,
    range: { offset: number; limit?: number | undefined },
  ): Promise<Result<{ text: string; length: number }>> {
    const whole = await this.#blob.read(session, blob)
    if (whole === undefined) {
      return refuse(
        'blob.not-found',
        `The session ${session} has no text ${blob}.`,
        'Load the timeline again.',
      )
    }
    const { offset, limit } = range
    const end = limit === undefined ? undefined : offset + limit
    return accept({ text: whole.slice(offset, end), length: whole.length })
  }

  async #last(session: SessionId): Promise<number | undefined> {
    const recent = this.#recent.last(session)
    if (recent !== undefined) return recent
    return (await this.#cache.row('session', session))?.lastSeq
  }

  async #answer({ session, after, live: has }: FollowInput, last: number): Promise<Followed> {
    const reset = after > last || last - after > FAR_BEHIND
    const events = reset ? await this.#tail(session) : await this.#after(session, after)
    const seen = events.at(-1)?.seq ?? after
    const known = Math.max(seen, this.#recent.last(session) ?? last)
    const complete = seen >= known
    const blocks = this.live.of(session).map(({ block }) => block)
    return {
      events: [...events],
      last: known,
      reset,
      live: complete ? this.live.news(session, reset ? {} : has) : [],
      // What the client shows of a block stays until it gets the event that finishes the block.
      blocks: complete ? blocks : stillShown(blocks, has, events),
    }
  }

  async #after(session: SessionId, after: number): Promise<readonly TimelineEvent[]> {
    const recent = this.#recent.after(session, after)
    if (recent !== undefined) return recent.slice(0, PAGE)
    const { events } = await this.#storage.timeline(session, { after, limit: PAGE })
    return events
  }

  async #tail(session: SessionId): Promise<readonly TimelineEvent[]> {
    const { events } = await this.#storage.timeline(session, { limit: TAIL })
    return events
  }
}

/** The blocks that live, and those that the client has and no event of its answer finishes. */
function stillShown(
  blocks: readonly string[],
  has: Readonly<Record<string, number>>,
  events: readonly TimelineEvent[],
): string[] {
  const shown = new Set([...blocks, ...Object.keys(has)])
  for (const event of events) {
    if ('block' in event && event.block !== undefined) shown.delete(event.block)
  }
  return [...shown]
}

function noSession(session: SessionId): Result<never> {
  return refuse(
    'session.not-found',
    `There is no session ${session}.`,
    'See what there is with: ballet session list',
  )
}
