import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { RESUMED_WITHOUT } from '../../src-shared/agent-wire.ts'
import { answerProbe } from '../testing/fake-agent.ts'
import { startTestCore, type TestCore } from '../testing/test-core.ts'
import { until } from '../testing/until.ts'
import {
  deliveries,
  inState,
  keptOnDisk,
  letGo,
  nextAgent,
  stored,
  waiting,
} from '../testing/walks.ts'

const DAMAGED = {
  code: 'state.corrupt',
  message: 'The kept file aside-1.sealed is not what was stored. It holds files: .env.',
  hint: 'Put it back from a backup.',
}

/** A session whose agent could not open one of its two kept files. */
async function damaged(core: TestCore) {
  const { ticket, agent } = await waiting(core)
  const ref = ticket.key
  const { file: whole } = await keptOnDisk(core, ref, 'refs-1.sealed')
  const { path, file } = await keptOnDisk(core, ref, 'aside-1.sealed')
  await core.client.sessions.park({ ref })
  await letGo(core, ref, agent, { files: [whole, file] })
  expect((await core.client.sessions.show({ ref })).parked).not.toHaveProperty('damaged')
  await core.client.sessions.resume({ ref })
  await until('the start', () => agent.heard('session.start').length === 2)
  expect(agent.spec().parked).not.toHaveProperty('withoutDamaged')
  agent.end('failed', false, DAMAGED)
  await inState(core, ref, 'failed')
  return { ref, agent, path, name: file.name, whole: whole.name }
}

const orders = (core: TestCore) =>
  core.launcher.launched.flatMap(({ fake }) => fake.heard('session.park'))

test('a session that a damaged kept file fails can be resumed without it, and never loses the file', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const { ref, agent, path, name, whole } = await damaged(core)
  const failed = await client.sessions.show({ ref })
  expect(failed).toMatchObject({ reason: DAMAGED.message, parked: { damaged: true } })

  await client.sessions.resume({ ref, withoutDamaged: true })
  await until('another start', () => agent.heard('session.start').length === 3)
  expect(agent.spec().parked).toMatchObject({ withoutDamaged: true })
  const text = `Restored without ${name}.`
  await stored(agent, () => {
    agent.item({ type: 'workspace', baseCommit: 'b'.repeat(40), leftOut: [name] })
    agent.event({ kind: 'notice', level: 'warning', code: RESUMED_WITHOUT, text })
    agent.ready()
  })
  await inState(core, ref, 'waiting')
  // The runtime is told with the next input.
  await client.sessions.send({ ref, text: 'go on' })
  const [, delivery] = await deliveries(agent, 2)
  expect(delivery).toMatchObject({ preface: expect.stringContaining(text) })
  agent.beginTurn(2)
  agent.endTurn(2)
  await inState(core, ref, 'waiting')

  // Where its workspace is gone, it comes back without the file again.
  agent.die()
  await inState(core, ref, 'resuming')
  const second = await nextAgent(core, agent)
  expect(second.spec().parked).toMatchObject({ partial: true, work: { files: [{ name: whole }] } })
  await stored(second, () => second.ready())
  await inState(core, ref, 'waiting')

  // Parked again, it keeps the damaged file beside the new ones, and asks nobody for it.
  const { file: next } = await keptOnDisk(core, ref, 'state-2.sealed')
  await client.sessions.park({ ref })
  await until('the order', () => orders(core).length === 2)
  expect(orders(core).at(-1)).toMatchObject({ damaged: [name], kept: [{ name: whole }] })
  await letGo(core, ref, second, { files: [next] })
  expect((await client.sessions.show({ ref })).parked).not.toHaveProperty('damaged')
  await client.sessions.resume({ ref })
  await until('a last start', () => second.heard('session.start').length === 2)
  const { parked, kept } = second.spec()
  expect(parked?.work.files.map((file) => file.name)).toEqual([next.name])
  expect(kept).toEqual([next.name, name])
  expect(parked).not.toHaveProperty('withoutDamaged')
  expect(parked).not.toHaveProperty('partial')
  expect(existsSync(path)).toBe(true)
})

test('one that was brought back without a damaged file, and lost its workspace, is finished without it', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const { ref, agent, name, whole } = await damaged(core)
  await client.sessions.resume({ ref, withoutDamaged: true })
  await until('another start', () => agent.heard('session.start').length === 3)
  await stored(agent, () => {
    agent.item({ type: 'workspace', baseCommit: 'b'.repeat(40), leftOut: [name] })
    agent.ready()
  })
  await client.sessions.stop({ ref })
  await until('the stop', () => agent.heard('session.stop').length === 1)
  agent.end('stopped')
  await inState(core, ref, 'parked')
  core.launcher.answer = (probe) =>
    probe.kind === 'workspace.push'
      ? { kind: 'workspace.push', commit: null, notices: [], gone: true }
      : answerProbe(probe)
  await client.sessions.finish({ ref })
  await inState(core, ref, 'finished')
  const asked = agent.heard('probe').map(({ probe }) => probe)
  for (const kind of ['park.keep', 'park.finish']) {
    const found = asked.find((probe) => probe.kind === kind)
    expect(found, kind).toMatchObject({ partial: true, work: { files: [{ name: whole }] } })
  }
})

test('a finish that a damaged kept file refuses offers the same way on', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const { ticket, agent } = await waiting(core)
  const ref = ticket.key
  const { file } = await keptOnDisk(core, ref, 'aside-1.sealed')
  await client.sessions.park({ ref })
  await letGo(core, ref, agent, { files: [file] })
  core.launcher.answer = () => DAMAGED
  await client.sessions.finish({ ref })
  const refused = await until('the refusal', async () => {
    const session = await client.sessions.show({ ref })
    return session.pending === undefined && session
  })
  expect(refused).toMatchObject({
    ...{ state: 'parked', reason: DAMAGED.message, parked: { damaged: true } },
  })
})
