import { z } from 'zod'
import { call } from './call.ts'
import { BlobId, Reference, SessionId } from './ids.ts'
import { LiveBlock, TimelineEvent } from './timeline.ts'

/** The longest that a `follow` waits before it answers with nothing new. */
export const FOLLOW_LIMIT_MS = 25_000

/** New text of a live block: `text` begins at `offset` (UTF-16 code units) of the block. */
export const LiveUpdate = LiveBlock.extend({ offset: z.int().min(0) })
export type LiveUpdate = z.infer<typeof LiveUpdate>

export const TimelinePage = z.object({
  /** In the order of their numbers. */
  events: z.array(TimelineEvent),
  /** The number of the session's last event; 0 when it has none. */
  last: z.int().min(0),
})
export type TimelinePage = z.infer<typeof TimelinePage>

export const TimelineFollow = TimelinePage.extend({
  /** True: the client was too far behind; `events` is the end of the timeline and a page further up is loaded by `page`. */
  reset: z.boolean(),
  /** In the order in which they began. */
  live: z.array(LiveUpdate),
  /** Every block that is live now; a client drops the others. */
  blocks: z.array(z.string()),
})
export type TimelineFollow = z.infer<typeof TimelineFollow>

/** The calls of a session's timeline. */
export const timelineCalls = {
  /** The last `limit` events before `before` (or at the end), or the first `limit` after `after`. */
  page: call
    .input(
      z.object({
        session: Reference,
        before: z.int().min(1).optional(),
        after: z.int().min(0).optional(),
        limit: z.int().min(1).max(1_000).default(200),
      }),
    )
    .output(TimelinePage),
  /**
   * Answers as soon as there is an event after `after` or more of a live block than `live` says the client has,
   * at the latest after `waitMs`. A client that asks again with what it got loses nothing and gets nothing twice.
   */
  follow: call
    .input(
      z.object({
        session: SessionId,
        after: z.int().min(0),
        /** Length (UTF-16 code units) that the client has of each live block. */
        live: z.record(z.string(), z.int().min(0)).default({}),
        waitMs: z.int().min(0).max(FOLLOW_LIMIT_MS).default(FOLLOW_LIMIT_MS),
      }),
    )
    .output(TimelineFollow),
  /** A piece of a large text, by UTF-16 code units; the whole when no limit is given. */
  blob: call
    .input(
      z.object({
        session: SessionId,
        blob: BlobId,
        offset: z.int().min(0).default(0),
        limit: z.int().min(1).optional(),
      }),
    )
    .output(z.object({ text: z.string(), length: z.int().min(0) })),
}
