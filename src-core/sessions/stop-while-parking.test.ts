import { expect, test } from 'vitest'
import { asked, questionId, startWithoutPlanner } from '../testing/asking.ts'
import { startTestCore, type TestCore } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import { inState, letGo, stored, waiting, working } from '../testing/walks.ts'

/** A session that is being parked by hand, whose agent was told. */
async function parking(core: TestCore) {
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.park({ ref: ticket.key })
  await until('the order', () => agent.heard('session.park').length === 1)
  return { ticket, agent }
}

const status = async ({ client }: TestCore, ticket: string) =>
  (await client.tickets.show({ ref: ticket })).status

test('a session that is stopped while it parks is parked, and then stopped', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await parking(core)
  const stopped = await core.client.sessions.stop({ ref: ticket.key })
  expect(stopped).toMatchObject({ state: 'parking', reason: 'is being parked, and then stopped' })
  // Once is enough.
  await core.client.sessions.stop({ ref: ticket.key })
  expect(agent.heard('session.stop')).toEqual([])
  expect(await letGo(core, ticket.key, agent)).toMatchObject({
    ...{ state: 'parked', agent: null, workspace: null, reason: 'stopped by a person' },
    parked: { why: 'stop' },
  })
  expect(await status(core, ticket.key)).toBe('Ready')
  expect(await core.client.inbox.list()).toEqual([])
  await core.client.sessions.resume({ ref: ticket.key })
  await until('another start', () => agent.heard('session.start').length === 2)
  expect(agent.spec().parked).not.toBeNull()
})

test('a session that is parked already is stopped all the same, once', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await parking(core)
  await letGo(core, ticket.key, agent)
  expect(await status(core, ticket.key)).toBe('Waiting for answer')
  const stopped = await core.client.sessions.stop({ ref: ticket.key })
  expect(stopped).toMatchObject({
    ...{ state: 'parked', reason: 'stopped by a person' },
    parked: { why: 'stop' },
  })
  expect(await status(core, ticket.key)).toBe('Ready')
  const { lastSeq } = stopped
  expect(await core.client.sessions.stop({ ref: ticket.key })).toMatchObject({ lastSeq })
})

test('a session that was to wake by itself does not when it is stopped', async () => {
  const first = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(first)
  await first.client.agents.drain({ how: 'now' })
  await until('the order', () => agent.heard('session.park').length === 1)
  agent.endTurn(1, 'interrupted')
  const parked = await letGo(first, ticket.key, agent)
  expect(parked).toMatchObject({ state: 'parked', parked: { why: 'drain', wakes: true } })
  await first.client.sessions.stop({ ref: ticket.key })
  const second = await first.restart()
  await settle()
  expect(await second.client.sessions.show({ ref: ticket.key })).toMatchObject({
    ...{ state: 'parked', reason: 'stopped by a person' },
    parked: { wakes: false },
  })
})

test('where it cannot be parked it is stopped all the same', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await parking(core)
  await core.client.sessions.stop({ ref: ticket.key })
  agent.item({ type: 'refused', what: 'park', refusal: { code: 'x', message: 'It is too large.' } })
  await until('the order to stop', () => agent.heard('session.stop').length === 1)
  agent.end('stopped')
  expect(await inState(core, ticket.key, 'parked')).toMatchObject({ reason: 'stopped by a person' })
  expect(await status(core, ticket.key)).toBe('Ready')
})

test('no other agent begins with it when its agent dies', async () => {
  const core = await startTestCore({ agents: 2 })
  const { ticket, agent } = await parking(core)
  await core.client.sessions.stop({ ref: ticket.key })
  agent.die()
  const stopped = await inState(core, ticket.key, 'parked')
  expect(stopped).toMatchObject({ agent: null, parked: null })
  expect(stopped.workspace).not.toBeNull()
  expect(stopped.reason).toContain('stopped by a person; agent-')
  await settle()
  expect(core.launcher.holders(ticket.key)).toEqual([agent])
})

test('one whose agent died while it parked is stopped at once', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await parking(core)
  agent.die()
  await until('the loss', async () => {
    const { agent: holder } = await core.client.sessions.show({ ref: ticket.key })
    return holder === null
  })
  expect(await core.client.sessions.stop({ ref: ticket.key })).toMatchObject({
    ...{ state: 'parked', reason: 'stopped by a person' },
  })
  core.clock.turn(1_000)
  await settle()
  expect(core.launcher.holders(ticket.key)).toEqual([agent])
})

test('the last word counts: resumed after a stop it comes back, parked after a stop it waits', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await parking(core)
  await core.client.sessions.stop({ ref: ticket.key })
  expect(await core.client.sessions.resume({ ref: ticket.key })).toMatchObject({
    reason: 'parked by a person',
  })
  expect(await letGo(core, ticket.key, agent)).toMatchObject({ state: 'resuming' })
  await until('another start', () => agent.heard('session.start').length === 2)
  agent.ready()
  await inState(core, ticket.key, 'waiting')
  await core.client.sessions.park({ ref: ticket.key })
  await core.client.sessions.stop({ ref: ticket.key })
  await core.client.sessions.park({ ref: ticket.key })
  await until('the second order', () => agent.heard('session.park').length === 2)
  expect(await letGo(core, ticket.key, agent)).toMatchObject({ parked: { why: 'person' } })
  expect(await status(core, ticket.key)).toBe('Waiting for answer')
})

test('an answer does not bring a stopped session back, a message after the stop does', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  const { ticket, agent } = await asked(core, 1)
  await core.client.sessions.park({ ref: ticket.key })
  await core.client.sessions.stop({ ref: ticket.key })
  await core.client.questions.answer({ ref: questionId(1), text: 'Blue', sendNow: true })
  expect(await letGo(core, ticket.key, agent)).toMatchObject({ state: 'parked', queuedInputs: 1 })
  await core.client.sessions.resume({ ref: ticket.key })
  await until('another start', () => agent.heard('session.start').length === 2)
  agent.ready()
  await until('the answer', () => agent.heard('input.deliver').length === 2)
  agent.beginTurn(2)
  agent.endTurn(2)
  await inState(core, ticket.key, 'waiting')
  await core.client.sessions.park({ ref: ticket.key })
  await core.client.sessions.stop({ ref: ticket.key })
  await core.client.sessions.send({ ref: ticket.key, text: 'go on' })
  await until('the second order', () => agent.heard('session.park').length === 2)
  await stored(agent, () => agent.park())
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({ state: 'resuming' })
})
