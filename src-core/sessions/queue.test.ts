import { expect, test } from 'vitest'
import { startTestCore, withTicket } from '../testing/test-core.ts'
import { until } from '../testing/until.ts'
import { inState, waiting, working } from '../testing/walks.ts'

test('a session that waits says for what: how many agents hold sessions, and what frees one', async () => {
  const core = await startTestCore({ agents: 2 })
  const first = await waiting(core)
  await working(core, 'Second')
  const third = await withTicket(core, { title: 'Third' })
  const session = await until('a reason', async () => {
    const seen = await core.client.sessions.show({ ref: third.key })
    return seen.reason !== '' && seen
  })
  expect(session).toMatchObject({
    state: 'queued',
    reason: 'waits for an agent: 2 of 2 agents hold sessions',
    hint: expect.stringContaining('finish or stop one'),
  })
  first.agent.end('stopped')
  const started = await inState(core, third.key, 'starting')
  expect(started).toMatchObject({ reason: '', hint: '' })
})

test('a project that has as many as it may says so, although an agent is free', async () => {
  const core = await startTestCore({ agents: 3 })
  await core.client.projects.add({ name: 'Shop', repo: '/srv/shop.git', maxSessions: 1 })
  await working(core)
  const second = await withTicket(core, { title: 'Second' })
  await until('a reason', async () => {
    const { reason } = await core.client.sessions.show({ ref: second.key })
    return reason === 'waits for an agent: 1 of at most 1 sessions of Shop hold one'
  })
  expect((await core.client.agents.list()).filter(({ state }) => state === 'idle')).toHaveLength(2)
})
