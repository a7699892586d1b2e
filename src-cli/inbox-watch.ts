import type { RecordFollow } from '../src-shared/contract.ts'
import type { ProjectId } from '../src-shared/ids.ts'
import { type InboxItem, type InboxKind, inboxOf } from '../src-shared/inbox.ts'
import type { Assumption, Question } from '../src-shared/questions.ts'
import type { Request, Session } from '../src-shared/records.ts'
import { type AcrossHosts, acrossHosts, within } from './across-hosts.ts'

export type InboxFilter = { project?: ProjectId; kind?: InboxKind }

/** What the inbox is made of, as far as it was told. */
export type InboxState = {
  /** Takes what changed and gives the items that were not in the inbox before, in its order. */
  take(follow: RecordFollow): InboxItem[]
  /** The key of a question that is in the inbox. */
  keyOf(item: InboxItem): string | undefined
}

export function createInboxState(filter: InboxFilter): InboxState {
  const held = {
    session: new Map<string, Session>(),
    question: new Map<string, Question>(),
    request: new Map<string, Request>(),
    assumption: new Map<string, Assumption>(),
  }
  let before = new Set<string>()
  return {
    take: ({ snapshot, changes }) => {
      if (snapshot) for (const records of Object.values(held)) records.clear()
      for (const change of changes) {
        if (change.record === 'session') put(held.session, change.id, change.value)
        else if (change.record === 'question') put(held.question, change.id, change.value)
        else if (change.record === 'request') put(held.request, change.id, change.value)
        else if (change.record === 'assumption') put(held.assumption, change.id, change.value)
      }
      const items = inboxOf(
        {
          sessions: held.session.values(),
          questions: held.question.values(),
          requests: held.request.values(),
          assumptions: held.assumption.values(),
        },
        filter,
      )
      const fresh = items.filter((item) => !before.has(occasion(item)))
      before = new Set(items.map(occasion))
      return fresh
    },
    keyOf: ({ id }) => held.question.get(id)?.key,
  }
}

/** A session that waits for the second time is in the inbox anew. */
function occasion({ kind, id, since }: InboxItem): string {
  return `${kind} ${id} ${since}`
}

function put<T>(records: Map<string, T>, id: string, value: T | null): void {
  if (value === null) records.delete(id)
  else records.set(id, value)
}

/**
 * Gives every item that comes into the inbox, those that are in it already first, until the signal. Goes on when the
 * host is restarted, without giving again what was in the inbox before; rejects when the host stays away.
 */
export async function watchInbox(
  options: AcrossHosts & {
    filter: InboxFilter
    onItem(item: InboxItem, key: string | undefined): void
  },
): Promise<void> {
  const state = createInboxState(options.filter)
  const { signal, onItem } = options
  await acrossHosts(options, async (client) => {
    let cursor: string | undefined
    while (!signal.aborted) {
      const asked = cursor === undefined ? {} : { cursor }
      const follow = await within(signal, (limit) =>
        client.records.follow(asked, { signal: limit }),
      )
      cursor = follow.cursor
      for (const item of state.take(follow)) onItem(item, state.keyOf(item))
    }
  })
}
