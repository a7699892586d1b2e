import type { SessionId } from '../src-shared/ids.ts'
import type { Session, SessionState } from '../src-shared/records.ts'
import type { TimelineEvent } from '../src-shared/timeline.ts'
import type { Client, Connection } from './connection.ts'
import type { TimelinePrinter } from './timeline-printer.ts'
import type { World } from './world.ts'

const PAGE = 500
/** How long a follower waits for a host that went away. */
export const HOST_BACK_LIMIT_MS = 60_000
const FIRST_RETRY_MS = 250
const LAST_RETRY_MS = 2_000
/** Between two questions when only live text came that nobody is shown. */
const LIVE_PAUSE_MS = 100
/** One answer of the host; longer than it waits at most for something to tell. */
const ANSWER_LIMIT_MS = 60_000

/** States in which nothing more comes until a person does something. */
const ENDS: ReadonlySet<SessionState> = new Set(['finished', 'failed', 'cancelled', 'parked'])

/** Every event after `after`, in order, as far as there are some now. The answer is the last number. */
export async function readTimeline(
  client: Client,
  session: string,
  after: number,
  onEvents: (events: readonly TimelineEvent[]) => void,
  signal?: AbortSignal,
): Promise<number> {
  let cursor = after
  for (;;) {
    const { events, last } = await within(signal, (limit) =>
      client.timeline.page({ session, after: cursor, limit: PAGE }, { signal: limit }),
    )
    const reached = events.at(-1)?.seq
    if (reached === undefined) return Math.max(cursor, after)
    onEvents(events)
    cursor = reached
    if (cursor >= last) return cursor
  }
}

export type FollowOptions = {
  world: Pick<World, 'connect' | 'sleep' | 'monotonic'>
  dataDir: string
  connection: Connection
  session: Session
  after: number
  printer: TimelinePrinter
  /** Whether the printer shows live text at once. */
  showsLive: boolean
  signal: AbortSignal
  /** Tells people that the host went away or is back. */
  onHost(is: 'gone' | 'back'): void
  /** Ends the following although the session goes on. */
  isEnough?(event: TimelineEvent): boolean
}

/**
 * Prints the session's events from a cursor on until it finished, failed, was cancelled or parked, until it is
 * enough, or until the signal. Goes on from its cursor when the host is restarted; rejects when it stays away.
 */
export async function followTimeline(options: FollowOptions): Promise<void> {
  const { world, signal } = options
  let connection = options.connection
  const place = createPlace(options)
  try {
    for (;;) {
      try {
        if (await followOn(connection.client, place, options)) return
      } catch (error) {
        if (signal.aborted) return
        if (connection.isOpen()) throw error
        options.onHost('gone')
        connection.close()
        const back = await reconnect(world, options.dataDir, signal)
        if (back === undefined) return
        connection = back
        options.onHost('back')
      }
    }
  } finally {
    options.printer.end()
    connection.close()
  }
}

type Place = {
  cursor: number
  state: SessionState
  enough: boolean
  live: Map<string, number>
  take(events: readonly TimelineEvent[]): void
}

function createPlace({ session, after, printer, isEnough }: FollowOptions): Place {
  const place: Place = {
    cursor: after,
    state: session.state,
    enough: false,
    live: new Map(),
    take: (events) => {
      const fresh = events.filter(({ seq }) => seq > place.cursor)
      printer.events(fresh)
      for (const event of fresh) {
        place.cursor = event.seq
        // What is older than the record that was asked for says nothing about the present.
        if (event.kind === 'session.state' && event.seq > session.lastSeq) place.state = event.to
        if (isEnough?.(event) === true) place.enough = true
      }
    },
  }
  return place
}

/** True when the end was reached. */
async function followOn(client: Client, place: Place, options: FollowOptions): Promise<boolean> {
  const { session, signal, world } = options
  const id: SessionId = session.id
  await readTimeline(client, id, place.cursor, place.take, signal)
  place.live.clear()
  while (!place.enough && !signal.aborted) {
    const over = ENDS.has(place.state)
    const asked = {
      session: id,
      after: place.cursor,
      live: Object.fromEntries(place.live),
      ...(over ? { waitMs: 0 } : {}),
    }
    const answer = await within(signal, (limit) => client.timeline.follow(asked, { signal: limit }))
    if (answer.reset) {
      await readTimeline(client, id, place.cursor, place.take, signal)
      continue
    }
    place.take(answer.events)
    if (over && answer.events.length === 0) return true
    options.printer.live(answer.live)
    for (const { block, offset, text } of answer.live) place.live.set(block, offset + text.length)
    const current = new Set(answer.blocks)
    for (const block of place.live.keys()) if (!current.has(block)) place.live.delete(block)
    if (answer.events.length === 0 && !options.showsLive) await world.sleep(LIVE_PAUSE_MS, signal)
  }
  return true
}

/** Makes one call; a host that does not answer ends it with a `TimeoutError`. */
async function within<T>(
  outer: AbortSignal | undefined,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const inner = new AbortController()
  const abort = () => inner.abort(outer?.reason)
  const timer = setTimeout(
    () => inner.abort(new DOMException('the host did not answer', 'TimeoutError')),
    ANSWER_LIMIT_MS,
  )
  outer?.addEventListener('abort', abort)
  try {
    outer?.throwIfAborted()
    return await call(inner.signal)
  } finally {
    clearTimeout(timer)
    outer?.removeEventListener('abort', abort)
  }
}

async function reconnect(
  world: FollowOptions['world'],
  dataDir: string,
  signal: AbortSignal,
): Promise<Connection | undefined> {
  const since = world.monotonic()
  let pause = FIRST_RETRY_MS
  for (;;) {
    await world.sleep(pause, signal)
    if (signal.aborted) return undefined
    try {
      return await world.connect(dataDir)
    } catch (error) {
      if (world.monotonic() - since > HOST_BACK_LIMIT_MS) throw error
    }
    pause = Math.min(pause * 2, LAST_RETRY_MS)
  }
}
