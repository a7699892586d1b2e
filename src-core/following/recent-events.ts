import type { TimelineEvent } from '../../src-shared/timeline.ts'

/** How many of a session's last events are kept, and of how many sessions. */
const EVENTS = 512
const SESSIONS = 64
/** A rough size of what is kept of one session, in UTF-16 code units. */
const SIZE = 250_000

type Recent = { events: TimelineEvent[]; last: number; size: number }

const sizeOf = (event: TimelineEvent) =>
  300 +
  ('text' in event && event.text !== undefined ? event.text.length : 0) +
  ('output' in event ? event.output.length : 0) +
  ('input' in event ? event.input.length : 0) +
  (event.kind === 'tool.result'
    ? (event.diff ?? []).reduce((sum, { patch }) => sum + patch.length, 0)
    : 0)

/** The last events of the sessions that are talked about, so that who follows them closely never asks storage. */
export class RecentEvents {
  readonly #sessions = new Map<string, Recent>()

  /** What a commit stored. */
  stored(events: readonly TimelineEvent[]): void {
    for (const event of events) {
      let recent = this.#sessions.get(event.session)
      if (recent === undefined || recent.last + 1 !== event.seq) {
        recent = { events: [], last: event.seq - 1, size: 0 }
      }
      this.#sessions.delete(event.session)
      this.#sessions.set(event.session, recent)
      recent.events.push(event)
      recent.last = event.seq
      recent.size += sizeOf(event)
      while (recent.events.length > EVENTS || (recent.size > SIZE && recent.events.length > 1)) {
        const dropped = recent.events.shift()
        if (dropped !== undefined) recent.size -= sizeOf(dropped)
      }
    }
    while (this.#sessions.size > SESSIONS) {
      const [oldest] = this.#sessions.keys()
      if (oldest === undefined) break
      this.#sessions.delete(oldest)
    }
  }

  forget(session: string): void {
    this.#sessions.delete(session)
  }

  /** The number of the session's last event; undefined when it is not known here. */
  last(session: string): number | undefined {
    return this.#sessions.get(session)?.last
  }

  /** All events after a number; undefined when not all of them are kept. */
  after(session: string, seq: number): readonly TimelineEvent[] | undefined {
    const recent = this.#sessions.get(session)
    if (recent === undefined) return undefined
    const first = recent.last - recent.events.length + 1
    if (seq + 1 < first) return undefined
    return recent.events.slice(seq + 1 - first)
  }
}
