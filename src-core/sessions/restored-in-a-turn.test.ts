import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refusalOf, startTestCore, type TestCore } from '../testing/test-core.ts'
import { until } from '../testing/until.ts'
import { deliveries, inState, keptAway, letGo, nextAgent, stored } from '../testing/walks.ts'

const DISK_FULL = { code: 'disk.full', message: 'The disk is full.' }

/** A parked session whose resume failed, whose export could not park it, and whose agent got a message then. */
async function restoredWithAMessage(core: TestCore) {
  const { client } = core
  const { ticket, agent } = await keptAway(core)
  await client.sessions.resume({ ref: ticket.key })
  await until('another start', () => agent.heard('session.start').length === 2)
  agent.end('failed', true, DISK_FULL)
  await inState(core, ticket.key, 'failed')
  const target = { file: join(core.dir, 'out.ballet'), passphrase: 'a long passphrase' }
  const asking = refusalOf(client.sessions.export({ ref: ticket.key, ...target }))
  await until('the second order', () => agent.heard('session.park').length === 2)
  agent.item({ type: 'refused', what: 'park', refusal: DISK_FULL })
  await asking
  expect(agent.spec()).toMatchObject({ task: 'park', parked: { restored: false } })
  await client.sessions.send({ ref: ticket.key, text: 'go on' })
  await deliveries(agent, 2)
  await stored(agent, () => agent.ready())
  return { ticket, agent }
}

test('what a runtime did after it came up in a turn is in no parking before, and is parked', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await restoredWithAMessage(core)
  agent.beginTurn(2)
  await until('the turn', async () => {
    const { turn } = await core.client.sessions.show({ ref: ticket.key })
    return turn === 2
  })
  agent.die()
  await until('the loss', async () => {
    const session = await core.client.sessions.show({ ref: ticket.key })
    return session.agent === null && session
  })
  expect(await core.client.sessions.park({ ref: ticket.key })).toMatchObject({ state: 'parking' })
  const next = await nextAgent(core, agent)
  expect(next.spec()).toMatchObject({ task: 'park', parked: { restored: true } })
  expect(next.heard('probe').some(({ probe }) => probe.kind === 'workspace.remove')).toBe(false)
  const commit = 'f'.repeat(40)
  expect(await letGo(core, ticket.key, next, { commit })).toMatchObject({
    ...{ state: 'parked', parked: { commit } },
  })
})
