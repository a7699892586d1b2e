import { expect, test } from 'vitest'
import { CommandId } from '../../src-shared/ids.ts'
import { unheldMarkers } from '../sessions/unheld-markers.ts'
import { asked as askedQuestions, startWithoutPlanner } from '../testing/asking.ts'
import { answerProbe, type FakeAgent, type ProbeAnswer } from '../testing/fake-agent.ts'
import { refusalOf, startTestCore } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import {
  inState,
  keptAway,
  keptOnDisk,
  letGo,
  parked,
  passIdle,
  stored,
  waiting,
} from '../testing/walks.ts'

type Asked = Parameters<ProbeAnswer>[0]

const probesOf = (agent: FakeAgent, kind: Asked['kind']) =>
  agent.heard('probe').filter(({ probe }) => probe.kind === kind)

test('a parked ticket goes with what is kept of it, its branch and what its runtime kept', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const { ticket } = await keptAway(core)
  const { branch } = await client.sessions.show({ ref: ticket.key })
  const asked: Asked[] = []
  core.launcher.answer = (probe) => {
    asked.push(probe)
    return probe.kind === 'branch.remove'
      ? { kind: 'branch.remove', commit: 'e'.repeat(40) }
      : answerProbe(probe)
  }
  const other = client.tickets.delete({ ref: ticket.key, forceBranch: 'main' })
  expect(await refusalOf(other)).toMatchObject({ code: 'branch.other-name' })
  const { removed } = await client.tickets.delete({ ref: ticket.key, remoteBranch: true })
  expect(removed).toMatchObject({ sessions: 1, runtimeFiles: 1, remoteBranch: 'removed' })
  const branches = asked.filter((probe) => probe.kind === 'branch.remove')
  // Whether it may is asked before anything is removed.
  expect(branches).toMatchObject([
    { branch, look: true, force: false },
    { branch, look: false },
  ])
  expect(await client.tickets.list()).toEqual([])
})

test('work that is kept here alone is removed only when its branch is named', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const notPushed = { code: 'push.rejected', message: 'Closed.' }
  const { ticket } = await keptAway(core, { pushed: false, notPushed })
  const refusal = await refusalOf(client.tickets.delete({ ref: ticket.key }))
  expect(refusal.code).toBe('ticket.not-pushed')
  const { branch } = await client.sessions.show({ ref: ticket.key })
  expect(refusal.hint).toContain(branch)
  await client.tickets.delete({ ref: ticket.key, forceBranch: branch })
  expect(await client.tickets.list()).toEqual([])
})

test.each(['archive', 'refs', 'aside'] as const)(
  'work that no branch can hold is removed only when its branch is named: %s',
  async (kind) => {
    const core = await startTestCore({ agents: 1 })
    const { client } = core
    const { ticket, agent } = await waiting(core)
    const { file } = await keptOnDisk(core, ticket.key, `${kind}-1.sealed`)
    await client.sessions.park({ ref: ticket.key })
    await letGo(core, ticket.key, agent, { files: [{ ...file, kind }] })
    const refusal = await refusalOf(client.tickets.delete({ ref: ticket.key }))
    expect(refusal).toMatchObject({
      code: 'ticket.not-pushed',
      message: expect.stringContaining('nowhere else'),
    })
    const { branch } = await client.sessions.show({ ref: ticket.key })
    await client.tickets.delete({ ref: ticket.key, forceBranch: branch })
    expect(await client.tickets.list()).toEqual([])
  },
)

test('a branch that holds the only copy of its work keeps everything where it is', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const { ticket } = await keptAway(core)
  core.launcher.answer = (probe) =>
    probe.kind === 'branch.remove' && !probe.force
      ? { code: 'branch.only-copy', message: 'Nowhere else.' }
      : answerProbe(probe)
  const remove = (more: object = {}) =>
    client.tickets.delete({ ref: ticket.key, remoteBranch: true, ...more })
  expect(await refusalOf(remove())).toMatchObject({ code: 'branch.only-copy' })
  const { branch, state } = await client.sessions.show({ ref: ticket.key })
  expect(state).toBe('parked')
  expect((await remove({ forceBranch: branch })).removed.remoteBranch).toBe('none')
})

test('what an agent left of Ballet’s own git for its sessions is ended before anything is removed', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket } = await parked(core)
  const { id } = await core.client.sessions.show({ ref: ticket.key })
  const asked: Asked[] = []
  core.launcher.answer = (probe) => {
    asked.push(probe)
    return answerProbe(probe)
  }
  await core.client.tickets.delete({ ref: ticket.key })
  const [reap, remove] = asked
  const markers = unheldMarkers(id)
  expect(new Set(markers.map(({ nonce }) => nonce)).size).toBe(2)
  expect(reap).toMatchObject({ kind: 'reap', markers })
  expect(remove).toMatchObject({ kind: 'workspace.remove', marker: markers[0] })
})

test('the report of a deletion that was cut counts all that is gone', async () => {
  const first = await startTestCore({ agents: 1 })
  const { ticket } = await parked(first)
  const commandId = CommandId.parse('01930000-0000-7000-8000-0000000000c1')
  const branch = 'branch.remove' as const
  let isCut = true
  first.launcher.answer = (probe) => {
    if (probe.kind === 'state.remove' && isCut) return undefined
    return probe.kind === branch ? { kind: branch, commit: 'e'.repeat(40) } : answerProbe(probe)
  }
  const wanted = { ref: ticket.key, remoteBranch: true, commandId }
  first.client.tickets.delete(wanted).catch(() => undefined)
  await until('its last step', () =>
    first.launcher
      .agent('agent-1')
      .heard('probe')
      .some(({ probe }) => probe.kind === 'state.remove'),
  )
  isCut = false
  const second = await first.restart()
  // The branch is not there any more, and neither is the workspace.
  const { removed } = await second.client.tickets.delete(wanted)
  expect(removed).toMatchObject({
    ...{ sessions: 1, workspaces: 1, runtimeFiles: 1, remoteBranch: 'removed' },
  })
})

test.each(['reap', 'workspace.remove', 'branch.remove', 'state.remove'] as const)(
  'a host that ends in order leaves a deletion to the next one, also while it waits for %s',
  async (kind) => {
    const first = await startTestCore({ agents: 1 })
    const { ticket, agent } = await parked(first)
    const commandId = CommandId.parse('01930000-0000-7000-8000-0000000000c2')
    const isStep = (probe: Asked) => probe.kind === kind && !('look' in probe && probe.look)
    first.launcher.answer = (probe) => (isStep(probe) ? undefined : answerProbe(probe))
    const wanted = { ref: ticket.key, remoteBranch: true, commandId }
    const refused = refusalOf(first.client.tickets.delete(wanted))
    await until('the step', () => agent.heard('probe').some(({ probe }) => isStep(probe)))
    await first.core.stop()
    expect(await refused).toMatchObject({ code: 'ticket.deleting' })
    expect(await first.storage.pendingOutbox()).toHaveLength(1)
    const second = await first.restart()
    const { removed } = await second.client.tickets.delete(wanted)
    expect(removed).toMatchObject({ sessions: 1, workspaces: 1, runtimeFiles: 1 })
    expect(await second.client.tickets.list()).toEqual([])
  },
)

test('a deletion that nobody answers goes on when somebody does, and says meanwhile what it waits for', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket } = await parked(core)
  core.launcher.answer = (probe) => (probe.kind === 'state.remove' ? undefined : answerProbe(probe))
  const refused = refusalOf(core.client.tickets.delete({ ref: ticket.key }))
  await passIdle(core, 125_000)
  expect(await refused).toMatchObject({
    code: 'ticket.deleting',
    message: expect.stringContaining('state.remove'),
  })
  const { problems } = await core.client.host.doctor()
  expect(problems).toMatchObject([
    { code: 'probe.timeout', message: expect.stringContaining(`The deletion of ${ticket.key}`) },
  ])
  core.launcher.answer = answerProbe
  await passIdle(core, 95_000)
  expect(await core.client.tickets.list()).toEqual([])
  expect((await core.client.host.doctor()).problems).toEqual([])
})

test('what takes an agent too long is a refusal: the ticket stays, and may be deleted in another way', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket } = await parked(core)
  const slow = { code: 'probe.time-limit', message: 'Looking took longer than 60 s.' }
  core.launcher.answer = (probe) =>
    probe.kind === 'workspace.remove' && !probe.force ? slow : answerProbe(probe)
  const refused = refusalOf(core.client.tickets.delete({ ref: ticket.key }))
  expect(await refused).toMatchObject(slow)
  expect(await core.storage.pendingOutbox()).toEqual([])
  const { branch } = await core.client.sessions.show({ ref: ticket.key })
  await core.client.tickets.delete({ ref: ticket.key, forceBranch: branch })
  expect(await core.client.tickets.list()).toEqual([])
})

test('a deletion that finds no agent at the start of a host waits for one', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await parked(core)
  core.launcher.greets = false
  agent.die()
  await until('no agent', async () => (await core.client.agents.list())[0]?.state === 'offline')
  const deleted = core.client.tickets.delete({ ref: ticket.key })
  await passIdle(core, 25_000)
  expect(await core.storage.pendingOutbox()).toHaveLength(1)
  core.launcher.greets = true
  await passIdle(core, 60_000)
  await deleted
  expect(await core.client.tickets.list()).toEqual([])
})

/** A parked session of a ticket that is being deleted, which a held answer brings back meanwhile. */
async function broughtBack() {
  const core = await startWithoutPlanner({ agents: 1 })
  const { client, clock, launcher } = core
  const { ticket, agent } = await askedQuestions(core, 1)
  await client.sessions.stop({ ref: ticket.key })
  await until('the stop', () => agent.heard('session.stop').length === 1)
  agent.end('stopped')
  await inState(core, ticket.key, 'parked')
  await client.questions.answer({ ref: 'SHOP-1-Q1', text: 'red', undoMs: 5_000 })
  launcher.answer = (probe) => (probe.kind === 'workspace.remove' ? undefined : answerProbe(probe))
  const deleted = client.tickets.delete({ ref: ticket.key })
  deleted.catch(() => undefined)
  const { id } = await until('the removal', () => probesOf(agent, 'workspace.remove')[0])
  clock.turn(5_000)
  await inState(core, ticket.key, 'resuming')
  await settle()
  const starts = () => agent.heard('session.start').length
  return { core, ticket, agent, deleted, id, starts }
}

test('a session that an answer brings back while its ticket is deleted gets no agent', async () => {
  const { core, agent, deleted, id, starts } = await broughtBack()
  expect(starts()).toBe(1)
  const finding = { kind: 'workspace.remove' as const, removed: true }
  agent.say({ type: 'probe.found', id, finding, refusal: null })
  expect((await deleted).removed).toMatchObject({ sessions: 1, workspaces: 1 })
  expect(await core.client.sessions.list()).toEqual([])
  expect(starts()).toBe(1)
})

test('a session that an answer brought back goes on where the deletion is refused', async () => {
  const { agent, deleted, id, starts } = await broughtBack()
  expect(starts()).toBe(1)
  const refusal = { code: 'workspace.unpushed', message: 'Work is not pushed.' }
  agent.say({ type: 'probe.found', id, finding: null, refusal })
  expect(await refusalOf(deleted)).toMatchObject({ code: 'workspace.unpushed' })
  await until('another start', () => starts() === 2)
})

test('a deletion waits for the agent that is not done with a parked session, and ends nothing of it', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  const { nonce } = agent.spec()
  await core.client.sessions.park({ ref: ticket.key })
  await until('the order to park', () => agent.heard('session.park').length > 0)
  await stored(agent, () => agent.park())
  await inState(core, ticket.key, 'parked')
  const deleted = core.client.tickets.delete({ ref: ticket.key })
  await until('a wait', () => core.logged.some(({ message }) => message.includes('tried again')))
  expect(probesOf(agent, 'workspace.remove')).toEqual([])
  const ended = probesOf(agent, 'reap').flatMap(({ probe }) =>
    probe.kind === 'reap' ? probe.markers : [],
  )
  expect(ended.map((marker) => marker.nonce)).not.toContain(nonce)
  await stored(agent, () => agent.end('parked', false))
  await passIdle(core, 5_000)
  await deleted
  expect(await core.client.tickets.list()).toEqual([])
})
