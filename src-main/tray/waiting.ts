import type { InboxItem } from '../../src-shared/inbox.ts'
import { inboxOf } from '../../src-shared/inbox-of.ts'
import type { Followed } from '../notifications/followed.ts'
import { plainText } from '../notifications/text.ts'

/** The menu of an icon names only so many. */
const NAMED = 6
const LINE_LENGTH = 60

/** One line of the icon's menu. */
export type WaitingLine = Pick<InboxItem, 'kind' | 'id' | 'session'> & { text: string }

/** What waits for a person, as the inbox counts it: assumptions wait for nobody. */
export type Waiting = { count: number; lines: readonly WaitingLine[] }

const words: Record<InboxItem['kind'], string> = {
  question: 'asks',
  request: 'wants to',
  waiting: 'waits',
  failed: 'failed',
  assumption: 'assumed',
}

export function waitingOf(followed: Followed): Waiting {
  const items = inboxOf({
    sessions: followed.sessions.values(),
    questions: followed.questions.values(),
    requests: followed.requests.values(),
    assumptions: [],
  })
  return {
    count: items.length,
    lines: items.slice(0, NAMED).map(({ kind, id, session, ticket, text }) => ({
      kind,
      id,
      session,
      text: plainText(`${ticket} ${words[kind]}: ${text}`, LINE_LENGTH).text,
    })),
  }
}

/** How much waits, in words. */
export function waitingWord(count: number): string {
  if (count === 0) return 'Ballet: nothing waits for you'
  return `Ballet: ${count} ${count === 1 ? 'thing waits' : 'things wait'} for you`
}
