import { expect, test } from 'vitest'
import { startTestCore, withTicket } from '../testing/test-core.ts'
import { until } from '../testing/until.ts'

const kinds = (events: readonly { kind: string }[]) => events.map(({ kind }) => kind)

test('a ticket runs from its start to its end', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client, launcher } = core
  const ticket = await withTicket(core)
  expect(ticket).toMatchObject({ key: 'SHOP-1', status: 'In progress', project: 'Shop' })

  const agent = await launcher.holder('SHOP-1')
  const spec = agent.spec()
  expect(spec).toMatchObject({
    ticket: 'SHOP-1',
    repo: '/srv/shop.git',
    baseBranch: 'main',
    branch: `ballet/SHOP-1-${ticket.id.slice(-6)}`,
    pushedCommit: null,
    resume: null,
  })
  expect(await client.sessions.show({ ref: 'SHOP-1' })).toMatchObject({
    state: 'starting',
    agent: 'agent-1',
    queuedInputs: 1,
  })

  agent.ready()
  await until('the first delivery', () => agent.heard('input.deliver').length === 1)
  expect(agent.delivery().text).toBe('Add a button\n\nIt says hello.')
  expect((await client.sessions.show({ ref: 'SHOP-1' })).state).toBe('working')

  agent.beginTurn(1)
  agent.event({ kind: 'assistant.text', turn: 1, text: 'Done.', block: 'b1' })
  agent.endTurn(1)
  const waiting = await until('the end of the turn', async () => {
    const session = await client.sessions.show({ ref: 'SHOP-1' })
    return session.state === 'waiting' && session
  })
  expect(waiting).toMatchObject({ turn: 1, costUsd: 0.5, turnStartedAt: null, queuedInputs: 0 })
  expect(waiting.usage.outputTokens).toBe(20)

  await client.sessions.finish({ ref: 'SHOP-1' })
  await until('the finish', () => agent.heard('session.finish').length === 1)
  agent.item({ type: 'pushed', commit: 'd'.repeat(40) })
  agent.end('finished', false)
  const finished = await until('the session to be finished', async () => {
    const session = await client.sessions.show({ ref: 'SHOP-1' })
    return session.state === 'finished' && session
  })
  expect(finished).toMatchObject({ workspace: null, agent: null })
  expect((await client.tickets.show({ ref: 'SHOP-1' })).status).toBe('Done')

  const { events, last } = await client.timeline.page({ session: 'SHOP-1', limit: 1_000 })
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  expect(last).toBe(events.length)
  expect(kinds(events)).toEqual([
    'session.state',
    'input.queued',
    'session.state',
    'session.state',
    'input.sent',
    'session.state',
    'input.delivered',
    'turn.started',
    'assistant.text',
    'turn.ended',
    'session.state',
    'session.state',
  ])
  await until('the last acknowledgement', () => agent.heard('items.ack').at(-1)?.n === 8)
})
