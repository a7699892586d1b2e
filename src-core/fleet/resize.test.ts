import { expect, test } from 'vitest'
import { refusalOf, startTestCore, type TestCore, withTicket } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import { inState, letGo, waiting, working } from '../testing/walks.ts'

const states = async ({ client }: TestCore) =>
  (await client.agents.list()).map(({ id, state }) => `${id} ${state}`)

const untilStates = (core: TestCore, ...wanted: string[]) =>
  until(wanted.join(', '), async () => (await states(core)).join() === wanted.join())

test('a larger fleet is launched at once, and takes what waits', async () => {
  const core = await startTestCore({ agents: 1 })
  await working(core)
  const second = await withTicket(core, { title: 'Second' })
  await settle()
  expect(core.launcher.holders(second.key)).toEqual([])
  expect(await core.client.settings.edit({ agents: 3 })).toMatchObject({ agents: 3 })
  await core.launcher.holder(second.key)
  await untilStates(core, 'agent-1 busy', 'agent-2 busy', 'agent-3 idle')
  expect(await core.client.host.info()).toMatchObject({ agents: 3 })
  expect(await core.client.settings.show()).toMatchObject({ agents: 3 })
})

test('of a smaller one idle agents end at once, and busy ones when their session lets go', async () => {
  const core = await startTestCore({ agents: 3 })
  await working(core)
  const { ticket, agent } = await waiting(core, 'Second')
  await untilStates(core, 'agent-1 busy', 'agent-2 busy', 'agent-3 idle')
  const { cursor } = await core.client.records.follow({})
  await core.client.settings.edit({ agents: 1 })
  await untilStates(core, 'agent-1 busy', 'agent-2 draining')
  expect(core.launcher.agent('agent-3').heard('shutdown')).toHaveLength(1)
  const { changes } = await core.client.records.follow({ cursor, waitMs: 0 })
  expect(changes).toContainEqual({ record: 'agent', id: 'agent-3', value: null })
  expect(changes).toContainEqual({
    record: 'settings',
    id: 'settings',
    value: expect.objectContaining({ agents: 1 }),
  })

  // Its session waits for a person: that needs no agent.
  await letGo(core, ticket.key, agent)
  await untilStates(core, 'agent-1 busy')
  expect(agent.heard('shutdown')).toHaveLength(1)
  const waits = await withTicket(core, { title: 'Third' })
  await settle()
  expect(core.launcher.holders(waits.key)).toEqual([])
})

test('a place that drains stays when it is wanted again', async () => {
  const core = await startTestCore({ agents: 2 })
  await working(core)
  const second = await working(core, 'Second')
  await core.client.settings.edit({ agents: 1 })
  await untilStates(core, 'agent-1 busy', 'agent-2 draining')
  await core.client.settings.edit({ agents: 2 })
  await untilStates(core, 'agent-1 busy', 'agent-2 busy')
  expect(second.agent.heard('shutdown')).toEqual([])
})

test('a place whose agent is ending already is filled again when it is gone', async () => {
  const core = await startTestCore({ agents: 2 })
  await untilStates(core, 'agent-1 idle', 'agent-2 idle')
  const before = core.launcher.agent('agent-2')
  before.obedient = false
  await core.client.settings.edit({ agents: 1 })
  await untilStates(core, 'agent-1 idle', 'agent-2 draining')
  await core.client.settings.edit({ agents: 2 })
  before.die('ended in order', 0)
  await untilStates(core, 'agent-1 idle', 'agent-2 idle')
  expect(core.launcher.agent('agent-2')).not.toBe(before)
})

test('a draining agent that dies is not launched again; its session goes to another one', async () => {
  const core = await startTestCore({ agents: 2 })
  const first = await waiting(core)
  const { ticket, agent } = await working(core, 'Second')
  await core.client.settings.edit({ agents: 1 })
  agent.die()
  await untilStates(core, 'agent-1 busy')
  await inState(core, ticket.key, 'resuming')
  await core.client.sessions.stop({ ref: first.ticket.key })
  await until('the stop', () => first.agent.heard('session.stop').length === 1)
  first.agent.end('stopped')
  await until('it to be brought back', () => first.agent.spec().ticket === ticket.key)
})

test('an agent that is offline goes at once', async () => {
  const core = await startTestCore({ agents: 2 })
  await untilStates(core, 'agent-1 idle', 'agent-2 idle')
  core.launcher.agent('agent-2').die()
  await untilStates(core, 'agent-1 idle', 'agent-2 offline')
  await core.client.settings.edit({ agents: 1 })
  await untilStates(core, 'agent-1 idle')
  core.clock.turn(5_000)
  await settle()
  expect(core.launcher.launched).toHaveLength(2)
})

test('settings that do not fit are refused, and others are kept', async () => {
  const core = await startTestCore({ agents: 1 })
  const { settings } = core.client
  for (const change of [
    { agents: 0 },
    { agents: 33 },
    { theme: 'pink' as never },
    { runtimePaths: { 'claude-code': 'claude' } },
    { passEnv: ['NOT-A-NAME'] },
  ]) {
    expect(await refusalOf(settings.edit(change))).toMatchObject({ code: 'input.invalid' })
  }
  await Promise.all([
    settings.edit({ theme: 'dark' }),
    settings.edit({ runtimePaths: { 'claude-code': '/opt/claude' } }),
    settings.edit({ passEnv: ['A', 'A', 'B'] }),
  ])
  expect(await settings.show()).toMatchObject({
    agents: 1,
    theme: 'dark',
    runtimePaths: { 'claude-code': '/opt/claude' },
    passEnv: ['A', 'B'],
  })
  await settings.edit({ runtimePaths: { 'claude-code': null } })
  const { ticket } = await working(core)
  expect((await core.launcher.holder(ticket.key)).spec().runtimePath).toBeNull()
  expect((await settings.show()).runtimePaths).toEqual({})
})
