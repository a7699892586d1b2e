import { expect, test } from 'vitest'
import { startTestCore } from '../testing/test-core.ts'
import { deliveries, inState, working } from '../testing/walks.ts'

test('a session whose agent does not reach the tools says so for as long as it is so, and goes on', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await working(core)
  const text = 'Claude Code does not reach the tools of `ballet`.'
  agent.event({ kind: 'notice', level: 'error', code: 'mcp.unreachable', text })
  const told = {
    reason: "the agent does not reach Ballet's tools: it cannot ask questions",
    hint: 'Stop the session and start its ticket again.',
  }
  agent.endTurn(1)
  expect(await inState(core, ticket.key, 'waiting')).toMatchObject(told)
  await core.client.sessions.send({ ref: ticket.key, text: 'Go on.' })
  await deliveries(agent, 2)
  agent.beginTurn(2)
  expect(await inState(core, ticket.key, 'working')).toMatchObject(told)
})
