import { expect, test } from 'vitest'
import { answerProbe } from '../testing/fake-agent.ts'
import { startTestCore, type TestCore } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import { keptAway, pass, stored, timeline, waiting } from '../testing/walks.ts'

const UNREACHABLE = {
  code: 'remote.unreachable',
  message: 'The remote cannot be reached.',
  hint: 'Check the network.',
}

const probes = (core: TestCore, kind: string) =>
  core.launcher.launched.flatMap(({ fake }) =>
    fake.heard('probe').flatMap(({ probe }) => (probe.kind === kind ? [probe] : [])),
  )

test('what was not pushed is pushed later, until it is; a person sees which it is', async () => {
  const core = await startTestCore({ agents: 1 })
  let isAway = true
  core.launcher.answer = (probe) =>
    probe.kind === 'park.push' && isAway ? UNREACHABLE : answerProbe(probe)
  const { ticket } = await keptAway(core, { pushed: false, notPushed: UNREACHABLE })
  const parked = await core.client.sessions.show({ ref: ticket.key })
  expect(parked).toMatchObject({
    reason: expect.stringContaining('not pushed yet: The remote cannot be reached'),
    parked: { pushed: false, notPushed: UNREACHABLE },
  })
  expect(parked.pushedCommit).toBeUndefined()
  expect(probes(core, 'park.push')).toEqual([])
  await pass(core, 5 * 60_000)
  const tries = probes(core, 'park.push').length
  expect(tries).toBeGreaterThanOrEqual(3)
  expect(tries).toBeLessThanOrEqual(5)
  isAway = false
  await pass(core, 20 * 60_000)
  const done = probes(core, 'park.push')
  expect(done).toHaveLength(tries + 1)
  expect(done.at(-1)).toMatchObject({
    branch: parked.branch,
    pushedCommit: null,
    work: { commit: 'e'.repeat(40) },
  })
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({
    pushedCommit: 'e'.repeat(40),
    reason: 'parked by a person',
    parked: { pushed: true, notPushed: null },
  })
  expect((await timeline(core, ticket.key)).at(-1)).toMatchObject({ code: 'park.pushed' })
})

test('a push goes on after a restart; while it runs the session is not brought back beside it', async () => {
  const first = await startTestCore({ agents: 1 })
  const { ticket } = await keptAway(first, { pushed: false, notPushed: UNREACHABLE })
  const second = await first.restart()
  second.launcher.answer = (probe) => (probe.kind === 'park.push' ? undefined : answerProbe(probe))
  await pass(second, 40_000)
  const agent = second.launcher.agent('agent-1')
  const asked = await until('the push', () =>
    agent.heard('probe').find(({ probe }) => probe.kind === 'park.push'),
  )
  await second.client.sessions.resume({ ref: ticket.key })
  await settle()
  expect(agent.heard('session.start')).toEqual([])
  const finding = { kind: 'park.push' as const, commit: 'e'.repeat(40) }
  agent.say({ type: 'probe.found', id: asked.id, finding, refusal: null })
  await until('the start', () => agent.heard('session.start').length === 1)
  expect(agent.spec()).toMatchObject({
    pushedCommit: 'e'.repeat(40),
    parked: { work: { pushed: true } },
  })
  await pass(second, 60 * 60_000, [agent])
  expect(probes(second, 'park.push')).toHaveLength(1)
})

test('a push that is not through in time has longer the next time, and a resume does not wait for it', async () => {
  const first = await startTestCore({ agents: 1 })
  const { ticket } = await keptAway(first, { pushed: false, notPushed: UNREACHABLE })
  const core = await first.restart()
  core.launcher.answer = (probe) => (probe.kind === 'park.push' ? undefined : answerProbe(probe))
  await pass(core, 40_000)
  const agent = core.launcher.agent('agent-1')
  const asked = (count: number) =>
    until(`push ${count}`, async () => {
      await pass(core, 5_000, [agent])
      return agent.heard('probe').filter(({ probe }) => probe.kind === 'park.push')[count - 1]
    })
  const limits: number[] = []
  for (let count = 1; count <= 6; count += 1) {
    const { id, limitMs } = await asked(count)
    limits.push(limitMs / 60_000)
    if (count === 6) break
    const refusal = { code: 'probe.time-limit', message: 'Looking at it took longer.' }
    agent.say({ type: 'probe.found', id, finding: null, refusal })
    await settle()
  }
  expect(limits).toEqual([2, 4, 8, 16, 30, 30])
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({
    reason: expect.stringContaining('within 30 minutes; the next try may take 30 minutes'),
  })
  await core.client.sessions.resume({ ref: ticket.key })
  await pass(core, 60_000, [agent])
  expect(agent.heard('session.start')).toEqual([])
  await pass(core, 61_000, [agent])
  await until('the start', () => agent.heard('session.start').length === 1)
  // What it pushes meanwhile is later than what comes through now.
  await stored(agent, () => agent.ready())
  await stored(agent, () => agent.item({ type: 'pushed', commit: 'f'.repeat(40) }))
  const { id } = await asked(6)
  const finding = { kind: 'park.push' as const, commit: 'e'.repeat(40) }
  agent.say({ type: 'probe.found', id, finding, refusal: null })
  await settle()
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({
    pushedCommit: 'f'.repeat(40),
  })
})

test('an agent that dies before it removed the workspace leaves that to another one', async () => {
  const core = await startTestCore({ agents: 2 })
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.park({ ref: ticket.key })
  await until('the order', () => agent.heard('session.park').length === 1)
  let isHeld = true
  core.launcher.answer = (probe) =>
    probe.kind === 'workspace.remove' && isHeld ? undefined : answerProbe(probe)
  await stored(agent, () => agent.park())
  const { workspace } = await core.client.sessions.show({ ref: ticket.key })
  agent.die()
  await until('the removal', () => probes(core, 'workspace.remove').length === 1)
  expect(probes(core, 'reap').length).toBeGreaterThan(0)
  expect(probes(core, 'workspace.remove')).toMatchObject([{ workspaceDir: workspace, force: true }])
  // Nobody restores anything there meanwhile.
  await core.client.sessions.resume({ ref: ticket.key })
  await settle()
  expect(core.launcher.holders(ticket.key)).toEqual([agent])
  isHeld = false
  const other = core.launcher.agent('agent-2')
  const { id } = await until('the probe', () =>
    other.heard('probe').find(({ probe }) => probe.kind === 'workspace.remove'),
  )
  other.say({
    type: 'probe.found',
    id,
    finding: { kind: 'workspace.remove', removed: true },
    refusal: null,
  })
  await until('the start', () => core.launcher.holders(ticket.key).length === 2)
  expect(core.launcher.holders(ticket.key)[1]?.spec().parked).not.toBeNull()
})

test.each(['Cancelled', 'Done'] as const)(
  'a parked session of a ticket that is %s waits for nobody; what is kept of it stays',
  async (status) => {
    const core = await startTestCore({ agents: 1 })
    const { client } = core
    const { ticket, agent } = await keptAway(core)
    const kinds = async () => (await client.inbox.list()).map(({ kind }) => kind)
    expect(await kinds()).toEqual(['waiting'])
    const { cursor } = await client.records.follow({ waitMs: 0 })
    await client.tickets.edit({ ref: ticket.key, status })
    expect(await kinds()).toEqual([])
    // Who follows the records sees it of the session too.
    const { changes } = await client.records.follow({ cursor, waitMs: 0 })
    expect(changes).toContainEqual(
      expect.objectContaining({
        record: 'session',
        value: expect.objectContaining({ state: 'parked', ticketOver: true }),
      }),
    )
    await client.tickets.edit({ ref: ticket.key, status: 'Ready' })
    expect(await kinds()).toEqual(['waiting'])
    await client.tickets.edit({ ref: ticket.key, status })
    await client.tickets.start({ ref: ticket.key })
    await until('another start', () => agent.heard('session.start').length === 2)
    expect(agent.spec().parked).not.toBeNull()
  },
)
