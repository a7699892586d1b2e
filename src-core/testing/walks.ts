import type { SessionState } from '../../src-shared/records.ts'
import type { FakeAgent } from './fake-agent.ts'
import { type TestCore, withTicket } from './test-core.ts'
import { until } from './until.ts'

/** Waits until the newest session of a ticket is in a state; gives it. */
export function inState({ client }: TestCore, ticket: string, state: SessionState) {
  return until(`${ticket} to be ${state}`, async () => {
    const session = await client.sessions.show({ ref: ticket })
    return session.state === state && session
  })
}

/** A started ticket whose agent was told to begin. */
export async function starting(core: TestCore, title?: string) {
  const ticket = await withTicket(core, title === undefined ? {} : { title })
  const agent = await core.launcher.holder(ticket.key)
  return { ticket, agent }
}

/** A started ticket in the middle of its first turn. */
export async function working(core: TestCore, title?: string) {
  const { ticket, agent } = await starting(core, title)
  agent.ready()
  await until('a delivery', () => agent.heard('input.deliver').length > 0)
  agent.beginTurn(1)
  await until('the turn', async () => {
    const session = await core.client.sessions.show({ ref: ticket.key })
    return session.turn === 1 && session.turnStartedAt !== null
  })
  return { ticket, agent }
}

/** A started ticket after its first turn. */
export async function waiting(core: TestCore, title?: string) {
  const { ticket, agent } = await working(core, title)
  agent.endTurn(1)
  await inState(core, ticket.key, 'waiting')
  return { ticket, agent }
}

/** A ticket whose session was stopped. */
export async function parked(core: TestCore, title?: string) {
  const { ticket, agent } = await waiting(core, title)
  await core.client.sessions.stop({ ref: ticket.key })
  await until('the stop', () => agent.heard('session.stop').length === 1)
  agent.end('stopped')
  await inState(core, ticket.key, 'parked')
  return { ticket, agent }
}

/** Waits until the agent was told of so many deliveries. */
export function deliveries(agent: FakeAgent, count: number) {
  return until(`${count} deliveries`, () => {
    const told = agent.heard('input.deliver')
    return told.length >= count && told.map(({ delivery }) => delivery)
  })
}

export async function timeline({ client }: TestCore, ticket: string) {
  return (await client.timeline.page({ session: ticket, limit: 1_000 })).events
}
