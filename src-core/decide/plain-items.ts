import {
  type AgentItem,
  type BlobText,
  BRANCH_MOVED,
  RECORD_BEHIND,
  RESUMED_WITHOUT,
  WORKSPACE_GONE,
} from '../../src-shared/agent-wire.ts'
import type { EventBody } from '../../src-shared/timeline.ts'
import type { LeaseRow } from '../storage/rows.ts'
import { type Change, changeOf } from './change.ts'

/** Items of one lease, the first of which nobody stored yet. */
export type Items = {
  /** Number of the last item. */
  last: number
  items: readonly AgentItem[]
  blobs: readonly BlobText[]
}

const rowEvents: ReadonlySet<EventBody['kind']> = new Set([
  'turn.started',
  'turn.ended',
  'cost',
  'request.opened',
])

type Notice = Extract<EventBody, { kind: 'notice' }>

/** The runtime does not reach Ballet's tools. */
export const isUnreachableNotice = (event: EventBody): event is Notice =>
  event.kind === 'notice' && event.code === 'mcp.unreachable'

const noticesForRuntime: ReadonlySet<string> = new Set([
  BRANCH_MOVED,
  RECORD_BEHIND,
  RESUMED_WITHOUT,
  WORKSPACE_GONE,
])

/** What the runtime is told too, with its next input. */
export const isNoticeForRuntime = (event: EventBody): event is Notice =>
  event.kind === 'notice' && noticesForRuntime.has(event.code)

const isPlain = (item: AgentItem) =>
  item.type === 'event' &&
  !rowEvents.has(item.event.kind) &&
  !isUnreachableNotice(item.event) &&
  !isNoticeForRuntime(item.event)

/** Events that change no row are stored without reading one; null when there are others. */
export function storePlainItems(lease: LeaseRow, { last, items, blobs }: Items): Change | null {
  if (!items.every(isPlain)) return null
  return changeOf({
    durability: 'timeline',
    advance: { lease: lease.id, last },
    timeline: [
      {
        session: lease.sessionId,
        events: items.flatMap((item) =>
          item.type === 'event' ? [{ at: item.at, body: item.event }] : [],
        ),
        blobs,
      },
    ],
  })
}
