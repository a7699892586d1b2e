import { expect, test } from 'vitest'
import { CONTRACT_VERSION } from '../../src-shared/contract.ts'
import { CommandId } from '../../src-shared/ids.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { answerProbe } from '../testing/fake-agent.ts'
import { refusalOf, startTestCore, withTicket } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import { inState, parked, waiting } from '../testing/walks.ts'

const command = (last: string) =>
  CommandId.parse(`01930000-0000-7000-a000-${last.padStart(12, '0')}`)

test('names of every kind make a project, with a key of its own', async () => {
  const { client } = await startTestCore()
  const names = [
    'Shop',
    'my shop',
    'it\'s "quoted" & <b>',
    '🎉🎉',
    '🦄',
    '../../etc/passwd',
    'Ünïcödé Straße',
    '2024 plans',
    '   padded   ',
    'a'.repeat(80),
  ]
  for (const name of names) {
    const project = await client.projects.add({
      name,
      repo: `/srv/${encodeURIComponent(name)}.git`,
    })
    expect(project.name).toBe(name.trim())
    expect(project.key).toMatch(/^[A-Z][A-Z0-9]{0,9}$/)
    expect(await client.projects.show({ ref: name })).toEqual(project)
    const ticket = await client.tickets.add({ project: name, title: name })
    expect(ticket).toMatchObject({ key: `${project.key}-1`, title: name.trim(), status: 'Backlog' })
    expect((await client.tickets.show({ ref: ticket.key.toLowerCase() })).id).toBe(ticket.id)
  }
  const keys = (await client.projects.list()).map(({ key }) => key)
  expect(new Set(keys).size).toBe(names.length)
  expect(keys.slice(0, 5)).toEqual(['SHOP', 'MYSHOP', 'ITSQUOTEDB', 'P', 'P2'])
})

test('a project is refused for its name, its remote or its branch, and nothing is stored', async () => {
  const { client, launcher } = await startTestCore()
  await client.projects.add({ name: 'Shop', repo: '/srv/shop.git' })
  const add = (name: string, branch?: string) =>
    client.projects.add({ name, repo: '/srv/x.git', ...(branch === undefined ? {} : { branch }) })
  expect(await refusalOf(add('sHOP'))).toMatchObject({ code: 'project.exists' })
  launcher.answer = () => ({
    code: 'git.unreachable',
    message: 'The host x does not answer.',
    hint: 'Check the address.',
  })
  expect(await refusalOf(add('X'))).toEqual({
    code: 'git.unreachable',
    message: 'The host x does not answer.',
    hint: 'Check the address.',
  })
  launcher.answer = () => ({ kind: 'remote', branch: 'main', commit: 'c'.repeat(40) })
  expect(await refusalOf(add('X', 'develop'))).toMatchObject({
    code: 'project.branch-unknown',
    message: expect.stringContaining('"develop"'),
    hint: expect.stringContaining('main'),
  })
  expect(await client.projects.list()).toHaveLength(1)
})

test('a remote that nobody looks at in time is refused', async () => {
  const core = await startTestCore()
  core.launcher.answer = () => undefined
  const added = refusalOf(core.client.projects.add({ name: 'Shop', repo: '/srv/shop.git' }))
  await settle()
  for (let passed = 0; passed < 34_000; passed += 2_000) {
    for (const { fake } of core.launcher.launched) fake.heartbeat(null)
    await settle(3)
    core.clock.turn(2_000)
  }
  expect(await added).toMatchObject({ code: 'probe.timeout' })
})

test('two that add the same name at once: one gets it', async () => {
  const { client } = await startTestCore()
  const add = () => client.projects.add({ name: 'Shop', repo: '/srv/shop.git' })
  const results = await Promise.allSettled([add(), add()])
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
})

test('the same command id gives the first answer again and does nothing twice', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const add = () =>
    client.projects.add({ name: 'Shop', repo: '/srv/shop.git', commandId: command('1') })
  expect(await add()).toEqual(await add())
  const ticket = () =>
    client.tickets.add({ project: 'Shop', title: 'T', start: true, commandId: command('2') })
  const [a, b] = await Promise.all([ticket(), ticket()])
  expect(a).toEqual(b)
  expect(await client.tickets.list()).toHaveLength(1)
  const stop = () => client.sessions.stop({ ref: 'SHOP-1', commandId: command('3') })
  const first = await stop()
  await core.launcher.holder('SHOP-1')
  expect(await stop()).toEqual(first)
  expect(
    await refusalOf(client.sessions.finish({ ref: 'SHOP-1', commandId: command('3') })),
  ).toMatchObject({ code: 'command.reused' })
  const second = await core.restart()
  expect(await second.client.sessions.stop({ ref: 'SHOP-1', commandId: command('3') })).toEqual(
    first,
  )
})

test('references: id, beginning of an id, key, name; what is ambiguous or unknown is told', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const ticket = await withTicket(core)
  const other = await withTicket(core, { title: 'Other' })
  const [project] = await client.projects.list()
  expect((await client.projects.show({ ref: 'shop' })).id).toBe(project?.id)
  expect((await client.projects.show({ ref: project?.id ?? '' })).id).toBe(project?.id)
  expect((await client.tickets.show({ ref: ticket.id.slice(0, -1) })).id).toBe(ticket.id)
  expect((await client.tickets.show({ ref: ticket.id.toUpperCase() })).id).toBe(ticket.id)
  const ambiguous = await refusalOf(client.tickets.show({ ref: '0193' }))
  expect(ambiguous.code).toBe('ticket.ambiguous')
  expect(ambiguous.message).toContain(ticket.id)
  expect(ambiguous.message).toContain(other.key)
  expect(await refusalOf(client.tickets.show({ ref: '019' }))).toMatchObject({
    code: 'ticket.not-found',
    message: expect.stringContaining('at least 4'),
  })
  expect(await refusalOf(client.tickets.show({ ref: 'SHOP-99' }))).toMatchObject({
    code: 'ticket.not-found',
    hint: expect.stringContaining('ballet ticket list'),
  })
  expect(await refusalOf(client.projects.show({ ref: '%' }))).toMatchObject({
    code: 'project.not-found',
  })
  const session = await client.sessions.show({ ref: 'SHOP-1' })
  expect((await client.sessions.show({ ref: session.id })).id).toBe(session.id)
  await client.tickets.add({ project: 'SHOP', title: 'Idle' })
  expect(await refusalOf(client.sessions.show({ ref: 'SHOP-3' }))).toMatchObject({
    code: 'session.not-found',
    hint: expect.stringContaining('ballet ticket start SHOP-3'),
  })
  expect(await refusalOf(client.sessions.list({ project: 'Nope' }))).toMatchObject({
    code: 'project.not-found',
  })
})

test('lists are oldest first and take filters', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  await withTicket(core)
  await withTicket(core, { title: 'Second' })
  await withTicket(core, { title: 'Third', start: false })
  expect((await client.tickets.list()).map(({ key }) => key)).toEqual([
    'SHOP-1',
    'SHOP-2',
    'SHOP-3',
  ])
  expect((await client.tickets.list({ status: 'Backlog' })).map(({ key }) => key)).toEqual([
    'SHOP-3',
  ])
  await inState(core, 'SHOP-1', 'starting')
  expect((await client.sessions.list({ state: 'queued' })).map(({ ticket }) => ticket)).toEqual([
    'SHOP-2',
  ])
  expect(await client.sessions.list({ ticket: 'SHOP-1', project: 'shop' })).toHaveLength(1)
})

test('input that does not fit is refused with the field that is wrong', async () => {
  const core = await startTestCore()
  await withTicket(core)
  const wrong: [Promise<unknown>, string][] = [
    [core.client.projects.add({ name: '  ', repo: '/x' }), 'name'],
    [core.client.projects.add({ name: 'X', repo: '/x', window: 'soon' }), 'window'],
    [core.client.projects.add({ name: 'X', repo: '/x', env: { 'A B': '1' } }), 'env'],
    [core.client.tickets.add({ project: 'Shop', title: '' }), 'title'],
    [core.client.tickets.add({ project: 'Shop', title: 'T', priority: 9 }), 'priority'],
    [core.client.sessions.send({ ref: 'SHOP-1', text: ' \n' }), 'text'],
    [core.client.sessions.send({ ref: 'SHOP-1', text: 'x', input: 'no-uuid' as never }), 'input'],
  ]
  for (const [call, field] of wrong) {
    const refusal = await refusalOf(call)
    expect(refusal.code).toBe('input.invalid')
    expect(refusal.message).toContain(field)
  }
})

test('what fails unexpectedly is told without its insides, and logged', async () => {
  let broken = false
  const core = await startTestCore({
    storage: (real) => ({
      ...real,
      rows: (query) => (broken ? Promise.reject(new Error('secret /path')) : real.rows(query)),
    }),
  })
  broken = true
  const refusal = await refusalOf(core.client.tickets.list())
  expect(refusal).toMatchObject({
    code: 'host.failed',
    message: 'The host failed at tickets.list.',
  })
  expect(JSON.stringify(refusal)).not.toContain('secret')
  expect(
    core.logged.some(({ level, message }) => level === 'error' && message.includes('tickets.list')),
  ).toBe(true)
})

test('a ticket is started once, and again when it is over', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const ticket = await withTicket(core, { start: false })
  const [a, b] = await Promise.all([
    client.tickets.start({ ref: ticket.key }),
    client.tickets.start({ ref: ticket.key }),
  ])
  expect(a.id).toBe(b.id)
  expect(await client.sessions.list()).toHaveLength(1)
  await client.sessions.stop({ ref: ticket.key })
})

test('a ticket is deleted with what it left, unless it is live or holds work', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const { ticket } = await waiting(core)
  expect(await refusalOf(client.tickets.delete({ ref: ticket.key }))).toMatchObject({
    code: 'ticket.live',
  })
  expect(await refusalOf(client.projects.delete({ ref: 'Shop' }))).toMatchObject({
    code: 'project.not-empty',
  })
  await client.sessions.stop({ ref: ticket.key })
  core.launcher.agent('agent-1').end('stopped')
  const session = await inState(core, ticket.key, 'parked')

  core.launcher.answer = (probe) =>
    probe.kind === 'workspace.remove'
      ? { code: 'workspace.unpushed', message: 'Work is not pushed.', hint: 'Push it.' }
      : answerProbe(probe)
  expect(await refusalOf(client.tickets.delete({ ref: ticket.key }))).toMatchObject({
    code: 'workspace.unpushed',
    hint: 'Push it.',
  })
  expect(await core.storage.pendingOutbox()).toEqual([])
  expect((await client.sessions.show({ ref: ticket.key })).workspace).toBe(session.workspace)

  core.launcher.answer = (probe) => {
    if (probe.kind !== 'workspace.remove') return answerProbe(probe)
    expect(probe).toMatchObject({ workspaceDir: session.workspace, force: false })
    return { kind: 'workspace.remove', removed: true }
  }
  const remove = () => client.tickets.delete({ ref: ticket.key, commandId: command('4') })
  const [once, twice] = await Promise.all([remove(), remove()])
  expect(once).toEqual(twice)
  expect(await remove()).toEqual(once)
  expect(once.removed).toMatchObject({ sessions: 1, workspaces: 1, runtimeFiles: 1 })
  expect(once.removed.events).toBeGreaterThan(3)
  expect(await client.tickets.list()).toEqual([])
  expect(await client.sessions.list()).toEqual([])
  for (const table of ['input', 'lease', 'session'] as const) {
    expect(await core.storage.rows({ table })).toEqual([])
  }
  await client.projects.delete({ ref: 'Shop' })
  expect(await client.projects.list()).toEqual([])
  await until(
    'the mirror to be removed',
    async () => (await core.storage.pendingOutbox()).length === 0,
  )
})

test('a deletion that the host did not end is ended by the next one; nothing starts meanwhile', async () => {
  const first = await startTestCore({ agents: 1 })
  const { ticket } = await parked(first)
  first.launcher.answer = () => undefined
  const asked = first.client.tickets.delete({ ref: ticket.key }).catch(() => undefined)
  await until(
    'the deletion to begin',
    async () => (await first.storage.pendingOutbox()).length === 1,
  )
  for (const call of [
    first.client.tickets.start({ ref: ticket.key }),
    first.client.sessions.send({ ref: ticket.key, text: 'x' }),
  ]) {
    expect(await refusalOf(call)).toMatchObject({ code: 'ticket.deleting' })
  }
  const second = await first.restart()
  await until(
    'the ticket to be gone',
    async () => (await second.client.tickets.list()).length === 0,
  )
  await until(
    'its kept files to be removed',
    async () => (await second.storage.pendingOutbox()).length === 0,
  )
  first.core.stop().catch(() => undefined)
  await Promise.race([asked, settle()])
})

test('a deletion that the disk keeps from its end is told of within a limit, and goes on', async () => {
  let full = false
  const core = await startTestCore({
    agents: 1,
    storage: (real) => ({
      ...real,
      commit: (commit) =>
        full
          ? Promise.reject(new BalletError({ code: 'storage.full', message: 'The disk is full.' }))
          : real.commit(commit),
    }),
  })
  const { ticket } = await parked(core)
  core.launcher.answer = (probe) => {
    full = true
    return answerProbe(probe)
  }
  const deleted = refusalOf(core.client.tickets.delete({ ref: ticket.key }))
  await until('the disk to be full', () => full)
  for (let passed = 0; passed < 125_000; passed += 1_000) {
    core.launcher.agent('agent-1').heartbeat(null)
    await settle(3)
    core.clock.turn(1_000)
  }
  expect(await deleted).toMatchObject({
    code: 'ticket.deleting',
    message: expect.stringContaining('The disk is full.'),
  })
  full = false
  core.launcher.answer = answerProbe
  core.clock.turn(30_000)
  await until('the ticket to be gone', async () => {
    return (await core.client.tickets.list()).length === 0
  })
})

test('the host tells of itself, of runtimes and of problems', async () => {
  const core = await startTestCore({ agents: 1 })
  const info = await core.client.host.info()
  expect(info).toMatchObject({
    kind: 'headless',
    agents: 1,
    dataDir: core.dir,
    contract: CONTRACT_VERSION,
  })
  const well = await core.client.host.doctor()
  expect(well).toMatchObject({
    git: { version: '2.39.5' },
    runtimes: [{ runtime: 'claude-code', version: '2.1.332' }],
    problems: [],
  })
  core.launcher.answer = () => ({
    kind: 'runtimes',
    git: { path: null, version: null },
    runtimes: [
      {
        runtime: 'claude-code',
        path: null,
        version: null,
        loggedIn: null,
        login: null,
        versions: { minimum: null, tested: [] },
        problem: { code: 'runtime.not-found', message: 'No claude.', hint: 'Install it.' },
        notice: null,
      },
    ],
  })
  const ill = await core.client.host.doctor()
  expect(ill.problems.map(({ code }) => code)).toEqual(['runtime.not-found', 'git.not-found'])
})

/** A demo whose model is at another address each time. */
function sampleDemo() {
  let port = 1
  return {
    prepare: async () => ({
      project: {
        repo: '/srv/demo.git',
        runtime: 'claude-code' as const,
        permission: 'full' as const,
        runtimeArgs: [],
        setupLimit: '10m',
        stages: {},
        env: { ANTHROPIC_BASE_URL: `http://127.0.0.1:${port++}` },
        window: '10m',
        sources: [],
        planner: false,
        notify: [],
      },
      ticket: { title: 'Say hello', body: 'In the window.' },
    }),
  }
}

test('the demo makes its project once and starts a ticket each time', async () => {
  const core = await startTestCore({ agents: 2, demo: sampleDemo() })
  const first = await core.client.host.demo({ commandId: command('5') })
  expect(await core.client.host.demo({ commandId: command('5') })).toMatchObject({ id: first.id })
  const second = await core.client.host.demo({})
  expect([first.project, second.ticket]).toEqual(['Demo', 'DEMO-2'])
  expect(await core.client.projects.list()).toHaveLength(1)
  const agent = await core.launcher.holder('DEMO-2')
  expect(agent.spec().env.ANTHROPIC_BASE_URL).toBe('http://127.0.0.1:2')
  const without = await startTestCore()
  expect(await refusalOf(without.client.host.demo({}))).toMatchObject({ code: 'demo.missing' })
})

test('the demo leaves a project of a person that has its name as it is', async () => {
  const core = await startTestCore({ demo: sampleDemo() })
  const own = await core.client.projects.add({ name: 'demo', repo: '/srv/own.git' })
  expect((await core.client.host.demo({})).project).toBe('Demo 2')
  expect((await core.client.host.demo({})).project).toBe('Demo 2')
  expect(await core.client.projects.show({ ref: own.id })).toEqual(own)
  expect(await core.client.projects.list()).toHaveLength(2)
})

test('a body of 1 MB is kept whole', async () => {
  const core = await startTestCore({ agents: 1 })
  const body = 'é'.repeat(500_000)
  const ticket = await withTicket(core, { body })
  expect((await core.client.tickets.show({ ref: ticket.key })).body).toBe(body)
  const [input] = await core.client.sessions.inputs({ ref: ticket.key })
  expect(input?.text).toBe(`Add a button\n\n${body}`)
})

test('the text of a deleted ticket is nowhere any more, not even in what commands answered', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  await client.projects.add({ name: 'Shop', repo: '/srv/shop.git' })
  const add = (title: string, n: string) =>
    client.tickets.add({
      ...{ project: 'Shop', title, body: `word-${title}` },
      commandId: command(n),
    })
  const gone = await add('gone', '91')
  await add('stays', '92')
  await client.tickets.edit({ ref: gone.key, priority: 1, commandId: command('93') })
  await client.tickets.delete({ ref: gone.key, commandId: command('94') })
  const answers = await Promise.all(
    ['91', '92', '93', '94'].map((n) => core.storage.receipt(command(n))),
  )
  expect(answers.map((answer) => answer !== undefined)).toEqual([false, true, false, true])
  expect(JSON.stringify(answers)).not.toContain('word-gone')
  expect(JSON.stringify(answers)).toContain('word-stays')
})

test('the password of a repository is kept and shown nowhere', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const repo = 'https://ada:open-sesame@example.org/shop.git'
  const project = await client.projects.add({ name: 'Shop', repo })
  expect(project.repo).toBe('https://ada:***@example.org/shop.git')
  // What a form got it gives back.
  await client.projects.edit({ ref: 'Shop', repo: project.repo, permission: 'ask' })
  expect(await core.storage.rows({ table: 'project' })).toMatchObject([{ repo, permission: 'ask' }])
  const { changes } = await client.records.follow({ waitMs: 0 })
  expect(JSON.stringify([changes, await client.projects.list()])).not.toContain('open-sesame')
  core.launcher.answer = () => ({ kind: 'remote', branch: 'main', commit: 'c'.repeat(40) })
  expect(await refusalOf(client.projects.edit({ ref: 'Shop', branch: 'none' }))).toMatchObject({
    message: expect.stringContaining('https://ada:***@'),
  })
})
