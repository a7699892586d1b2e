import { expect, test } from 'vitest'
import { refusalOf, startTestCore } from '../testing/test-core.ts'
import { until } from '../testing/until.ts'
import { inState, timeline, waiting, working } from '../testing/walks.ts'

test('a finish that is under way says so, and its refusal takes that back', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  const ref = ticket.key
  expect(await core.client.sessions.finish({ ref })).toMatchObject({
    state: 'waiting',
    reason: expect.stringContaining('is being finished'),
    hint: expect.stringContaining('stop'),
  })
  const refusal = { code: 'remote.unreachable', message: 'The remote is away.', hint: 'Go online.' }
  agent.item({ type: 'refused', what: 'finish', refusal })
  const back = await until('the refusal', async () => {
    const session = await core.client.sessions.show({ ref })
    return session.pending === undefined && session
  })
  expect(back).toMatchObject({ reason: 'The remote is away.', hint: 'Go online.' })
})

test('a stop that is under way says so, also when its turn has ended', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(core)
  const ref = ticket.key
  const reason = expect.stringContaining('is being stopped')
  expect(await core.client.sessions.stop({ ref })).toMatchObject({ state: 'working', reason })
  agent.endTurn(1, 'interrupted')
  expect(await inState(core, ref, 'waiting')).toMatchObject({ reason })
  agent.end('stopped')
  expect(await inState(core, ref, 'parked')).toMatchObject({ reason: 'stopped by a person' })
})

test('a stop that is said again waits for no push, and says so; finishing names that way out', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const { ticket, agent } = await waiting(core)
  const ref = ticket.key
  expect(await client.sessions.stop({ ref })).toMatchObject({
    hint: expect.stringContaining('stop it again'),
  })
  expect(await refusalOf(client.sessions.finish({ ref }))).toMatchObject({
    code: 'session.stopping',
    hint: expect.stringContaining('stop it again'),
  })
  const reason = expect.stringContaining('at once')
  expect(await client.sessions.stop({ ref })).toMatchObject({ pending: 'stop', reason })
  await until('the second order', () => agent.heard('session.stop').length === 2)
  agent.event({ kind: 'notice', level: 'info', code: 'x', text: 'something' })
  expect(await client.sessions.stop({ ref })).toMatchObject({ pending: 'stop', reason })
  agent.end('stopped')
  expect(await inState(core, ref, 'parked')).toMatchObject({ reason: 'stopped by a person' })
  expect(agent.heard('session.stop')).toHaveLength(2)
})

test('a stop takes the place of a finish; until that is given up no message is taken', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const { ticket, agent } = await waiting(core)
  const ref = ticket.key
  await client.sessions.finish({ ref })
  expect(await client.sessions.stop({ ref })).toMatchObject({
    pending: 'stop',
    reason: expect.stringContaining('is being stopped'),
  })
  await until('the stop', () => agent.heard('session.stop').length === 1)
  expect(await refusalOf(client.sessions.send({ ref, text: 'one more' }))).toMatchObject({
    code: 'session.finishing',
  })
  const refusal = { code: 'git.cancelled', message: 'git push was cancelled.' }
  agent.item({ type: 'refused', what: 'finish', refusal })
  await until('the end of the finish', async () =>
    (await timeline(core, ref)).some(
      (event) => event.kind === 'notice' && event.code === 'finish.stopped',
    ),
  )
  expect(await client.sessions.show({ ref })).toMatchObject({
    pending: 'stop',
    reason: expect.stringContaining('is being stopped'),
  })
  await client.sessions.send({ ref, text: 'for later' })
  agent.end('stopped')
  expect(await inState(core, ref, 'parked')).toMatchObject({ queuedInputs: 1 })
})
