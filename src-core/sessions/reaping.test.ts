import { expect, test } from 'vitest'
import { NOT_PUSHED } from '../../src-shared/agent-wire.ts'
import { startTestCore } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import { inState, waiting } from '../testing/walks.ts'

test('what an agent could not end when it let go is ended before the session goes on', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  core.launcher.answer = () => undefined
  await core.client.sessions.stop({ ref: ticket.key })
  await until('the stop', () => agent.heard('session.stop').length === 1)
  agent.end('stopped', true, { code: 'processes.survived', message: 'Process 7 does not end.' })
  const session = await inState(core, ticket.key, 'parked')
  expect(session.reason).toContain('Process 7 does not end')
  await core.client.tickets.start({ ref: ticket.key })
  await settle()
  expect(agent.heard('session.start')).toHaveLength(1)
  const probe = await until('the probe', () =>
    agent.heard('probe').find(({ probe }) => probe.kind === 'reap'),
  )
  agent.say({
    type: 'probe.found',
    id: probe.id,
    finding: { kind: 'reap', ended: [] },
    refusal: null,
  })
  await until('the next start', () => agent.heard('session.start').length === 2)
})

test('a stop whose push failed says so and what to do next, and leaves nothing to end', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.stop({ ref: ticket.key })
  await until('the stop', () => agent.heard('session.stop').length === 1)
  agent.end('stopped', true, {
    code: NOT_PUSHED,
    message: 'The work was not pushed and is only in /w. The remote is away.',
    hint: 'Go online.',
  })
  const session = await inState(core, ticket.key, 'parked')
  expect(session).toMatchObject({
    reason: expect.stringContaining('is only in /w. The remote is away'),
    hint: 'Go online.',
  })
  expect(await core.storage.rows({ table: 'lease', where: { reaped: false } })).toEqual([])
})
