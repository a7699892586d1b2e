import { expect, test } from 'vitest'
import { RequestId } from '../../src-shared/ids.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { hostDrain } from '../host/quitting.ts'
import { systemIds } from '../host/system.ts'
import { createRouter } from '../router/router.ts'
import type { FakeAgent } from '../testing/fake-agent.ts'
import { refusalOf, startTestCore, type TestCore, withTicket } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import {
  deliveries,
  inState,
  keptAway,
  letGo,
  pass,
  starting,
  stored,
  timeline,
  waiting,
  working,
} from '../testing/walks.ts'

const MINUTE = 60_000
const REQUEST = RequestId.parse('01930000-0000-7000-8000-0000000000a1')

const log = { debug() {}, info() {}, warn() {}, error() {} }

const isTold = (agent: FakeAgent) => agent.heard('session.park').length > 0

const states = async ({ client }: TestCore) =>
  (await client.agents.list()).map(({ state }) => state).join(' ')

const untilStates = (core: TestCore, wanted: string) =>
  until(`the agents to be ${wanted}`, async () => (await states(core)) === wanted)

test('a drain parks what waits at once, and what works at the end of its turn', async () => {
  const core = await startTestCore({ agents: 3 })
  const waits = await waiting(core)
  const works = await working(core, 'Second')
  await core.client.sessions.send({ ref: works.ticket.key, text: 'next' })
  const answer = await core.client.agents.drain({})
  expect(answer.map(({ state }) => state)).toEqual(['draining', 'draining', 'draining'])
  await until('the order', () => isTold(waits.agent))
  expect(isTold(works.agent)).toBe(false)
  await letGo(core, waits.ticket.key, waits.agent)
  await untilStates(core, 'offline draining offline')
  // The end of the turn comes before what was queued.
  works.agent.endTurn(1)
  await until('the order', () => isTold(works.agent))
  expect(works.agent.heard('input.deliver')).toHaveLength(1)
  const parked = await letGo(core, works.ticket.key, works.agent)
  expect(parked).toMatchObject({ state: 'parked', parked: { why: 'drain', wakes: true } })
  await untilStates(core, 'offline offline offline')
  const [agent] = await core.client.agents.list()
  expect(agent?.reason).toContain('drained')
  // Nobody takes anything.
  const ticket = await withTicket(core, { title: 'Third' })
  await pass(core, MINUTE)
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({ state: 'queued' })

  await core.client.agents.drain({ how: 'cancel' })
  expect(await core.client.sessions.show({ ref: waits.ticket.key })).toMatchObject({
    state: 'parked',
    parked: { wakes: false },
  })
  await core.launcher.holder(ticket.key)
  const again = await until('the session to come back', () =>
    core.launcher.holders(works.ticket.key).find((holder) => holder !== works.agent),
  )
  again.ready()
  expect((await deliveries(again, 1))[0]?.text).toBe('next')
})

test('what is parked because the host quits says so, and goes on by itself where it worked', async () => {
  const first = await startTestCore({ agents: 2 })
  const waits = await waiting(first)
  const works = await working(first, 'Second')
  await hostDrain(createRouter(first.core, log), systemIds).drain('fast')
  for (const { ticket, agent } of [waits, works]) {
    await until('the order', () => isTold(agent))
    if (ticket === works.ticket) agent.endTurn(1, 'interrupted')
    const parked = await letGo(first, ticket.key, agent)
    expect(parked).toMatchObject({
      ...{ state: 'parked', parked: { why: 'quit', wakes: ticket === works.ticket } },
      reason: expect.stringMatching(/^Ballet was quit/u),
    })
  }
  const second = await first.restart()
  expect(await second.client.sessions.show({ ref: waits.ticket.key })).toMatchObject({
    state: 'parked',
  })
  await second.launcher.holder(works.ticket.key)
})

test('what waits for a permission is parked at once, and stays parked with its request open', async () => {
  const first = await startTestCore({ agents: 1 })
  await first.client.settings.edit({ drainGraceSeconds: 600 })
  const { ticket, agent } = await working(first)
  await first.client.agents.drain({})
  await settle()
  expect(isTold(agent)).toBe(false)
  agent.ask(REQUEST)
  await until('the order', () => isTold(agent))
  agent.endTurn(1, 'interrupted')
  agent.item({ type: 'request.withdrawn', request: REQUEST })
  expect(await letGo(first, ticket.key, agent)).toMatchObject({
    ...{ state: 'parked', openRequests: 1 },
    parked: { why: 'drain', wakes: false },
  })
  const second = await first.restart()
  await settle()
  expect(await second.client.sessions.show({ ref: ticket.key })).toMatchObject({ state: 'parked' })
  await second.client.requests.allow({ ref: REQUEST })
  await second.launcher.holder(ticket.key)
})

test('a turn is interrupted when its grace is over, and goes on by itself after the next start', async () => {
  const first = await startTestCore({ agents: 1 })
  await first.client.settings.edit({ drainGraceSeconds: 30 })
  const { ticket, agent } = await working(first)
  await first.client.agents.drain({ agent: 'agent-1' })
  await pass(first, 25_000)
  expect(isTold(agent)).toBe(false)
  await pass(first, 10_000)
  await until('the order', () => isTold(agent))
  agent.endTurn(1, 'interrupted')
  expect(await letGo(first, ticket.key, agent)).toMatchObject({
    state: 'parked',
    parked: { wakes: true },
  })
  expect((await first.client.tickets.show({ ref: ticket.key })).status).toBe('In progress')
  expect(await first.client.inbox.list()).toEqual([])

  const second = await first.restart()
  const next = await second.launcher.holder(ticket.key)
  next.ready()
  expect((await deliveries(next, 1))[0]?.text).toContain('go on where you were')
  next.beginTurn(2)
  next.endTurn(2)
  await inState(second, ticket.key, 'waiting')
  // Once.
  await settle()
  expect(next.heard('input.deliver')).toHaveLength(1)
})

test('now does not wait for the end of the turn; fast tells the agent to hurry, also what parks already', async () => {
  const core = await startTestCore({ agents: 2 })
  const one = await working(core)
  const two = await working(core, 'Second')
  await core.client.agents.drain({ agent: 'agent-1', how: 'now' })
  await until('the order', () => isTold(one.agent))
  expect(one.agent.heard('session.park')).toMatchObject([{ fast: false }])
  expect(isTold(two.agent)).toBe(false)
  await core.client.agents.drain({ how: 'fast' })
  await until('the orders', () => one.agent.heard('session.park').length === 2 && isTold(two.agent))
  const [begun, again] = one.agent.heard('session.park')
  expect(again).toMatchObject({ saga: begun?.saga, fast: true })
  expect(two.agent.heard('session.park')).toMatchObject([{ fast: true }])
  await core.client.agents.drain({ how: 'fast' })
  await settle()
  expect(one.agent.heard('session.park')).toHaveLength(2)
})

test('one drained agent’s work goes on with another one', async () => {
  const core = await startTestCore({ agents: 2 })
  const { ticket, agent } = await working(core)
  await core.client.agents.drain({ agent: 'agent-1', how: 'now' })
  await until('the order', () => isTold(agent))
  agent.endTurn(1, 'interrupted')
  await letGo(core, ticket.key, agent)
  const other = await until('the other agent', () =>
    core.launcher.holders(ticket.key).find((holder) => holder !== agent),
  )
  other.ready()
  expect((await deliveries(other, 1))[0]?.text).toContain('go on where you were')
  await untilStates(core, 'offline busy')
  const unknown = core.client.agents.drain({ agent: 'agent-9' as never })
  expect(await refusalOf(unknown)).toMatchObject({ code: 'agent.not-found' })
  await core.client.agents.drain({ agent: 'agent-1', how: 'cancel' })
  await untilStates(core, 'idle busy')
})

const TOO_LARGE = { code: 'workspace.too-large', message: 'It is too large.' }

const row = (core: TestCore, id: string) => core.storage.row('session', id)

test('a session that cannot be parked is let go of, its workspace where it is', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await core.client.agents.drain({})
  await until('the order', () => isTold(agent))
  agent.item({ type: 'refused', what: 'park', refusal: TOO_LARGE })
  await until('the release', () => agent.heard('session.release').length === 1)
  await settle()
  // It is not told to park again, and says why it does not.
  expect(agent.heard('session.park')).toHaveLength(1)
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({
    ...{ state: 'waiting', reason: TOO_LARGE.message },
  })
  await stored(agent, () => agent.end('released'))
  const session = await core.client.sessions.show({ ref: ticket.key })
  expect(session).toMatchObject({ state: 'resuming', agent: null, parked: null })
  expect(session.workspace).not.toBeNull()
  expect(await row(core, session.id)).toMatchObject({ saga: null })
  expect(agent.heard('session.release')).toHaveLength(1)
  await untilStates(core, 'offline')
})

test('what could not be parked runs with its next agent for as long as it wants', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await keptAway(core)
  await core.client.sessions.resume({ ref: ticket.key })
  await until('another start', () => agent.heard('session.start').length === 2)
  await stored(agent, () => agent.ready())
  await core.client.agents.drain({})
  await until('the order', () => agent.heard('session.park').length === 2)
  agent.item({ type: 'refused', what: 'park', refusal: TOO_LARGE })
  await until('the release', () => agent.heard('session.release').length === 1)
  await stored(agent, () => agent.end('released'))
  await untilStates(core, 'offline')
  await core.client.agents.drain({ how: 'cancel' })
  const next = await until('the next agent', () =>
    core.launcher.holders(ticket.key).find((holder) => holder !== agent),
  )
  expect(next.spec()).toMatchObject({ task: 'run', parked: { restored: true } })
  await stored(next, () => next.ready())
  await core.client.sessions.edit({ ref: ticket.key, window: 'never' })
  await pass(core, 31 * MINUTE)
  expect(isTold(next)).toBe(false)
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({
    ...{ state: 'waiting', agent: 'agent-1' },
  })
  expect(next.heard('session.start')).toHaveLength(1)
})

const wrappedKey = () =>
  Promise.reject(new BalletError({ code: 'key.wrapped', message: 'The key is wrapped.' }))

test('without the data key a drain ends all the same', async () => {
  const core = await startTestCore({ agents: 1, key: wrappedKey })
  const { ticket, agent } = await waiting(core)
  await core.client.agents.drain({})
  await until('the release', () => agent.heard('session.release').length === 1)
  await stored(agent, () => agent.end('released'))
  await untilStates(core, 'offline')
  const notices = (await timeline(core, ticket.key)).filter(({ kind }) => kind === 'notice')
  expect(notices).toMatchObject([{ code: 'key.wrapped' }])
  expect(isTold(agent)).toBe(false)
})

test('what works and cannot be parked is let go of by a drain, and goes on at the next start', async () => {
  const first = await startTestCore({ agents: 1, key: wrappedKey })
  const { ticket, agent } = await working(first)
  await first.client.agents.drain({ how: 'now' })
  await until('the release', () => agent.heard('session.release').length === 1)
  agent.endTurn(1, 'killed')
  await stored(agent, () => agent.end('released'))
  await untilStates(first, 'offline')
  const second = await first.restart()
  const again = await second.launcher.holder(ticket.key)
  again.ready()
  expect(await deliveries(again, 1)).toHaveLength(1)
})

test('what comes up just when it is let go of is not parked', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await starting(core)
  await core.client.agents.drain({ how: 'now' })
  await until('the release', () => agent.heard('session.release').length === 1)
  await stored(agent, () => agent.ready())
  await settle()
  expect(isTold(agent)).toBe(false)
  await stored(agent, () => agent.end('released'))
  const { id, state } = await core.client.sessions.show({ ref: ticket.key })
  expect(state).toBe('resuming')
  expect(await row(core, id)).toMatchObject({ saga: null, leaseId: null })
  await untilStates(core, 'offline')
})

test('an agent that lets go instead of parking leaves no parking to the next one', async () => {
  const core = await startTestCore({ agents: 2 })
  const { ticket, agent } = await waiting(core)
  await core.client.agents.drain({ agent: 'agent-1' })
  await until('the order', () => isTold(agent))
  await stored(agent, () => agent.end('released'))
  const other = await until('the other agent', () =>
    core.launcher.holders(ticket.key).find((holder) => holder !== agent),
  )
  expect(other.spec()).toMatchObject({ task: 'run' })
  other.ready()
  const { id } = await inState(core, ticket.key, 'waiting')
  expect(await row(core, id)).toMatchObject({ saga: null })
  expect(isTold(other)).toBe(false)
})

test('what a person parks while it is let go of is parked by the next agent', async () => {
  const core = await startTestCore({ agents: 2 })
  const { ticket, agent } = await waiting(core)
  await core.client.agents.drain({ agent: 'agent-1' })
  await until('the order', () => isTold(agent))
  agent.item({ type: 'refused', what: 'park', refusal: TOO_LARGE })
  await until('the release', () => agent.heard('session.release').length === 1)
  await core.client.sessions.park({ ref: ticket.key })
  // It has no ear for that any more.
  await stored(agent, () => agent.end('released'))
  const other = await until('the other agent', () =>
    core.launcher.holders(ticket.key).find((holder) => holder !== agent),
  )
  expect(other.spec()).toMatchObject({ task: 'park' })
  expect(await letGo(core, ticket.key, other)).toMatchObject({
    ...{ state: 'parked', parked: { why: 'person' } },
  })
})

test('an agent that does not let go of its session is ended', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await core.client.agents.drain({})
  await until('the order', () => isTold(agent))
  agent.item({ type: 'refused', what: 'park', refusal: TOO_LARGE })
  await until('the release', () => agent.heard('session.release').length === 1)
  await pass(core, 55_000)
  expect(await states(core)).toBe('draining')
  await pass(core, 10_000)
  await untilStates(core, 'offline')
  expect(await inState(core, ticket.key, 'resuming')).toMatchObject({ agent: null })
})

test('what is only being brought back is parked when it waits, or let go of after the grace', async () => {
  const core = await startTestCore({ agents: 2 })
  const ready = await starting(core)
  const slow = await starting(core, 'Second')
  await core.client.agents.drain({})
  ready.agent.ready()
  await until('the order', () => isTold(ready.agent))
  expect(ready.agent.heard('input.deliver')).toEqual([])
  expect(await letGo(core, ready.ticket.key, ready.agent)).toMatchObject({
    parked: { wakes: true },
  })
  await pass(core, MINUTE + 5_000)
  await until('the release', () => slow.agent.heard('session.release').length === 1)
  expect(isTold(slow.agent)).toBe(false)
  slow.agent.end('released')
  await untilStates(core, 'offline offline')
  expect(await core.client.sessions.show({ ref: slow.ticket.key })).toMatchObject({
    state: 'resuming',
  })
})

test('a host that dies while it drains brings back what worked, and parks what waited', async () => {
  const first = await startTestCore({ agents: 2 })
  const waits = await waiting(first)
  const works = await working(first, 'Second')
  await first.client.agents.drain({ how: 'now' })
  await until('the orders', () => isTold(waits.agent) && isTold(works.agent))
  const second = await first.restart()
  const parks = await second.launcher.holder(waits.ticket.key)
  expect(parks.spec()).toMatchObject({ task: 'park' })
  const runs = await second.launcher.holder(works.ticket.key)
  expect(runs.spec()).toMatchObject({ task: 'run', parked: null, resume: { turnCut: true } })
  runs.ready()
  const [delivery] = await deliveries(runs, 1)
  expect(delivery).toMatchObject({
    text: expect.stringContaining('go on where you were'),
    preface: expect.stringContaining('cut off'),
  })
})

test('a fleet that shrinks parks the sessions of the places that go', async () => {
  const core = await startTestCore({ agents: 2 })
  await working(core)
  const { ticket, agent } = await working(core, 'Second')
  await core.client.settings.edit({ agents: 1 })
  // That is no drain that can be taken back.
  await core.client.agents.drain({ how: 'cancel' })
  await pass(core, 50_000)
  expect(isTold(agent)).toBe(false)
  await pass(core, 15_000)
  await until('the order', () => isTold(agent))
  agent.endTurn(1, 'interrupted')
  expect(await letGo(core, ticket.key, agent)).toMatchObject({ state: 'resuming' })
  await untilStates(core, 'busy')
})

test('a drained agent that dies is not launched again; what it held goes to another one', async () => {
  const core = await startTestCore({ agents: 2 })
  const { ticket, agent } = await waiting(core)
  await core.client.agents.drain({ agent: 'agent-1' })
  await until('the order', () => isTold(agent))
  agent.die()
  const other = await until('the other agent', () =>
    core.launcher.holders(ticket.key).find((holder) => holder !== agent),
  )
  expect(other.spec().task).toBe('park')
  await letGo(core, ticket.key, other)
  await pass(core, MINUTE)
  expect(await states(core)).toBe('offline idle')
})

test('an agent that was told to end gets no session before the next one is up in its place', async () => {
  const core = await startTestCore({ agents: 1 })
  await untilStates(core, 'idle')
  const agent = core.launcher.agent('agent-1')
  agent.obedient = false
  await core.client.agents.drain({})
  await core.client.agents.drain({ how: 'cancel' })
  expect(await states(core)).toBe('draining')
  const ticket = await withTicket(core)
  await settle()
  expect(agent.heard('session.start')).toEqual([])
  agent.die('ended in order', 0)
  const next = await core.launcher.holder(ticket.key)
  expect(next).not.toBe(agent)
  next.ready()
  await inState(core, ticket.key, 'working')
})

test('an answer while everything is drained waits for the next start', async () => {
  const first = await startTestCore({ agents: 1 })
  const { ticket, agent } = await keptAway(first)
  await first.client.agents.drain({})
  await untilStates(first, 'offline')
  await first.client.sessions.send({ ref: ticket.key, text: 'go on' })
  await settle()
  expect(agent.heard('session.start')).toHaveLength(1)
  const second = await first.restart()
  const next = await second.launcher.holder(ticket.key)
  next.ready()
  expect((await deliveries(next, 1))[0]?.text).toBe('go on')
})
