import type { SessionId } from '../src-shared/ids.ts'
import type { Session, SessionState } from '../src-shared/records.ts'
import type { TimelineEvent } from '../src-shared/timeline.ts'
import { type AcrossHosts, acrossHosts, within } from './across-hosts.ts'
import type { Client } from './connection.ts'
import type { TimelinePrinter } from './timeline-printer.ts'

const PAGE = 500
/** Between two questions when only live text came that nobody is shown. */
const LIVE_PAUSE_MS = 100

/** States in which nothing more comes until a person does something. */
const ENDS: ReadonlySet<SessionState> = new Set([
  'finished',
  'failed',
  'cancelled',
  'parked',
  'moved',
])

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

export type FollowOptions = AcrossHosts & {
  session: Session
  after: number
  printer: TimelinePrinter
  /** Whether the printer shows live text at once. */
  showsLive: boolean
  /** Ends the following although the session goes on. */
  isEnough?(event: TimelineEvent): boolean
}

/**
 * Prints the session's events from a cursor on until it finished, failed, was cancelled or parked, until it is
 * enough, or until the signal. Goes on from its cursor when the host is restarted; rejects when it stays away.
 */
export async function followTimeline(options: FollowOptions): Promise<void> {
  const place = createPlace(options)
  try {
    await acrossHosts(options, (client) => followOn(client, place, options))
  } finally {
    options.printer.end()
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

async function followOn(client: Client, place: Place, options: FollowOptions): Promise<void> {
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
    if (over && answer.events.length === 0) return
    options.printer.live(answer.live)
    for (const { block, offset, text } of answer.live) place.live.set(block, offset + text.length)
    const current = new Set(answer.blocks)
    for (const block of place.live.keys()) if (!current.has(block)) place.live.delete(block)
    if (answer.events.length === 0 && !options.showsLive) await world.sleep(LIVE_PAUSE_MS, signal)
  }
}
