import type { ProjectId } from '../../../src-shared/ids.ts'
import type { InboxItem } from '../../../src-shared/inbox.ts'
import { inboxOf } from '../../../src-shared/inbox-of.ts'
import type { InboxView } from '../../stores/inbox-view.ts'
import { type Records, useRecords } from '../../sync/records.ts'
import type { Look } from '../../ui/state-dot.tsx'

type From = Pick<Records, 'sessions' | 'questions' | 'requests' | 'assumptions'>

const sameItem = (a: InboxItem, b: InboxItem | undefined) =>
  b !== undefined &&
  a.id === b.id &&
  a.kind === b.kind &&
  a.text === b.text &&
  a.since === b.since &&
  a.parkAt === b.parkAt

/** Gives the same array again while nothing that is listed changed, however often sessions do. */
export function createInbox() {
  let from: From | null = null
  let items: readonly InboxItem[] = []
  return (records: From): readonly InboxItem[] => {
    if (
      from !== null &&
      from.sessions === records.sessions &&
      from.questions === records.questions &&
      from.requests === records.requests &&
      from.assumptions === records.assumptions
    ) {
      return items
    }
    const { sessions, questions, requests, assumptions } = records
    from = { sessions, questions, requests, assumptions }
    const now = inboxOf({
      sessions: sessions.values(),
      questions: questions.values(),
      requests: requests.values(),
      assumptions: assumptions.values(),
    })
    const isSame = now.length === items.length && now.every((item, at) => sameItem(item, items[at]))
    if (!isSame) items = now
    return items
  }
}

const inbox = createInbox()

/** Everything that waits for the person, in the order of `inboxOf`. */
export const inboxItems = (records: From): readonly InboxItem[] => inbox(records)

export const useInbox = (): readonly InboxItem[] => useRecords(inboxItems)

/** Assumptions wait for nobody. */
export const waitsForPerson = ({ kind }: InboxItem): boolean => kind !== 'assumption'

/** How many of them are to be decided. */
export const useWaiting = (): number =>
  useRecords((records) => inboxItems(records).filter(waitsForPerson).length)

/** What of it a view shows. */
export function filtered(
  items: readonly InboxItem[],
  { kind, project }: Pick<InboxView, 'kind' | 'project'>,
  projectOf: (session: string) => ProjectId | undefined,
): readonly InboxItem[] {
  if (kind === null && project === null) return items
  return items.filter(
    (item) =>
      (kind === null || item.kind === kind) &&
      (project === null || projectOf(item.session) === project),
  )
}

/** The id of the one that is wanted: one that comes back when it is there, else the chosen one. */
export function wantedItem(
  items: readonly { id: string }[],
  { current, comesBack }: Pick<InboxView, 'current' | 'comesBack'>,
): string | null {
  return comesBack !== null && items.some(({ id }) => id === comesBack) ? comesBack : current
}

/** The one that a view shows: the chosen one, else the one that took the place of one that is over. */
export function currentItem(
  items: readonly { id: string }[],
  current: string | null,
  place: number,
): number {
  const at = items.findIndex(({ id }) => id === current)
  return at >= 0 ? at : Math.min(Math.max(0, place), items.length - 1)
}

export const kindWord: Record<InboxItem['kind'], string> = {
  question: 'question',
  request: 'request',
  waiting: 'waits for a word',
  failed: 'failed',
  assumption: 'assumption',
}

export const kindWords: Record<InboxItem['kind'], string> = {
  question: 'Questions',
  request: 'Requests',
  waiting: 'Waiting for a word',
  failed: 'Failed',
  assumption: 'Assumptions',
}

export const kindLook: Record<InboxItem['kind'], Look> = {
  question: 'wait',
  request: 'ask',
  waiting: 'open',
  failed: 'bad',
  assumption: 'quiet',
}
