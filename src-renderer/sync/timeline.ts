import { createStore, type StoreApi } from 'zustand/vanilla'
import type { SessionId } from '../../src-shared/ids.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import type { TimelineFollow } from '../../src-shared/timeline-calls.ts'
import { type Client, refusalOf } from './client.ts'
import { followLoop } from './follow-loop.ts'
import { type FrameGate, type Frames, frameGate } from './frame.ts'
import { growBlocks, type LiveBlocks, liveLengths } from './live-blocks.ts'
import { RowBuilder } from './row-builder.ts'
import type { Row } from './rows.ts'

/** Events of one page; a page fills several screens. */
const PAGE = 200
/** Events that an open pane keeps, and how many more it lets come before it cuts. */
const KEPT = 3_000
const SLACK = 600
/** Longer than the host waits at most. */
const ANSWER_LIMIT_MS = 40_000

export type TimelineView = {
  phase: 'loading' | 'ready'
  /** Why the host cannot be asked just now; the loop goes on by itself. */
  away: Refusal | null
  rows: readonly Row[]
  /** Numbers of the first and the last event that `rows` holds; 0 when it holds none. */
  first: number
  last: number
  /** Number of the session's last event, as far as the host told. */
  hostLast: number
  loadingAbove: boolean
  /** A page could not be loaded; asked again when the reader comes back to it. */
  pageFailed: Refusal | null
}

const empty: TimelineView = {
  phase: 'loading',
  away: null,
  rows: [],
  first: 0,
  last: 0,
  hostLast: 0,
  loadingAbove: false,
  pageFailed: null,
}

/**
 * A window on a session's timeline: opens at its end, grows with the session, loads upwards, and never
 * holds more than a bound. What it shows depends on the events only, not on how they came.
 */
export class SessionTimeline {
  readonly store: StoreApi<TimelineView> = createStore<TimelineView>(() => empty)
  readonly #client: Client
  readonly #session: SessionId
  readonly #gate: FrameGate
  #events: TimelineEvent[] = []
  #live: LiveBlocks = new Map()
  #hostLast = 0
  #builder = new RowBuilder()
  #following = true
  #running: AbortController | null = null
  #busy = false

  constructor(client: Client, session: SessionId, frames?: Frames) {
    this.#client = client
    this.#session = session
    this.#gate = frameGate(() => this.#show(), frames)
  }

  /** Follows the session until `stop`; may be started again and then goes on from where it was. */
  start(): void {
    if (this.#running !== null) return
    const running = new AbortController()
    this.#running = running
    void followLoop<TimelineFollow | null>({
      ask: (signal) => this.#ask(signal),
      take: (answer) => {
        if (answer !== null) this.#takeFollow(answer)
      },
      onAway: (away) => this.store.setState({ away }),
      onBack: () => this.store.setState({ away: null }),
      limitMs: ANSWER_LIMIT_MS,
      signal: running.signal,
    })
  }

  stop(): void {
    this.#running?.abort()
    this.#running = null
  }

  /** Whether the reader is at the end; only then is the beginning cut when too much is held. */
  setFollowing(following: boolean): void {
    this.#following = following
  }

  async loadAbove(): Promise<void> {
    const first = this.#events[0]?.seq ?? 0
    if (first <= 1) return
    await this.#load(async () => {
      const page = await this.#client.timeline.page({
        session: this.#session,
        before: first,
        limit: PAGE,
      })
      if (this.#events[0]?.seq !== first) return
      const events = page.events.concat(this.#events)
      this.#replaceEvents(events.length > KEPT + SLACK ? events.slice(0, KEPT) : events)
    })
  }

  /** Goes on downwards where the end was cut because the reader had gone far up. */
  async loadBelow(): Promise<void> {
    const last = this.#lastHeld()
    if (last >= this.#hostLast) return
    await this.#load(async () => {
      const page = await this.#client.timeline.page({
        session: this.#session,
        after: last,
        limit: PAGE,
      })
      if (this.#lastHeld() !== last) return
      // What came since the follower was last answered is in this page; its next answer tells it again.
      this.#hostLast = Math.max(this.#hostLast, page.last)
      const events = this.#events.concat(page.events)
      this.#replaceEvents(events.length > KEPT + SLACK ? events.slice(-KEPT) : events)
    })
  }

  /** Shows the end again, also when it is no longer held. */
  async jumpToEnd(): Promise<void> {
    this.#following = true
    if (this.#lastHeld() >= this.#hostLast) return
    await this.#load(async () => {
      const page = await this.#client.timeline.page({ session: this.#session, limit: PAGE })
      this.#hostLast = Math.max(this.#hostLast, page.last)
      this.#replaceEvents(page.events)
    })
  }

  async #load(work: () => Promise<void>): Promise<void> {
    if (this.#busy) return
    this.#busy = true
    this.store.setState({ loadingAbove: true, pageFailed: null })
    try {
      await work()
    } catch (error) {
      this.store.setState({ pageFailed: refusalOf(error) })
    } finally {
      this.#busy = false
      this.store.setState({ loadingAbove: false })
    }
  }

  async #ask(signal: AbortSignal): Promise<TimelineFollow | null> {
    if (this.store.getState().phase === 'loading') {
      const page = await this.#client.timeline.page(
        { session: this.#session, limit: PAGE },
        { signal },
      )
      this.#hostLast = page.last
      this.#replaceEvents(page.events)
      return null
    }
    return this.#client.timeline.follow(
      {
        session: this.#session,
        after: this.#hostLast,
        live: liveLengths(this.#live),
        ...(this.store.getState().away === null ? {} : { waitMs: 0 }),
      },
      { signal },
    )
  }

  #takeFollow(answer: TimelineFollow): void {
    const held = this.#lastHeld()
    const attached = held >= this.#hostLast
    this.#live = growBlocks(this.#live, answer.live, answer.blocks)
    if (answer.reset && !this.#following && held > 0 && held <= answer.last) {
      // The reader is further up and stays there; the end is loaded when they come back to it.
      this.#hostLast = answer.last
    } else if (answer.reset) {
      this.#hostLast = answer.last
      this.#events = answer.events
      this.#rebuild()
    } else {
      const fresh = answer.events.filter((event) => event.seq > this.#hostLast)
      this.#hostLast = Math.max(this.#hostLast, fresh.at(-1)?.seq ?? 0)
      if (attached) {
        this.#events.push(...fresh)
        this.#builder.add(fresh)
        this.#cut()
      }
    }
    this.#gate.request()
  }

  /** Bounds what is held: at the end the oldest go, else the newest, so that nothing moves under the reader. */
  #cut(): void {
    if (this.#events.length <= KEPT + SLACK) return
    this.#events = this.#following ? this.#events.slice(-KEPT) : this.#events.slice(0, KEPT)
    this.#rebuild()
  }

  #replaceEvents(events: TimelineEvent[]): void {
    this.#events = events
    this.#rebuild()
    this.#show()
  }

  #rebuild(): void {
    this.#builder = new RowBuilder(this.#builder)
    this.#builder.add(this.#events)
  }

  #lastHeld(): number {
    return this.#events.at(-1)?.seq ?? 0
  }

  #show(): void {
    const last = this.#lastHeld()
    // What is live belongs at the end; without the end it has no place.
    this.#builder.setLive(last >= this.#hostLast ? this.#live : new Map())
    this.store.setState({
      phase: 'ready',
      rows: this.#builder.rows(),
      first: this.#events[0]?.seq ?? 0,
      last,
      hostLast: this.#hostLast,
    })
  }
}

/** Sessions whose timelines are kept when their pane is closed, so that going back shows them at once. */
const REMEMBERED = 6

/** The timelines of this window, one a session, however many panes show it. */
export class Timelines {
  readonly #client: Client
  readonly #known = new Map<string, { timeline: SessionTimeline; panes: number }>()

  constructor(client: Client) {
    this.#client = client
  }

  open(session: SessionId): SessionTimeline {
    const known = this.#known.get(session) ?? {
      timeline: new SessionTimeline(this.#client, session),
      panes: 0,
    }
    // Re-inserted, so that the map's order is by last use.
    this.#known.delete(session)
    this.#known.set(session, known)
    return known.timeline
  }

  /** Starts following; the answer gives it back. */
  hold(session: SessionId): () => void {
    const timeline = this.open(session)
    const entry = this.#known.get(session)
    if (entry === undefined) return () => {}
    entry.panes += 1
    timeline.start()
    return () => {
      entry.panes -= 1
      if (entry.panes === 0) timeline.stop()
      this.#forget()
    }
  }

  #forget(): void {
    for (const [session, { panes }] of this.#known) {
      if (this.#known.size <= REMEMBERED) return
      if (panes === 0) this.#known.delete(session)
    }
  }
}
