import { expect, test } from 'vitest'
import { CommandId } from '../../src-shared/ids.ts'
import { refusalOf, startTestCore, withTicket } from '../testing/test-core.ts'
import { until } from '../testing/until.ts'
import { inState, parked, waiting, working } from '../testing/walks.ts'

const command = (last: string) =>
  CommandId.parse(`01930000-0000-7000-a000-${last.padStart(12, '0')}`)

test('a project is edited, what is not named stays, and null takes away', async () => {
  const { client } = await startTestCore()
  await client.projects.add({
    name: 'Shop',
    repo: '/srv/shop.git',
    model: 'm1',
    setup: 'npm ci',
    env: { A: '1', B: '2' },
    maxSessions: 2,
  })
  const edited = await client.projects.edit({
    ref: 'shop',
    name: 'The Shop',
    permission: 'ask',
    model: null,
    maxSessions: null,
    env: { B: null, C: '3' },
    commandId: command('1'),
  })
  expect(edited).toMatchObject({
    key: 'SHOP',
    name: 'The Shop',
    permission: 'ask',
    setup: 'npm ci',
    envNames: ['A', 'C'],
  })
  expect(edited).not.toHaveProperty('model')
  expect(edited).not.toHaveProperty('maxSessions')
  expect(await client.projects.show({ ref: 'The Shop' })).toEqual(edited)
  // The same command again changes nothing any more.
  await client.projects.edit({ ref: 'SHOP', permission: 'full' })
  expect(
    await client.projects.edit({ ref: 'SHOP', permission: 'ask', commandId: command('1') }),
  ).toEqual(edited)
  expect((await client.projects.show({ ref: 'SHOP' })).permission).toBe('full')
})

test('another repository or branch is checked first, and nothing changes when it is not there', async () => {
  const { client, launcher } = await startTestCore()
  const before = await client.projects.add({ name: 'Shop', repo: '/srv/shop.git' })
  const edit = (change: { repo?: string; branch?: string | null }) =>
    client.projects.edit({ ref: 'Shop', ...change })
  launcher.answer = (probe) =>
    probe.kind === 'remote' && probe.branch === 'develop'
      ? { code: 'git.unreachable', message: 'The host x does not answer.', hint: 'Look.' }
      : { kind: 'remote', branch: 'trunk', commit: 'c'.repeat(40) }
  expect(await refusalOf(edit({ branch: 'develop' }))).toMatchObject({ code: 'git.unreachable' })
  expect(await refusalOf(edit({ branch: 'none' }))).toMatchObject({
    code: 'project.branch-unknown',
  })
  expect(await client.projects.show({ ref: 'Shop' })).toEqual(before)
  expect(await edit({ branch: null })).toMatchObject({ branch: 'trunk' })
  expect(await edit({ repo: '/srv/other.git' })).toMatchObject({
    repo: '/srv/other.git',
    branch: 'trunk',
  })
})

test('another repository is refused while a session is not over', async () => {
  const core = await startTestCore()
  const { ticket } = await parked(core)
  const edit = () => core.client.projects.edit({ ref: 'Shop', repo: '/srv/other.git' })
  expect(await refusalOf(edit())).toMatchObject({
    code: 'project.in-use',
    message: expect.stringContaining(ticket.key),
  })
  expect(await core.client.projects.edit({ ref: 'Shop', window: '1h' })).toMatchObject({
    window: '1h',
  })
})

test('what was pushed to one repository is not gone on with in another', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  agent.item({ type: 'pushed', commit: 'd'.repeat(40) })
  await core.client.sessions.finish({ ref: ticket.key })
  await until('the finish', () => agent.heard('session.finish').length === 1)
  agent.end('finished', false)
  await inState(core, ticket.key, 'finished')
  await core.client.projects.edit({ ref: 'Shop', repo: '/srv/other.git' })
  await core.client.tickets.start({ ref: ticket.key })
  await until('the next start', () => agent.heard('session.start').length === 2)
  expect(agent.spec()).toMatchObject({ repo: '/srv/other.git', pushedCommit: null })
})

test('a name that another project has is refused, its own is not', async () => {
  const { client } = await startTestCore()
  await client.projects.add({ name: 'Shop', repo: '/srv/shop.git' })
  await client.projects.add({ name: 'Bank', repo: '/srv/bank.git' })
  const name = (to: string) => client.projects.edit({ ref: 'Shop', name: to })
  expect(await refusalOf(name('BANK'))).toMatchObject({ code: 'project.exists' })
  expect(await name('SHOP')).toMatchObject({ name: 'SHOP' })
  expect(await refusalOf(name(' '))).toMatchObject({ code: 'input.invalid' })
  expect(
    await refusalOf(client.projects.edit({ ref: 'Shop', env: { 'NOT-A-NAME': 'x' } })),
  ).toMatchObject({ code: 'input.invalid' })
  expect(await refusalOf(client.projects.edit({ ref: 'Shop', env: { NOPE: null } }))).toMatchObject(
    {
      code: 'project.no-variable',
      message: 'The project "SHOP" has no variable NOPE.',
    },
  )
  expect(await refusalOf(client.projects.edit({ ref: 'none', name: 'x' }))).toMatchObject({
    code: 'project.not-found',
  })
})

test('an edit holds for sessions that start or come back afterwards', async () => {
  const core = await startTestCore({ agents: 2 })
  const { ticket } = await parked(core)
  const running = await working(core, 'Running')
  await core.client.projects.edit({
    ref: 'Shop',
    permission: 'edits',
    model: 'm2',
    env: { MODE: 'x' },
  })
  expect(await core.client.sessions.show({ ref: running.ticket.key })).toMatchObject({
    permission: 'full',
    model: null,
  })
  await core.client.tickets.start({ ref: ticket.key })
  const starts = () =>
    core.launcher.launched
      .flatMap(({ fake }) => fake.heard('session.start'))
      .filter(({ spec }) => spec.ticket === ticket.key)
  const again = await until('it to be brought back', () => starts().find(({ spec }) => spec.resume))
  expect(again.spec).toMatchObject({ permission: 'edits', model: 'm2', env: { MODE: 'x' } })
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({
    permission: 'edits',
    model: 'm2',
  })
})

test('who follows the records sees a new name and title everywhere', async () => {
  const core = await startTestCore()
  const { ticket } = await waiting(core)
  const { cursor } = await core.client.records.follow({})
  await core.client.projects.edit({ ref: 'Shop', name: 'Store' })
  await core.client.tickets.edit({ ref: ticket.key, title: 'Add two buttons' })
  const { changes } = await core.client.records.follow({ cursor, waitMs: 0 })
  expect(changes.map(({ value }) => value)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'Store' }),
      expect.objectContaining({ key: ticket.key, project: 'Store', title: 'Add two buttons' }),
      expect.objectContaining({
        ticket: ticket.key,
        project: 'Store',
        title: 'Add two buttons',
        state: 'waiting',
      }),
    ]),
  )
})

test('a ticket is edited; its status only while no session of it is live', async () => {
  const core = await startTestCore()
  const { client } = core
  const ticket = await withTicket(core, { start: false })
  const edit = (change: Parameters<typeof client.tickets.edit>[0]) => client.tickets.edit(change)
  expect(
    await edit({ ref: ticket.key, title: ' New ', body: '', priority: 1, status: 'Ready' }),
  ).toMatchObject({ title: 'New', body: '', priority: 1, status: 'Ready' })
  expect(await refusalOf(edit({ ref: ticket.key, status: 'In progress' as never }))).toMatchObject({
    code: 'input.invalid',
  })
  expect(await refusalOf(edit({ ref: ticket.key, title: '  ' }))).toMatchObject({
    code: 'input.invalid',
  })

  await client.tickets.start({ ref: ticket.key })
  await core.launcher.holder(ticket.key)
  expect(await refusalOf(edit({ ref: ticket.key, status: 'Done' }))).toMatchObject({
    code: 'ticket.live',
  })
  expect(await edit({ ref: ticket.key, body: 'More.' })).toMatchObject({
    body: 'More.',
    status: 'In progress',
  })

  const stopped = await parked(core, 'Stopped')
  expect(await edit({ ref: stopped.ticket.key, status: 'Cancelled' })).toMatchObject({
    status: 'Cancelled',
  })
  await client.tickets.start({ ref: stopped.ticket.key })
  await inState(core, stopped.ticket.key, 'resuming')
  expect((await client.tickets.show({ ref: stopped.ticket.key })).status).toBe('In progress')
})
