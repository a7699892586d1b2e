import type { SessionId, TicketId } from '../../../src-shared/ids.ts'
import type { Session, SessionState } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { type Client, isRefused, refusalOf } from '../../sync/client.ts'
import { newCommand } from '../composer/steer.ts'

/** The session holds an agent, or waits for one. */
export const isLive = (state: SessionState) =>
  ['queued', 'starting', 'working', 'waiting', 'parking', 'resuming'].includes(state)

/** A message brings it back. */
export const takesMessages = (state: SessionState) =>
  state !== 'finished' && state !== 'cancelled' && state !== 'moved'

/** `certain`: Core refused, and nothing was done. Else nobody knows; the same command may be given again. */
type Outcome<T> = { ok: true; value: T } | { ok: false; refusal: Refusal; certain: boolean }

export async function attempt<T>(call: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await call() }
  } catch (error) {
    return { ok: false, refusal: refusalOf(error), certain: isRefused(error) }
  }
}

export const stopSession = (client: Client, session: SessionId): Promise<Outcome<Session>> =>
  attempt(() => client.sessions.stop({ ref: session, commandId: newCommand() }))

export const finishSession = (client: Client, session: SessionId): Promise<Outcome<Session>> =>
  attempt(() => client.sessions.finish({ ref: session, commandId: newCommand() }))

export const parkSession = (client: Client, session: SessionId): Promise<Outcome<Session>> =>
  attempt(() => client.sessions.park({ ref: session, commandId: newCommand() }))

export const resumeSession = (client: Client, session: SessionId): Promise<Outcome<Session>> =>
  attempt(() => client.sessions.resume({ ref: session, commandId: newCommand() }))

/** Also without kept files that are damaged; the timeline says which. */
export const resumeWithoutDamaged = (
  client: Client,
  session: SessionId,
): Promise<Outcome<Session>> =>
  attempt(() =>
    client.sessions.resume({ ref: session, commandId: newCommand(), withoutDamaged: true }),
  )

/** It parks an hour from now at the earliest. */
export const keepSession = (client: Client, session: SessionId): Promise<Outcome<Session>> =>
  attempt(() => client.sessions.keep({ ref: session, commandId: newCommand(), for: '1h' }))

export const startTicket = (client: Client, ticket: TicketId): Promise<Outcome<Session>> =>
  attempt(() => client.tickets.start({ ref: ticket, commandId: newCommand() }))
