import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Probe } from '../../src-shared/agent-wire.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { answerProbe } from '../testing/fake-agent.ts'
import { refusalOf, startTestCore, TEST_KEY, type TestCore } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import {
  inState,
  keptAway,
  keptOnDisk,
  letGo,
  timeline,
  waiting,
  working,
} from '../testing/walks.ts'

const AWAY = { code: 'remote.unreachable', message: 'The remote is away.', hint: 'Go online.' }

/** Of its workspace, in the order in which they were asked. */
const asked = (core: TestCore): Probe[] =>
  core.launcher.launched.flatMap(({ fake }) =>
    fake
      .heard('probe')
      .flatMap(({ probe }) => (/^(workspace|park)\./.test(probe.kind) ? [probe as Probe] : [])),
  )

const back = (core: TestCore, ticket: string) =>
  until('the refusal', async () => {
    const session = await core.client.sessions.show({ ref: ticket })
    return session.pending === undefined && session.workspace === null && session
  })

test('a parked session is finished from what is kept of it, without a runtime, and nothing of that stays', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const { ticket, agent } = await waiting(core)
  const { path, file } = await keptOnDisk(core, ticket.key)
  await client.sessions.park({ ref: ticket.key })
  const { parked } = await letGo(core, ticket.key, agent, { files: [file] })
  await working(core, 'Second')
  expect(await client.sessions.finish({ ref: ticket.key })).toMatchObject({
    ...{ state: 'parked', pending: 'finish' },
    reason: expect.stringContaining('is being finished'),
  })
  const code = 'session.finishing'
  const ref = ticket.key
  expect(await refusalOf(client.sessions.send({ ref, text: 'x' }))).toMatchObject({ code })
  expect(await refusalOf(client.sessions.resume({ ref }))).toMatchObject({ code })
  expect(await inState(core, ref, 'finished')).toMatchObject({ parked: null, workspace: null })
  // It is the same commit each time it is made.
  const dates = { GIT_AUTHOR_DATE: parked?.at, GIT_COMMITTER_DATE: parked?.at }
  const message = expect.stringContaining(ticket.title)
  const kept = { key: TEST_KEY, work: { files: [file] }, env: dates, message }
  expect(asked(core)).toMatchObject([
    { kind: 'park.keep', ...kept, keep: [file.name] },
    { kind: 'park.finish', ...kept },
  ])
  await until('the removal', () => !existsSync(path))
  expect((await client.tickets.show({ ref })).status).toBe('Done')
  // Its own, and the one of the second ticket.
  expect(agent.heard('session.start')).toHaveLength(2)
})

test('where that cannot be, it is parked as it was, and can be finished later', async () => {
  const core = await startTestCore({ agents: 1 })
  core.launcher.answer = (probe) => (probe.kind === 'park.finish' ? AWAY : answerProbe(probe))
  const { ticket } = await keptAway(core)
  await core.client.sessions.finish({ ref: ticket.key })
  expect(await back(core, ticket.key)).toMatchObject({
    ...{ state: 'parked', reason: AWAY.message, hint: AWAY.hint, parked: { why: 'person' } },
  })
  expect((await timeline(core, ticket.key)).at(-1)).toMatchObject({ code: AWAY.code })
  core.launcher.answer = answerProbe
  await core.client.sessions.finish({ ref: ticket.key })
  await inState(core, ticket.key, 'finished')
})

test('what it replaces on the remote is kept here until it is on record, and goes back there otherwise', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await keptAway(core)
  const bundle = {
    ...{ kind: 'bundle' as const, name: 'bundle-1.sealed', bytes: 1 },
    ...{ sha256: '0'.repeat(64), contentSha256: '1'.repeat(64) },
  }
  const snapshot = { version: 1, more: 'words' }
  const notPushed = { code: 'finish.replaces', message: 'It may be replaced.' }
  core.launcher.answer = (probe) => {
    if (probe.kind === 'park.keep') {
      const files = [...probe.work.files.filter(({ kind }) => kind !== 'bundle'), bundle]
      return {
        kind: probe.kind,
        replaced: { ...probe.work, files, snapshot, pushed: false, notPushed },
      }
    }
    return probe.kind === 'park.finish' ? AWAY : answerProbe(probe)
  }
  await core.client.sessions.finish({ ref: ticket.key })
  expect(await back(core, ticket.key)).toMatchObject({
    ...{ reason: AWAY.message, parked: { pushed: false, notPushed: { code: 'finish.replaces' } } },
  })
  const kept = (await core.storage.rows({ table: 'session' }))[0]?.parked?.work.files ?? []
  expect(kept.filter(({ kind }) => kind === 'bundle')).toEqual([bundle])
  const work = { files: kept, snapshot, pushed: false }
  expect(asked(core).at(-1)).toMatchObject({ kind: 'park.finish', work })
  // Once more, with all that is known by now.
  await core.client.sessions.finish({ ref: ticket.key })
  await back(core, ticket.key)
  expect(
    asked(core)
      .filter(({ kind }) => kind === 'park.keep')
      .at(-1),
  ).toMatchObject({ work })
  for (let seconds = 0; seconds < 60; seconds += 5) {
    core.clock.turn(5_000)
    agent.heartbeat(null)
    await settle(5)
  }
  await until('the push', () => asked(core).find(({ kind }) => kind === 'park.push'))
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({
    parked: { pushed: true, notPushed: null },
  })
})

test('without the data key it says so, and nothing is tried', async () => {
  let isThere = true
  const refusal = { code: 'key.wrapped', message: 'The key is wrapped.', hint: 'Export it.' }
  const key = async () => {
    if (isThere) return TEST_KEY
    throw new BalletError(refusal)
  }
  const core = await startTestCore({ agents: 1, key })
  const { ticket } = await keptAway(core)
  isThere = false
  await core.client.sessions.finish({ ref: ticket.key })
  expect(await back(core, ticket.key)).toMatchObject({ reason: refusal.message })
  expect(asked(core)).toEqual([])
})

test('a host that dies in it goes on at its next start', async () => {
  const first = await startTestCore({ agents: 1 })
  const { ticket } = await keptAway(first)
  first.launcher.answer = (probe) => (probe.kind === 'park.finish' ? undefined : answerProbe(probe))
  await first.client.sessions.finish({ ref: ticket.key })
  await until('the finish', () => asked(first).some(({ kind }) => kind === 'park.finish'))
  const second = await first.restart()
  await inState(second, ticket.key, 'finished')
  expect(second.launcher.holders(ticket.key)).toEqual([])
})

test('it waits for the end of a push that runs', async () => {
  const core = await startTestCore({ agents: 1 })
  core.launcher.answer = (probe) => (probe.kind === 'park.push' ? undefined : answerProbe(probe))
  const { ticket, agent } = await keptAway(core, { pushed: false, notPushed: AWAY })
  for (let seconds = 0; seconds < 40; seconds += 5) {
    core.clock.turn(5_000)
    agent.heartbeat(null)
    await settle(5)
  }
  const { id } = await until('the push', () =>
    agent.heard('probe').find(({ probe }) => probe.kind === 'park.push'),
  )
  await core.client.sessions.finish({ ref: ticket.key })
  await settle(20)
  expect(asked(core).map(({ kind }) => kind)).toEqual(['park.push'])
  const finding = { kind: 'park.push' as const, commit: 'e'.repeat(40) }
  agent.say({ type: 'probe.found', id, finding, refusal: null })
  await inState(core, ticket.key, 'finished')
  for (const kind of ['park.keep', 'park.finish'] as const) {
    const found = asked(core).find((probe) => probe.kind === kind)
    expect(found, kind).toMatchObject({ pushedCommit: 'e'.repeat(40) })
  }
})
