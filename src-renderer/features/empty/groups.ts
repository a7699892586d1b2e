import type { InboxItem } from '../../../src-shared/inbox.ts'
import type { Session } from '../../../src-shared/records.ts'
import { waitsForPerson } from '../inbox/items.ts'

export type Group = {
  title: string
  /** What the group has: of what waits for the person as many as the inbox says, of all else its sessions. */
  count: number
  sessions: readonly Session[]
}

const others: readonly { title: string; states: readonly Session['state'][] }[] = [
  { title: 'At work', states: ['working', 'starting', 'resuming', 'waiting', 'parking'] },
  { title: 'Waits for an agent', states: ['queued'] },
  { title: 'Parked', states: ['parked'] },
]

/** Sessions that are not over: first those of the inbox, in its order, then the others, the last changed first. */
export function overviewGroups(
  items: readonly InboxItem[],
  sessions: ReadonlyMap<string, Session>,
): Group[] {
  const waiting = items.filter(waitsForPerson)
  const asked = [...new Set(waiting.map(({ session }) => session))]
  const inInbox = new Set<string>(asked)
  const rest = [...sessions.values()]
    .filter(({ id, ticketOver }) => !inInbox.has(id) && ticketOver !== true)
    .sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1))
  const mine = asked.flatMap((id) => sessions.get(id) ?? [])
  return [
    { title: 'Waits for you', count: waiting.length, sessions: mine },
    ...others.map(({ title, states }) => {
      const found = rest.filter(({ state }) => states.includes(state))
      return { title, count: found.length, sessions: found }
    }),
  ].filter((group) => group.sessions.length > 0)
}
