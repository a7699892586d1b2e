import { expect, test } from 'vitest'
import { CommandId } from '../../src-shared/ids.ts'
import { unheldMarkers } from '../sessions/unheld-markers.ts'
import { answerProbe, type ProbeAnswer } from '../testing/fake-agent.ts'
import { refusalOf, startTestCore } from '../testing/test-core.ts'
import { until } from '../testing/until.ts'
import { keptAway, keptOnDisk, letGo, parked, waiting } from '../testing/walks.ts'

type Asked = Parameters<ProbeAnswer>[0]

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
