import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { WORKSPACE_GONE } from '../../src-shared/agent-wire.ts'
import type { ProbeAnswer } from '../testing/fake-agent.ts'
import { answerProbe } from '../testing/fake-agent.ts'
import { refusalOf, startTestCore, type TestCore, withTicket } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import {
  inState,
  keptOnDisk,
  letGo,
  nextAgent,
  parked,
  starting,
  stored,
  timeline,
  waiting,
  working,
} from '../testing/walks.ts'

/** Pushes are left unanswered until `go` gives what came of them. */
function holdPushes(core: TestCore) {
  let held: ProbeAnswer = () => undefined
  core.launcher.answer = (probe) =>
    probe.kind === 'workspace.push' ? held(probe) : answerProbe(probe)
  const asked = () =>
    core.launcher.launched.flatMap(({ fake }) =>
      fake
        .heard('probe')
        .flatMap(({ id, probe }) =>
          probe.kind === 'workspace.push' || probe.kind === 'workspace.remove'
            ? [{ fake, id, probe }]
            : [],
        ),
    )
  const go = (answer: ProbeAnswer = answerProbe) => {
    held = answer
    const last = asked().at(-1)
    if (last === undefined) throw new Error('no push was asked for')
    const found = answer(last.probe)
    if (found === undefined) throw new Error('no answer was given')
    const refusal = 'code' in found ? found : null
    const finding = 'code' in found ? null : found
    last.fake.say({ type: 'probe.found', id: last.id, finding, refusal })
  }
  return { asked, go, push: () => until('a push', () => asked().at(-1)) }
}

test('a parked session is finished from its workspace, without a runtime and while the fleet is full', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await parked(core)
  await working(core, 'Second')
  const { asked, go, push } = holdPushes(core)
  const session = await core.client.sessions.finish({ ref: ticket.key })
  expect(session).toMatchObject({
    state: 'parked',
    pending: 'finish',
    reason: expect.stringContaining('is being finished'),
  })
  const { probe } = await push()
  expect(probe).toMatchObject({
    workspaceDir: session.workspace,
    ticket: ticket.key,
    branch: session.branch,
    message: expect.stringContaining(ticket.title),
  })
  go()
  const finished = await inState(core, ticket.key, 'finished')
  expect(finished).toMatchObject({ workspace: null, pushedCommit: 'd'.repeat(40), reason: '' })
  expect(finished.pending).toBeUndefined()
  expect((await core.client.tickets.show({ ref: ticket.key })).status).toBe('Done')
  expect(asked().map((each) => each.probe.kind)).toEqual(['workspace.push', 'workspace.remove'])
  expect(asked().at(-1)?.probe).toMatchObject({ pushedCommit: 'd'.repeat(40), force: false })
  // The one that worked on it, and the one of the second ticket.
  expect(agent.heard('session.start')).toHaveLength(2)
})

test('a session that failed is finished too; while that goes on, nothing else is done with it', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const { ticket, agent } = await waiting(core)
  agent.end('failed', true, { code: 'runtime.not-logged-in', message: 'not logged in' })
  await inState(core, ticket.key, 'failed')
  const { asked, go, push } = holdPushes(core)
  const ref = ticket.key
  await client.sessions.finish({ ref })
  await push()
  for (const call of [
    client.sessions.send({ ref, text: 'one more' }),
    client.tickets.start({ ref }),
    client.sessions.stop({ ref }),
  ]) {
    expect(await refusalOf(call)).toMatchObject({
      code: 'session.finishing',
      hint: expect.any(String),
    })
  }
  for (const call of [
    client.tickets.delete({ ref }),
    client.tickets.edit({ ref, status: 'Cancelled' }),
  ]) {
    expect(await refusalOf(call)).toMatchObject({ code: 'ticket.live' })
  }
  await client.sessions.finish({ ref })
  expect(asked()).toHaveLength(1)
  go()
  await inState(core, ticket.key, 'finished')
})

test('a push that is refused leaves the session as it was and says the next step; it can be tried again', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket } = await parked(core)
  const { go, push } = holdPushes(core)
  await core.client.sessions.finish({ ref: ticket.key })
  await push()
  go(() => ({ code: 'remote.unreachable', message: 'The remote is away.', hint: 'Go online.' }))
  const back = await until('the refusal', async () => {
    const session = await core.client.sessions.show({ ref: ticket.key })
    return session.pending === undefined && session
  })
  expect(back).toMatchObject({
    state: 'parked',
    reason: 'The remote is away.',
    hint: 'Go online.',
    workspace: expect.any(String),
  })
  expect((await timeline(core, ticket.key)).at(-1)).toMatchObject({
    kind: 'notice',
    level: 'error',
    code: 'remote.unreachable',
  })
  core.launcher.answer = answerProbe
  await core.client.sessions.finish({ ref: ticket.key })
  await inState(core, ticket.key, 'finished')
})

test('what cannot be removed stays, with the push on record', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket } = await parked(core)
  const refusal = { code: 'workspace.not-pushed', message: 'It holds more.', hint: 'Look.' }
  core.launcher.answer = (probe) =>
    probe.kind === 'workspace.remove' ? refusal : answerProbe(probe)
  await core.client.sessions.finish({ ref: ticket.key })
  const back = await until('the refusal', async () => {
    const session = await core.client.sessions.show({ ref: ticket.key })
    return session.reason === 'It holds more.' && session
  })
  expect(back).toMatchObject({ state: 'parked', pushedCommit: 'd'.repeat(40) })
  expect(back.workspace).not.toBeNull()
})

test('an agent that dies in it hands it to the next; a host that dies, to the next start', async () => {
  const first = await startTestCore({ agents: 2 })
  const { ticket } = await parked(first)
  const held = holdPushes(first)
  await first.client.sessions.finish({ ref: ticket.key })
  const { fake } = await held.push()
  fake.die()
  await until('another agent', () => held.asked().length === 2)
  expect(held.asked()[1]?.fake).not.toBe(fake)
  const second = await first.restart()
  await inState(second, ticket.key, 'finished')
  expect(second.launcher.holders(ticket.key)).toEqual([])
})

test('a quit that ends the agent which finishes a session forgets nothing: the next start goes on with it', async () => {
  const first = await startTestCore({ agents: 2 })
  const { ticket } = await parked(first)
  const held = holdPushes(first)
  await first.client.sessions.finish({ ref: ticket.key })
  const { fake } = await held.push()
  await first.client.agents.drain({ how: 'fast', quits: true })
  await until('the end of the agent', () => fake.heard('shutdown').length === 1)
  expect(await first.client.sessions.show({ ref: ticket.key })).toMatchObject({
    ...{ state: 'parked', pending: 'finish' },
    reason: expect.stringContaining('is being finished'),
  })
  const second = await first.restart()
  await inState(second, ticket.key, 'finished')
})

/** A session that was parked with a file beside its commits, and goes on in a workspace again. */
async function broughtBack(core: TestCore) {
  const { client } = core
  const { ticket, agent } = await waiting(core)
  const ref = ticket.key
  const { path, file } = await keptOnDisk(core, ref, 'aside-1.sealed')
  await client.sessions.park({ ref })
  await letGo(core, ref, agent, { files: [{ ...file, kind: 'aside' }] })
  await client.sessions.resume({ ref })
  await until('the start', () => agent.heard('session.start').length === 2)
  agent.ready()
  await inState(core, ref, 'waiting')
  return { ref, agent, path, file }
}

const gone: ProbeAnswer = (probe) =>
  probe.kind === 'workspace.push'
    ? { kind: 'workspace.push', commit: null, notices: [], gone: true }
    : answerProbe(probe)

/** Nothing was made out of what is kept of the session, nor said to be. */
async function madeNothingAgain(core: TestCore, ref: string) {
  const kinds = core.launcher.launched.flatMap(({ fake }) =>
    fake.heard('probe').map(({ probe }) => probe.kind),
  )
  expect(kinds).toContain('workspace.push')
  expect(kinds.filter((kind) => kind.startsWith('park.'))).toEqual([])
  const said = (await timeline(core, ref)).filter(({ kind }) => kind === 'notice')
  expect(said.filter((event) => 'code' in event && event.code === WORKSPACE_GONE)).toEqual([])
}

/** Its agent has pushed all of it, which is on record, and removes its workspace. */
async function finishing(core: TestCore) {
  const session = await broughtBack(core)
  const { ref, agent } = session
  await core.client.sessions.finish({ ref })
  await until('the finish', () => agent.heard('session.finish').length === 1)
  await stored(agent, () =>
    agent.items([{ type: 'pushed', commit: 'f'.repeat(40) }, { type: 'finished' }]),
  )
  return session
}

test.each(['agent', 'host'])(
  'a finish whose %s dies after all of it is on record is done where its workspace is gone',
  async (who) => {
    const first = await startTestCore({ agents: 2 })
    const { ref, agent, path } = await finishing(first)
    first.launcher.answer = gone
    if (who === 'agent') agent.die()
    const core = who === 'agent' ? first : await first.restart({ answer: gone })
    expect(await inState(core, ref, 'finished')).toMatchObject({
      ...{ pushedCommit: 'f'.repeat(40), workspace: null, parked: null },
    })
    await madeNothingAgain(core, ref)
    await until('the removal', () => !existsSync(path))
  },
)

test('a host that dies after it removed a workspace finishes the session at its next start', async () => {
  const first = await startTestCore({ agents: 1 })
  const { ref, agent } = await broughtBack(first)
  await first.client.sessions.stop({ ref })
  await until('the stop', () => agent.heard('session.stop').length === 1)
  agent.end('stopped')
  await inState(first, ref, 'parked')
  first.launcher.answer = (probe) =>
    probe.kind === 'workspace.remove' ? undefined : answerProbe(probe)
  await first.client.sessions.finish({ ref })
  await until('the removal', () =>
    agent.heard('probe').some(({ probe }) => probe.kind === 'workspace.remove'),
  )
  expect((await first.storage.rows({ table: 'session' }))[0]).toMatchObject({
    ...{ pushedCommit: 'd'.repeat(40), pending: 'finish' },
    parked: { restored: true, hasPushed: true, finished: true },
  })
  const second = await first.restart({ answer: gone })
  await inState(second, ref, 'finished')
  await madeNothingAgain(second, ref)
})

/** It was stopped after that, and its agent died. */
async function stoppedLate(core: TestCore) {
  const session = await finishing(core)
  await core.client.sessions.stop({ ref: session.ref })
  session.agent.die()
  await inState(core, session.ref, 'parked')
  return session
}

test('one that is stopped after all of it is on record goes on from there, without what was kept before', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ref, agent } = await stoppedLate(core)
  await core.client.sessions.resume({ ref })
  const next = await nextAgent(core, agent)
  expect(next.spec()).toMatchObject({ parked: null, pushedCommit: 'f'.repeat(40) })
  next.ready()
  await inState(core, ref, 'waiting')
  next.die()
  await inState(core, ref, 'resuming')
  core.clock.turn(5_000)
  const last = await nextAgent(core, next)
  expect(last.spec()).toMatchObject({ parked: { restored: true, behind: true } })
})

test('one that is stopped so late and parked without a workspace keeps nothing of before', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ref, agent, path } = await stoppedLate(core)
  const file = join(core.dir, 'session.ballet')
  const exporting = core.client.sessions.export({ ref, file, passphrase: 'twelve characters' })
  const next = await nextAgent(core, agent)
  await letGo(core, ref, next, { commit: 'f'.repeat(40), snapshot: null })
  expect((await core.storage.rows({ table: 'session' }))[0]?.parked?.work).toMatchObject({
    ...{ commit: 'f'.repeat(40), snapshot: null, files: [] },
  })
  await until('the removal', () => !existsSync(path))
  await exporting
})

test('where its workspace is gone, what is kept of it goes to the branch before it is removed', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const { ref, agent, path, file } = await broughtBack(core)
  await client.sessions.stop({ ref })
  await until('the stop', () => agent.heard('session.stop').length === 1)
  agent.item({ type: 'pushed', commit: 'f'.repeat(40) })
  agent.end('stopped')
  await inState(core, ref, 'parked')
  core.launcher.answer = gone
  await client.sessions.finish({ ref })
  await inState(core, ref, 'finished')
  const asked = agent.heard('probe').map(({ probe }) => probe)
  expect(asked.find(({ kind }) => kind === 'park.finish')).toMatchObject({
    ...{ behind: true, pushedCommit: 'f'.repeat(40), work: { files: [{ name: file.name }] } },
  })
  expect(await timeline(core, ref)).toContainEqual(
    expect.objectContaining({ kind: 'notice', code: WORKSPACE_GONE }),
  )
  await until('the removal', () => !existsSync(path))
})

test('the death of the agent that finishes a session does not bring a runtime back', async () => {
  const core = await startTestCore({ agents: 2 })
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.finish({ ref: ticket.key })
  await until('the finish', () => agent.heard('session.finish').length === 1)
  agent.die()
  await inState(core, ticket.key, 'finished')
  expect(core.launcher.holders(ticket.key)).toEqual([agent])
})

test('one that waits to be brought back is finished where it lies', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  core.launcher.answer = (probe) => (probe.kind === 'reap' ? undefined : answerProbe(probe))
  agent.die()
  await inState(core, ticket.key, 'resuming')
  await core.client.sessions.finish({ ref: ticket.key })
  core.launcher.answer = answerProbe
  core.clock.turn(1_000)
  await inState(core, ticket.key, 'finished')
  expect(core.launcher.holders(ticket.key)).toEqual([agent])
})

test('where nothing was pushed there is no branch, and it says so', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket } = await parked(core)
  core.launcher.answer = (probe) =>
    probe.kind === 'workspace.push'
      ? {
          kind: 'workspace.push',
          commit: null,
          notices: [{ level: 'info', code: 'finish.nothing', text: 'There was nothing to push.' }],
        }
      : answerProbe(probe)
  await core.client.sessions.finish({ ref: ticket.key })
  const finished = await inState(core, ticket.key, 'finished')
  expect(finished.pushedCommit).toBeUndefined()
  expect(finished.reason).toBe('there was nothing to push, so there is no branch')
  expect(await timeline(core, ticket.key)).toContainEqual(
    expect.objectContaining({ kind: 'notice', code: 'finish.nothing' }),
  )
})

test('what never reached the runtime cannot be finished', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await starting(core)
  agent.end('failed', true, { code: 'runtime.not-logged-in', message: 'not logged in' })
  await inState(core, ticket.key, 'failed')
  expect(await refusalOf(core.client.sessions.finish({ ref: ticket.key }))).toMatchObject({
    code: 'session.nothing-delivered',
    hint: expect.stringContaining('Start the ticket'),
  })
  expect((await core.client.tickets.show({ ref: ticket.key })).status).not.toBe('Done')
  await withTicket(core, { title: 'Another' })
  await settle()
})
