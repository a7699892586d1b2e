import { expect, test } from 'vitest'
import type { RuntimeCapabilities } from '../../src-shared/runtimes.ts'
import type { FakeAgent } from '../testing/fake-agent.ts'
import { startTestCore, type TestCore } from '../testing/test-core.ts'
import { until } from '../testing/until.ts'
import { deliveries, inState, letGo, starting, stored, waiting } from '../testing/walks.ts'

/** A session that parks by the next agent, after the first one died with a message in flight. */
async function cutInFlight(core: TestCore) {
  const { ticket, agent } = await waiting(core)
  agent.event({ kind: 'assistant.text', text: 'done', ref: 'uuid-1', turn: 1 })
  await core.client.sessions.send({ ref: ticket.key, text: 'in flight' })
  const [, flying] = await deliveries(agent, 2)
  if (flying === undefined) throw new Error('no delivery')
  await core.client.sessions.park({ ref: ticket.key })
  agent.event({ kind: 'turn.started', turn: 2, inputs: flying.inputs })
  await until('the turn', async () => {
    const { turn } = await core.client.sessions.show({ ref: ticket.key })
    return turn === 2
  })
  return { ticket, next: await parkedByNext(core, ticket.key, agent), flying }
}

async function parkedByNext(core: TestCore, ticket: string, agent: FakeAgent) {
  agent.die()
  await until('the loss', async () => {
    const { agent: holder } = await core.client.sessions.show({ ref: ticket })
    return holder === null
  })
  core.clock.turn(1_000)
  return until('the next agent', () => {
    const latest = core.launcher.agent('agent-1')
    return latest !== agent && latest.heard('session.park').length === 1 && latest
  })
}

test('of a message in flight the next resume tells what became of it', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, next, flying } = await cutInFlight(core)
  await letGo(core, ticket.key, next)
  const [, sent] = await core.client.sessions.inputs({ ref: ticket.key })
  expect(sent).toMatchObject({ text: 'in flight', state: 'sent' })
  await core.client.sessions.resume({ ref: ticket.key })
  await until('another start', () => next.heard('session.start').length === 2)
  expect(next.spec().resume).toMatchObject({
    turnCut: true,
    openDeliveries: [{ id: flying.id, inputs: flying.inputs }],
    // The record may end with the turn before the one that was cut.
    storedRefs: ['uuid-1'],
  })
  next.items([
    { type: 'undelivered', delivery: flying.id, fate: 'never', reason: 'not in its record' },
    { type: 'ready', conversation: 'conversation-1', runtimeVersion: '2.1.332' },
  ])
  expect((await deliveries(next, 1))[0]?.text).toContain('in flight')
})

test('without a record of the conversation nobody knows what became of it', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, next } = await cutInFlight(core)
  await letGo(core, ticket.key, next, { state: null })
  expect(await core.client.sessions.inputs({ ref: ticket.key, state: 'unknown' })).toHaveLength(1)
  await inState(core, ticket.key, 'parked')
})

test('what nobody knows of a first message is taken for recorded: nothing begins anew without a word', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await starting(core)
  agent.ready()
  await deliveries(agent, 1)
  await core.client.sessions.park({ ref: ticket.key })
  await letGo(core, ticket.key, agent, { state: null })
  await core.client.sessions.resume({ ref: ticket.key })
  await until('another start', () => agent.heard('session.start').length === 2)
  expect(agent.spec().resume).toMatchObject({
    ...{ conversation: 'conversation-1', recorded: true, openDeliveries: [] },
  })
})

/** A session that is parked after its first turn was cut before the runtime had recorded anything. */
async function keptUnrecorded(core: TestCore) {
  const { ticket, agent } = await starting(core)
  agent.ready()
  const [given] = await deliveries(agent, 1)
  agent.event({ kind: 'turn.started', turn: 1, inputs: given?.inputs ?? [] })
  await until('the turn', async () => {
    const { turn } = await core.client.sessions.show({ ref: ticket.key })
    return turn === 1
  })
  await core.client.sessions.park({ ref: ticket.key })
  const next = await parkedByNext(core, ticket.key, agent)
  expect(next.spec().resume).toMatchObject({ recorded: false })
  const session = await letGo(core, ticket.key, next, { state: null, unrecorded: true })
  return { ticket, next, session }
}

test('of a first turn that left no record everything is said to another conversation', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, next, session } = await keptUnrecorded(core)
  expect(session).toMatchObject({ state: 'parked', reason: 'parked by a person', queuedInputs: 1 })
  const { events } = await core.client.timeline.page({ session: session.id })
  expect(events.filter((event) => 'code' in event && event.code === 'turn.lost')).toHaveLength(1)
  await core.client.sessions.resume({ ref: ticket.key })
  await until('another start', () => next.heard('session.start').length === 2)
  expect(next.spec().resume).toMatchObject({ conversation: null, turn: 1, openDeliveries: [] })
  next.ready('conversation-2')
  const [first] = await deliveries(next, 1)
  expect(first?.preface).toMatch(/^Your last turn was cut off before its end/u)
  expect(first?.text).toContain(ticket.title)

  // What that one has recorded stays its own, whatever was said of the first one.
  next.beginTurn(2)
  next.endTurn(2)
  await inState(core, ticket.key, 'waiting')
  await core.client.sessions.park({ ref: ticket.key })
  const state = { conversation: 'conversation-2', runtimeVersion: '2.1.332', bytes: 5 }
  await until('the second order to park', () => next.heard('session.park').length === 2)
  await stored(next, () => next.park({ state, snapshot: null, unrecorded: true }))
  await stored(next, () => next.end('parked', false))
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({
    ...{ state: 'parked', conversation: 'conversation-2', queuedInputs: 0 },
  })
})

test('the ticket that goes to another conversation is said once where another runtime goes on', async () => {
  const capabilities: RuntimeCapabilities = {
    ...{ resume: 'proven', steer: true, permissionRequests: true, cost: true, images: true },
    ...{ moves: true, mcp: true, usage: true, planner: true },
  }
  const versions = { minimum: null, tested: ['1.0.0'] }
  const runtimes = [{ runtime: 'codex' as const, capabilities, versions }]
  const core = await startTestCore({ agents: 1, runtimes })
  const { ticket, next } = await keptUnrecorded(core)
  await core.client.sessions.continueWith({ ref: ticket.key, runtime: 'codex' })
  await until('another start', () => next.heard('session.start').length === 2)
  expect(next.spec()).toMatchObject({ runtime: 'codex', resume: { conversation: null } })
  next.ready('thread-1')
  const [first] = await deliveries(next, 1)
  expect(first?.text.split(ticket.title)).toHaveLength(2)
})
