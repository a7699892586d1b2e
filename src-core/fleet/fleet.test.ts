import { expect, test } from 'vitest'
import { AGENT_WIRE_VERSION } from '../../src-shared/agent-wire.ts'
import { startTestCore, type TestCore, withTicket } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import { inState, waiting, working } from '../testing/walks.ts'
import { Backoff } from './backoff.ts'

const agents = ({ client }: TestCore) => client.agents.list()
const first = async (core: TestCore) => (await agents(core))[0]

/** Time passes while the given agents' hearts beat. */
async function pass(core: TestCore, ms: number, beating: readonly { heartbeat(): void }[] = []) {
  for (let passed = 0; passed < ms; passed += 1_000) {
    for (const agent of beating) agent.heartbeat()
    await settle(3)
    core.clock.turn(1_000)
  }
  await settle(3)
}

test('delays double up to the limit and begin anew after a reset', () => {
  const backoff = new Backoff()
  const delays = Array.from({ length: 7 }, () => backoff.next())
  expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  backoff.reset()
  expect(backoff.next()).toBe(1_000)
})

test('an agent is told who it is, and shown with what its heart beats', async () => {
  const core = await startTestCore({ agents: 2 })
  await until('both to be idle', async () =>
    (await agents(core)).every(({ state }) => state === 'idle'),
  )
  const agent = core.launcher.agent('agent-2')
  expect(agent.heard('init')).toMatchObject([
    { agent: 'agent-2', dataDir: core.dir, heartbeatMs: 2_000, env: { PATH: '/usr/bin' } },
  ])
  agent.heartbeat(null)
  await until('the heartbeat', async () => (await agents(core))[1]?.memoryBytes === 30_000_000)
  expect((await agents(core))[1]).toMatchObject({
    runtimePids: [5_000],
    runtimeMemoryBytes: 200_000_000,
    cpuPercent: 3.5,
    restarts: 0,
  })
})

test('what an agent told of a runtime is not shown any more once it has let go of the session', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  agent.heartbeat()
  await until('the heartbeat', async () => (await first(core))?.runtimePids.length === 1)
  await core.client.sessions.stop({ ref: ticket.key })
  await until('the stop', () => agent.heard('session.stop').length === 1)
  agent.end('stopped')
  await inState(core, ticket.key, 'parked')
  expect(await first(core)).toMatchObject({
    ...{ state: 'idle', runtimePids: [], runtimeMemoryBytes: null, memoryBytes: 30_000_000 },
  })
})

test('a heartbeat touches no storage, whatever the ticket holds', async () => {
  let reads = 0
  const core = await startTestCore({
    agents: 1,
    storage: (real) => ({
      ...real,
      row: (...args) => {
        reads += 1
        return real.row(...args)
      },
    }),
  })
  await core.client.projects.add({ name: 'Shop', repo: '/srv/shop.git' })
  const { key } = await withTicket(core, { body: 'x'.repeat(200_000) })
  const agent = await core.launcher.holder(key)
  const { cursor } = await core.client.records.follow({})
  reads = 0
  const news = core.client.records.follow({ cursor })
  agent.heartbeat()
  expect((await news).changes).toMatchObject([{ record: 'agent', value: { ticket: key } }])
  expect(reads).toBe(0)
})

test('an agent that does not say hello is ended and launched again, later each time', async () => {
  const core = await startTestCore({ agents: 1 })
  await until('it to be up', async () => (await first(core))?.state === 'idle')
  core.launcher.greets = false
  core.launcher.agent('agent-1').die()
  await until('it to be offline', async () => (await first(core))?.state === 'offline')
  const launches = () => core.launcher.launched.length
  expect(launches()).toBe(1)
  await pass(core, 1_000)
  expect(launches()).toBe(2)
  await pass(core, 15_000)
  expect(await first(core)).toMatchObject({
    state: 'offline',
    reason: 'did not say hello within 15 s',
    restarts: 2,
  })
  await pass(core, 1_000)
  expect(launches()).toBe(2)
  await pass(core, 1_000)
  expect(launches()).toBe(3)
})

test('a silent agent is ended; a pause of the machine is nobody’s silence', async () => {
  const core = await startTestCore({ agents: 2 })
  const { agent } = await working(core)
  await pass(core, 12_000, [agent])
  core.clock.sleep(3_600_000)
  await pass(core, 5_000, [agent])
  expect((await agents(core)).map(({ restarts }) => restarts)).toEqual([0, 0])
  await pass(core, 15_000, [agent])
  expect((await agents(core)).map(({ restarts }) => restarts)).toEqual([0, 1])
  expect(core.logged.map(({ message }) => message)).toContain('agent-2 was silent for 15 s')
  expect((await core.client.sessions.show({ ref: 'SHOP-1' })).state).toBe('working')
})

test('an agent that lived well is restarted without delay growing', async () => {
  const core = await startTestCore({ agents: 1 })
  for (let round = 1; round <= 3; round += 1) {
    const agent = core.launcher.agent('agent-1')
    await until('it to be up', async () => (await first(core))?.state === 'idle')
    await pass(core, 61_000, [{ heartbeat: () => agent.heartbeat(null) }])
    agent.die()
    await until('it to be offline', async () => (await first(core))?.state === 'offline')
    core.clock.turn(1_000)
    await until('it to be up again', async () => (await first(core))?.state === 'idle')
  }
  expect(core.launcher.launched).toHaveLength(4)
})

test('what does not decode is logged; an agent that goes on with it is ended', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(core)
  agent.sayAnything({ type: 'nonsense' })
  agent.sayAnything('not even an object')
  await settle()
  expect((await core.client.sessions.show({ ref: ticket.key })).state).toBe('working')
  expect(core.logged.filter(({ message }) => message.includes('does not decode'))).toHaveLength(2)
  agent.sayAnything({ type: 'items', lease: agent.spec().lease, from: 0, items: [], blobs: [] })
  await inState(core, ticket.key, 'resuming')
  expect((await first(core))?.reason).toBe('sent what does not decode')
})

test('an agent that is being ended gets no work, whatever it still says', async () => {
  const core = await startTestCore({ agents: 1 })
  const agent = core.launcher.agent('agent-1')
  await until('it to be up', async () => (await first(core))?.state === 'idle')
  await core.client.projects.add({ name: 'Shop', repo: '/srv/shop.git' })
  agent.survives = true
  for (let count = 0; count < 3; count += 1) agent.sayAnything('nonsense')
  await settle()
  await withTicketOf(core, 'one')
  agent.hello()
  await settle()
  expect(agent.heard('session.start')).toEqual([])
  expect((await first(core))?.state).toBe('offline')
  core.clock.turn(6_000)
  await core.launcher.holder('SHOP-1')
  expect(core.launcher.launched).toHaveLength(2)
})

test('an agent of another version is not used', async () => {
  const core = await startTestCore({ agents: 1 })
  await until('it to be up', async () => (await first(core))?.state === 'idle')
  core.launcher.greets = false
  core.launcher.agent('agent-1').die()
  await until('it to be offline', async () => (await first(core))?.state === 'offline')
  core.clock.turn(1_000)
  const agent = await until('the next one', () => core.launcher.launched[1]?.fake)
  agent.say({ type: 'hello', wire: 99, process: { pid: 1, startTime: '1' } })
  await until('it to be ended', async () => (await first(core))?.restarts === 2)
  expect((await first(core))?.reason).toBe(
    `speaks version 99 of the wire, not ${AGENT_WIRE_VERSION}`,
  )
})

test('an agent that lost its session is ended, so that another one gets it', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(core)
  await pass(core, 5_000, [{ heartbeat: () => agent.heartbeat(null) }])
  await inState(core, ticket.key, 'resuming')
  const told = core.logged.map(({ message }) => message)
  expect(told).toContain('agent-1 does not know of its session any more')
})

test('an agent that runs a session which nobody gave it is ended', async () => {
  const core = await startTestCore({ agents: 1 })
  const agent = core.launcher.agent('agent-1')
  await until('it to be up', async () => (await first(core))?.state === 'idle')
  const lease = '01a2293b-994d-71d8-8beb-07293cee7f38'
  await pass(core, 12_000, [{ heartbeat: () => agent.heartbeat(lease) }])
  await until('the next one', () => core.launcher.launched[1])
  const told = core.logged.map(({ message }) => message)
  expect(told).toContain('agent-1 is ended: it runs a session that is not its own')
})

test('three sessions at once on three agents, a fourth waits; limits of a project hold', async () => {
  const core = await startTestCore({ agents: 3 })
  const { client } = core
  await client.projects.add({ name: 'Small', repo: '/srv/small.git', maxSessions: 1 })
  await client.tickets.add({ project: 'Small', title: 'A', start: true })
  await client.tickets.add({ project: 'Small', title: 'B', start: true })
  await core.launcher.holder('SMALL-1')
  for (const title of ['one', 'two', 'three']) await withTicketOf(core, title)
  await core.launcher.holder('SHOP-2')
  await settle()
  const states = async () =>
    Object.fromEntries((await client.sessions.list()).map(({ ticket, state }) => [ticket, state]))
  expect(await states()).toEqual({
    'SMALL-1': 'starting',
    'SMALL-2': 'queued',
    'SHOP-1': 'starting',
    'SHOP-2': 'starting',
    'SHOP-3': 'queued',
  })
  const holder = await core.launcher.holder('SHOP-1')
  holder.end('stopped')
  await core.launcher.holder('SHOP-3')
  expect((await states())['SMALL-2']).toBe('queued')
  const small = await core.launcher.holder('SMALL-1')
  small.end('stopped')
  await core.launcher.holder('SMALL-2')
})

const withTicketOf = async (core: TestCore, title: string) => {
  const projects = await core.client.projects.list()
  if (!projects.some(({ name }) => name === 'Shop')) {
    await core.client.projects.add({ name: 'Shop', repo: '/srv/shop.git' })
  }
  return withTicket(core, { title })
}
