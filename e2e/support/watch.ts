import type { Project, Session, SessionState, Ticket } from '../../src-shared/records.ts'
import type { EventKind, TimelineEvent } from '../../src-shared/timeline.ts'
import type { BalletClient } from './ballet-client.ts'
import { WAIT_LIMIT_MS, waitFor } from './wait-for.ts'

export type EventOf<K extends EventKind> = Extract<TimelineEvent, { kind: K }>

export async function addProject(
  client: BalletClient,
  repo: string,
  more: Partial<Parameters<BalletClient['projects']['add']>[0]> = {},
): Promise<Project> {
  return client.projects.add({ name: 'Shop', repo, ...more })
}

/** Writes a ticket, gives it to an agent, and gives its session. */
export async function startTicket(
  client: BalletClient,
  ticket: {
    readonly body: string
    readonly title?: string
    readonly project?: string
    readonly priority?: number
  },
): Promise<{ ticket: Ticket; session: Session }> {
  const made = await client.tickets.add({ project: 'Shop', title: 'Work', ...ticket, start: true })
  const session = await client.sessions.show({ ref: made.key })
  return { ticket: made, session }
}

/** The whole timeline. */
export async function timelineOf(
  client: BalletClient,
  session: string,
  from = 1,
): Promise<TimelineEvent[]> {
  const events: TimelineEvent[] = []
  let after = from - 1
  for (;;) {
    const page = await client.timeline.page({ session, after, limit: 1_000 })
    events.push(...page.events)
    const last = page.events.at(-1)
    if (last === undefined || last.seq >= page.last) return events
    after = last.seq
  }
}

export function ofKind<K extends EventKind>(
  events: readonly TimelineEvent[],
  kind: K,
): EventOf<K>[] {
  return events.filter((event): event is EventOf<K> => event.kind === kind)
}

/** The first event of the timeline that fits, now or within the limit. */
export async function waitForEvent<K extends EventKind>(
  client: BalletClient,
  session: string,
  kind: K,
  fits: (event: EventOf<K>) => boolean = () => true,
  options: { readonly from?: number; readonly timeoutMs?: number } = {},
): Promise<EventOf<K>> {
  let seen: TimelineEvent[] = []
  return waitFor(
    `an event ${kind}`,
    async () => {
      seen = await timelineOf(client, session, options.from)
      return ofKind(seen, kind).find(fits)
    },
    { timeoutMs: options.timeoutMs ?? WAIT_LIMIT_MS, everyMs: 50, state: () => showEvents(seen) },
  )
}

/**
 * The runtime has recorded that many inputs. Before that a kill may lose the message of a turn that has begun: it goes to
 * the runtime again then, with all that it makes the model do.
 */
export async function waitForDelivered(
  client: BalletClient,
  session: string,
  count: number,
): Promise<void> {
  await waitFor(`${count} inputs to be recorded by the runtime`, async () => {
    return ofKind(await timelineOf(client, session), 'input.delivered').length >= count
  })
}

/** One that is parked is waited for until its agent is free: only then is all of its parking in the timeline. */
export async function waitForState(
  client: BalletClient,
  ref: string,
  state: SessionState,
  options: { readonly timeoutMs?: number; readonly everyMs?: number } = {},
): Promise<Session> {
  let seen: Session | undefined
  return waitFor(
    `the session to be ${state}`,
    async () => {
      seen = await client.sessions.show({ ref })
      return seen.state === state && (state !== 'parked' || seen.agent === null) && seen
    },
    { everyMs: 50, ...options, state: () => seen },
  )
}

/** Waits until the session waits, and nothing that was said to it is under way. */
export function waitForNothingOpen(client: BalletClient, ref: string): Promise<Session> {
  return waitFor('it to wait, with nothing under way', async () => {
    const session = await client.sessions.show({ ref })
    const open = await client.sessions.inputs({ ref, state: 'sent' })
    const { state, queuedInputs } = session
    return state === 'waiting' && queuedInputs === 0 && open.length === 0 && session
  })
}

/** Waits until the turn (counted from 1) has ended and the session takes inputs again. */
export async function waitForTurnEnd(
  client: BalletClient,
  session: string,
  turn: number,
  timeoutMs = WAIT_LIMIT_MS,
): Promise<EventOf<'turn.ended'>> {
  const ended = await waitForEvent(client, session, 'turn.ended', (event) => event.turn === turn, {
    timeoutMs,
  })
  await waitFor(
    `the session to wait after turn ${turn}`,
    async () => {
      const { state, turn: now } = await client.sessions.show({ ref: session })
      return now > turn || state === 'waiting' || state === 'failed' || state === 'parked'
    },
    { timeoutMs },
  )
  return ended
}

/** The live text of the session, as a late viewer gets it, once it holds `text`. */
export async function waitForLiveText(
  client: BalletClient,
  session: Session['id'],
  text: string,
): Promise<string> {
  let seen = ''
  return waitFor(
    `live text with ${JSON.stringify(text)}`,
    async () => {
      const { last } = await client.timeline.page({ session, limit: 1 })
      const { live } = await client.timeline.follow({ session, after: last, waitMs: 500 })
      seen = live.map((update) => update.text).join('')
      return seen.includes(text) && seen
    },
    { state: () => seen },
  )
}

/** One line an event, for messages. */
export function showEvents(events: readonly TimelineEvent[]): string {
  return events.map((event) => JSON.stringify(event).slice(0, 300)).join('\n')
}
