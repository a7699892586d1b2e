import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionState } from '../../src-shared/records.ts'
import { keptFile } from '../storage/test-samples.ts'
import type { FakeAgent } from './fake-agent.ts'
import { type TestCore, withTicket } from './test-core.ts'
import { settle, until } from './until.ts'

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

/** A ticket whose session a person parked; its agent is free. */
export async function keptAway(core: TestCore, work: Parameters<FakeAgent['park']>[0] = {}) {
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.park({ ref: ticket.key })
  await letGo(core, ticket.key, agent, work)
  return { ticket, agent }
}

/** A file in the session's folder of kept files, and what an agent tells of it. */
export async function keptOnDisk(core: TestCore, ticket: string, name = 'state-1.sealed') {
  const { id } = await core.client.sessions.show({ ref: ticket })
  const folder = join(core.dir, 'kept', id)
  mkdirSync(folder, { recursive: true })
  const path = join(folder, name)
  writeFileSync(path, `the state ${name}`)
  const sha256 = createHash('sha256').update(`the state ${name}`).digest('hex')
  return { path, file: keptFile({ name, bytes: `the state ${name}`.length, sha256 }) }
}

/** The agent does what it was told, and is free. */
export async function letGo(
  core: TestCore,
  ticket: string,
  agent: FakeAgent,
  work: Parameters<FakeAgent['park']>[0] = {},
) {
  await until('the order to park', () => agent.heard('session.park').length > 0)
  await stored(agent, () => agent.park(work))
  await stored(agent, () => agent.end('parked', false))
  return core.client.sessions.show({ ref: ticket })
}

/** The one in the place of an agent that died, as soon as it was given the session. */
export async function nextAgent(core: TestCore, died: FakeAgent): Promise<FakeAgent> {
  core.clock.turn(1_000)
  return until('the next agent', () => {
    const latest = core.launcher.agent('agent-1')
    return latest !== died && latest.heard('session.start').length === 1 && latest
  })
}

/** Waits until what the agent says is stored. */
export async function stored(agent: FakeAgent, say: () => void): Promise<void> {
  const before = agent.heard('items.ack').length
  say()
  await until('what was said to be stored', () => agent.heard('items.ack').length > before)
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

/** Lets time pass in which every agent, or those that are given, show that they live. */
export function pass(core: TestCore, ms: number, living?: readonly FakeAgent[]) {
  return passWith(core, ms, () => {
    for (const fake of living ?? core.launcher.launched.map((launched) => launched.fake)) {
      fake.heartbeat()
    }
  })
}

/** The same where none of them has a session any more. */
export function passIdle(core: TestCore, ms: number) {
  return passWith(core, ms, () => {
    for (const { fake } of core.launcher.launched) fake.heartbeat(null)
  })
}

async function passWith(core: TestCore, ms: number, beat: () => void) {
  const STEP = 5_000
  for (let left = ms; left > 0; left -= STEP) {
    core.clock.turn(Math.min(STEP, left))
    beat()
    await settle(5)
  }
}
