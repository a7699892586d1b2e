import { expect, test } from 'vitest'
import {
  askTool,
  assumptionId,
  callTool,
  completeTool,
  startWithoutPlanner,
} from '../testing/asking.ts'
import { refusalOf } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import { deliveries, inState, keptAway, timeline, waiting, working } from '../testing/walks.ts'

const REF = { ref: 'SHOP-1' }

test('a stage that is done finishes the session when its turn ends in order', async () => {
  const core = await startWithoutPlanner()
  const { agent } = await working(core)
  expect(await completeTool(agent, { summary: 'All green.', outcome: 'done' })).toMatchObject({
    isError: false,
    text: 'Noted. End your turn now.',
  })
  expect(await core.client.sessions.show(REF)).toMatchObject({ state: 'working', outcome: 'done' })
  expect(agent.heard('session.finish')).toEqual([])
  agent.endTurn(1)
  await until('the finish', () => agent.heard('session.finish').length === 1)
  // Nobody needs to decide anything.
  expect(await core.client.inbox.list()).toEqual([])
  agent.end('finished', false)
  await inState(core, 'SHOP-1', 'finished')
  expect(await core.client.tickets.show(REF)).toMatchObject({ status: 'Done' })
  expect(await timeline(core, 'SHOP-1')).toContainEqual(
    expect.objectContaining({ kind: 'stage.completed', summary: 'All green.', outcome: 'done' }),
  )
})

test('a stage that needs review stops the session, and its ticket is in review', async () => {
  const core = await startWithoutPlanner()
  const { agent } = await working(core)
  await completeTool(agent, { summary: 'Look at it.', outcome: 'needs_review' })
  agent.endTurn(1)
  await until('the stop', () => agent.heard('session.stop').length === 1)
  agent.end('stopped')
  expect(await inState(core, 'SHOP-1', 'parked')).toMatchObject({
    reason: 'the agent wants its work reviewed',
    outcome: 'needs_review',
  })
  expect(await core.client.tickets.show(REF)).toMatchObject({ status: 'Review' })
  await core.client.sessions.send({ ...REF, text: 'Once more' })
  expect(await core.client.tickets.show(REF)).toMatchObject({ status: 'In progress' })
  const { lease } = agent.spec()
  const next = await until('another agent', () => {
    const found = core.launcher.holders('SHOP-1').at(-1)
    return found?.spec().lease !== lease && found
  })
  next.ready()
  await deliveries(next, next === agent ? 2 : 1)
  expect(await core.client.sessions.show(REF)).toMatchObject({ outcome: null })
})

test('a stage that failed waits with the words of the agent, and the next message is another try', async () => {
  const core = await startWithoutPlanner()
  const { agent } = await working(core)
  await completeTool(agent, { summary: 'The tests do not pass.', outcome: 'failed' })
  agent.endTurn(1)
  expect(await inState(core, 'SHOP-1', 'waiting')).toMatchObject({
    reason: 'The tests do not pass.',
    outcome: 'failed',
  })
  expect(await core.client.inbox.list()).toMatchObject([
    { kind: 'failed', text: 'The tests do not pass.' },
  ])
  expect(await core.client.tickets.show(REF)).toMatchObject({ status: 'In progress' })
  await core.client.sessions.send({ ...REF, text: 'Try again' })
  expect(await core.client.sessions.show(REF)).toMatchObject({ state: 'working', outcome: null })
  agent.beginTurn(2)
  agent.endTurn(2)
  await inState(core, 'SHOP-1', 'waiting')
  expect(await core.client.inbox.list()).toMatchObject([{ kind: 'waiting' }])
})

test('a stage that failed says so also when its session was brought back', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  const { agent } = await working(core)
  await completeTool(agent, { summary: 'The tests do not pass.', outcome: 'failed' })
  agent.endTurn(1)
  await inState(core, 'SHOP-1', 'waiting')
  const next = await core.restart()
  const again = await next.launcher.holder('SHOP-1')
  again.ready()
  await inState(next, 'SHOP-1', 'waiting')
  expect(await next.client.inbox.list()).toMatchObject([
    { kind: 'failed', text: 'The tests do not pass.' },
  ])
})

test('what is queued, what is open, and a turn that ends otherwise come before a completion', async () => {
  const core = await startWithoutPlanner()
  const { client } = core
  const { agent } = await working(core)
  await completeTool(agent, { summary: 'Done.', outcome: 'done' })
  await client.sessions.send({ ...REF, text: 'One thing more' })
  agent.endTurn(1)
  await deliveries(agent, 2)
  agent.beginTurn(2)
  await askTool(agent, 1, {}, 2)
  const late = await completeTool(agent, { summary: 'Done.', outcome: 'done' }, 2)
  expect(late.text).toContain('SHOP-1-Q1 is open')
  agent.endTurn(2)
  await inState(core, 'SHOP-1', 'waiting')
  await client.questions.answer({ ref: 'SHOP-1-Q1', text: 'red' })
  await deliveries(agent, 3)
  agent.beginTurn(3)
  await completeTool(agent, { summary: 'Done.', outcome: 'done' }, 3)
  agent.endTurn(3, 'interrupted')
  expect(await inState(core, 'SHOP-1', 'waiting')).toMatchObject({ outcome: null })
  await settle()
  expect(agent.heard('session.finish')).toEqual([])
})

test('a done stage whose work could not be pushed waits, and says why', async () => {
  const core = await startWithoutPlanner()
  const { agent } = await working(core)
  await completeTool(agent, { summary: 'Done.', outcome: 'done' })
  agent.endTurn(1)
  await until('the finish', () => agent.heard('session.finish').length === 1)
  agent.item({
    type: 'refused',
    what: 'finish',
    refusal: { code: 'git.push-refused', message: 'The remote refused.', hint: 'Look at it.' },
  })
  await until('the inbox to say so', async () => (await core.client.inbox.list()).length === 1)
  expect(await core.client.inbox.list()).toMatchObject([
    { kind: 'waiting', text: 'The remote refused.' },
  ])
})

test('a turn that ends without a word waits for one', async () => {
  const core = await startWithoutPlanner()
  await waiting(core)
  expect(await core.client.inbox.list()).toMatchObject([
    { kind: 'waiting', ticket: 'SHOP-1', text: 'It waits for a word.' },
  ])
})

test('so does one that was parked meanwhile', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  await keptAway(core)
  expect(await core.client.inbox.list()).toMatchObject([
    { kind: 'waiting', ticket: 'SHOP-1', text: 'parked by a person' },
  ])
})

test('progress is shown on the session', async () => {
  const core = await startWithoutPlanner()
  const { agent } = await working(core)
  const progress = { summary: 'Half of the tests', done: 1, total: 2 }
  expect(await callTool(agent, { tool: 'report_progress', progress }, 1)).toMatchObject({
    isError: false,
  })
  expect(await core.client.sessions.show(REF)).toMatchObject({ progress })
  expect(await timeline(core, 'SHOP-1')).toContainEqual(
    expect.objectContaining({ kind: 'progress', turn: 1, ...progress }),
  )
})

/** A session in whose first turn an assumption was recorded. */
async function assuming() {
  const core = await startWithoutPlanner()
  const { agent } = await working(core)
  const recorded = {
    assumption: 'The button is blue.',
    reason: 'The others are.',
    alternatives: ['Green'],
    reversible_by: 'One line.',
  }
  const made = { tool: 'record_assumption' as const, assumption: assumptionId(1), recorded }
  expect(await callTool(agent, made, 1)).toMatchObject({ isError: false })
  agent.endTurn(1)
  await inState(core, 'SHOP-1', 'waiting')
  return { core, agent, ref: assumptionId(1) }
}

test('an assumption is listed with its reason until a person confirms it', async () => {
  const { core, ref } = await assuming()
  const { client } = core
  expect(await client.assumptions.list({ ticket: 'SHOP-1', state: 'open' })).toMatchObject([
    {
      id: ref,
      assumption: 'The button is blue.',
      reason: 'The others are.',
      alternatives: ['Green'],
      reversibleBy: 'One line.',
    },
  ])
  expect(await client.inbox.list({ kind: 'assumption' })).toMatchObject([{ id: ref }])
  const { cursor } = await client.records.follow({})
  const confirmed = await client.assumptions.confirm({ ref: ref.slice(0, 30) })
  expect(confirmed).toMatchObject({ state: 'confirmed', reviewedAt: core.clock.now() })
  expect(await client.assumptions.confirm({ ref })).toEqual(confirmed)
  expect((await client.records.follow({ cursor, waitMs: 0 })).changes).toContainEqual({
    record: 'assumption',
    id: ref,
    value: null,
  })
  const reviews = (await timeline(core, 'SHOP-1')).filter(
    ({ kind }) => kind === 'assumption.reviewed',
  )
  expect(reviews).toMatchObject([{ outcome: 'confirmed', author: 'person' }])
})

test('overturning an assumption sends the session a correction, once', async () => {
  const { core, agent, ref } = await assuming()
  const { client } = core
  const overturned = await client.assumptions.overturn({ ref, text: 'It is red.' })
  expect(overturned).toMatchObject({ state: 'overturned', text: 'It is red.', newTicket: null })
  expect((await deliveries(agent, 2))[1]?.text).toBe(
    'Your assumption was overturned. Change what you built on it.\nAssumption: The button is blue.\nCorrection: It is red.\nCorrected by: a person',
  )
  for (const again of [
    client.assumptions.overturn({ ref, text: 'It is green.' }),
    client.assumptions.confirm({ ref }),
  ]) {
    expect(await refusalOf(again)).toMatchObject({ code: 'assumption.overturned' })
  }
})

test('of a session that is over, a correction becomes a ticket where that is wanted', async () => {
  const { core, agent, ref } = await assuming()
  const { client } = core
  await client.sessions.finish(REF)
  await until('the finish', () => agent.heard('session.finish').length === 1)
  agent.end('finished', false)
  await inState(core, 'SHOP-1', 'finished')
  const text = 'It is red.'
  expect(await refusalOf(client.assumptions.overturn({ ref, text }))).toMatchObject({
    code: 'session.over',
  })
  const { newTicket } = await client.assumptions.overturn({ ref, text, newTicket: true })
  expect(newTicket).toMatchObject({ key: 'SHOP-2', title: 'Correct SHOP-1: It is red.' })
  expect(newTicket?.body).toContain('Assumption: The button is blue.')
  expect(await client.assumptions.list({})).toMatchObject([{ state: 'overturned', text }])
})
