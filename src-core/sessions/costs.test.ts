import { expect, test } from 'vitest'
import { startTestCore } from '../testing/test-core.ts'
import { until } from '../testing/until.ts'
import { deliveries, inState, working } from '../testing/walks.ts'

const usage = { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4 }

test('costs of turns and leases add up once', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(core)
  const costs = async (costUsd: number) => {
    const session = await until(`a cost of ${costUsd}`, async () => {
      const seen = await core.client.sessions.show({ ref: ticket.key })
      return Math.abs(seen.costUsd - costUsd) < 1e-9 && seen
    })
    return session
  }
  const cost = (turn: number, costUsd: number) =>
    agent.event({ kind: 'cost', turn, usage, costUsd, contextTokens: 10, contextWindow: 100 })
  const end = (turn: number, costUsd: number) =>
    agent.event({ kind: 'turn.ended', turn, reason: 'completed', durationMs: 1, usage, costUsd })

  cost(1, 0.3)
  await costs(0.3)
  end(1, 0.5)
  await costs(0.5)
  cost(1, 0.5)
  await core.client.sessions.send({ ref: ticket.key, text: 'more' })
  await deliveries(agent, 2)
  agent.beginTurn(2)
  cost(2, 0.9)
  end(2, 0.4)
  const session = await costs(0.9)
  expect(session.usage).toEqual({
    inputTokens: 2,
    outputTokens: 4,
    cacheReadTokens: 6,
    cacheWriteTokens: 8,
  })
  expect(session).toMatchObject({ contextTokens: 10, contextWindow: 100 })

  agent.die()
  await inState(core, ticket.key, 'resuming')
  core.clock.turn(1_000)
  const next = await until('the next agent', () => {
    const latest = core.launcher.agent('agent-1')
    return latest !== agent && latest.heard('session.start').length === 1 && latest
  })
  expect(next.spec().resume?.costUsd).toBeCloseTo(0.9)
  // A turn that only the transcript knew of, without a total.
  next.items([
    { type: 'event', event: { kind: 'turn.started', turn: 3, inputs: [] } },
    {
      type: 'event',
      event: { kind: 'turn.ended', turn: 3, reason: 'killed', durationMs: 1, usage, costUsd: 0.2 },
    },
  ])
  await costs(1.1)
})
