import { access } from 'node:fs/promises'
import { expect } from '@playwright/test'
import { BALLET_PROGRAM } from '../../support/command-line.ts'
import { bash, say, script } from '../../support/steps.ts'
import { addProject, ofKind, startTicket, timelineOf, waitForTurnEnd } from '../../support/watch.ts'
import { test } from '../../support/workbench.ts'

test('every command without a running host says so, with exit code 1', async ({ bench }) => {
  const commands = [
    ['project', 'list'],
    ['project', 'add', '--name', 'Shop', '--repo', '/nowhere'],
    ['ticket', 'list'],
    ['ticket', 'start', 'SHOP-1'],
    ['session', 'list'],
    ['session', 'events', 'SHOP-1'],
    ['send', 'SHOP-1', 'hello'],
    ['interrupt', 'SHOP-1'],
    ['inputs', 'SHOP-1'],
    ['agents'],
  ]
  for (const command of commands) {
    const result = await bench.ballet(...command, '--data', bench.dataDir, '--json')
    expect(result, command.join(' ')).toMatchObject({
      code: 1,
      stdout: '',
      error: {
        code: 'host.not-running',
        message: expect.stringContaining(bench.dataDir),
        hint: expect.stringContaining('ballet serve'),
      },
    })
  }
  const forPeople = await bench.ballet('agents', '--data', bench.dataDir)
  expect(forPeople).toMatchObject({ code: 1, stdout: '' })
  expect(forPeople.stderr).toContain(bench.dataDir)
  expect((await bench.ballet('version', '--json')).rows).toMatchObject([{ version: '0.1.0' }])
})

test('doctor looks at this machine without a host, says that none runs, and changes nothing', async ({
  bench,
}) => {
  const folder = bench.path('not there yet')
  const result = await bench.ballet('doctor', '--data', folder, '--json')
  expect(result.rows[0]).toMatchObject({
    host: null,
    dataDir: folder,
    git: { version: expect.stringMatching(/^\d/u) },
    runtimes: expect.arrayContaining([
      expect.objectContaining({
        runtime: 'claude-code',
        version: expect.stringMatching(/^\d/u),
      }),
      expect.objectContaining({ runtime: 'codex' }),
    ]),
    storage: null,
  })
  await expect(access(folder)).rejects.toMatchObject({ code: 'ENOENT' })
})

test('what is not understood ends with exit code 2 and says what is wrong', async ({ bench }) => {
  const wrong = [
    ['dance'],
    ['project', 'add', '--name', 'Shop'],
    ['ticket', 'add', '--project', 'Shop', '--title', 'T', '--priority', '9'],
    ['project', 'add', '--name', 'Shop', '--repo', 'x', '--window', 'soon'],
    ['project', 'add', '--name', 'Shop', '--repo', 'x', '--env', 'novalue'],
    ['session', 'show'],
    ['send', 'SHOP-1', '  '],
    ['agents', '--no-such-option'],
    ['serve', '--agents', '0'],
  ]
  for (const command of wrong) {
    const result = await bench.ballet(...command, '--data', bench.dataDir, '--json')
    expect(result, command.join(' ')).toMatchObject({
      code: 2,
      stdout: '',
      error: { code: expect.stringMatching(/^usage/u), message: expect.stringMatching(/\S/u) },
    })
  }
})

test('help stands everywhere and needs no host', async ({ bench }) => {
  const paths = ['', 'serve', 'project', 'project add', 'ticket', 'ticket add', 'session']
  for (const path of [
    ...paths,
    'session events',
    'send',
    'inputs',
    'interrupt',
    'agents',
    'doctor',
  ]) {
    const result = await bench.ballet(...path.split(' ').filter(Boolean), '--help')
    expect(result, path).toMatchObject({ code: 0, stderr: '' })
    expect(result.stdout).toContain(`Usage: ballet ${path}`.trim())
    expect(result.stdout).toContain('--json')
  }
})

test('things that are not there are named, and ids are taken by their beginning', async ({
  bench,
}) => {
  const host = await bench.host()
  await addProject(host.client, (await bench.remote()).path)
  const { session, ticket } = await startTicket(host.client, { body: script(say('Done.')) })
  for (const command of [
    ['project', 'show', 'Nowhere'],
    ['ticket', 'show', 'SHOP-99'],
    ['session', 'show', 'ffffffff'],
    ['send', 'SHOP-99', 'hello'],
    ['session', 'finish', 'SHOP-99'],
  ]) {
    const result = await host.cli(...command)
    expect(result).toMatchObject({ code: 1, stdout: '' })
    expect(result.error?.message).toContain(command.find((part) => /[0-9f]{2}|Nowhere/u.test(part)))
    expect(result.error?.code).toMatch(/not-found$/u)
  }
  for (const ref of [session.id, session.id.slice(0, 20), ticket.key, ticket.key.toLowerCase()]) {
    expect((await host.cli('session', 'show', ref)).rows).toMatchObject([{ id: session.id }])
  }
  for (const ref of [ticket.id, ticket.id.slice(0, 20), ticket.key]) {
    expect((await host.cli('ticket', 'show', ref)).rows).toMatchObject([{ id: ticket.id }])
  }
  const deletion = await host.cli('project', 'delete', 'Shop')
  expect(deletion).toMatchObject({ code: 1, error: { message: expect.stringContaining('Shop') } })
})

test('global options stand anywhere, and tables are for people', async ({ bench }) => {
  const host = await bench.host()
  await addProject(host.client, (await bench.remote()).path)
  await host.client.tickets.add({ project: 'Shop', title: 'One', body: '' })
  const first = await bench.ballet('--json', '--data', bench.dataDir, 'ticket', 'list')
  const last = await bench.ballet('ticket', 'list', '--data', bench.dataDir, '--json')
  expect(first.rows).toEqual(last.rows)
  expect(first.rows).toHaveLength(1)
  const table = await bench.ballet('ticket', 'list', '--data', bench.dataDir)
  expect(table.stdout.split('\n')[0]).toMatch(/^KEY +STATUS +PRIORITY/u)
  expect(table.stdout).toContain('SHOP-1')
})

test('a session may look and not steer, itself least of all', async ({ bench }) => {
  const host = await bench.host()
  await addProject(host.client, (await bench.remote()).path)
  const ballet = `'${process.execPath}' '${BALLET_PROGRAM}' --data '${bench.dataDir}' --json`
  const { session } = await startTicket(host.client, {
    body: script(bash(`${ballet} send SHOP-1 'do more'; echo "code=$?"`), say('Tried.')),
  })
  await waitForTurnEnd(host.client, session.id, 1)
  const outputs = ofKind(await timelineOf(host.client, session.id), 'tool.result').map(
    ({ output }) => output,
  )
  expect(outputs[0]).toContain('caller.session')
  expect(outputs[0]).toContain('code=1')
  expect(await host.client.sessions.inputs({ ref: session.id })).toHaveLength(1)
})
