import { access, chmod, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import type { Session } from '../../../src-shared/records.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { filesBelow, rowsIn, runtimeFilesOf, tablesWith } from '../../support/ballet-things.ts'
import type { GitRemote } from '../../support/git-remote.ts'
import { expectNoLeftovers } from '../../support/leftovers.ts'
import {
  expectSameWork,
  isThere,
  parkNow,
  SHOP_FILES,
  startWithWork,
} from '../../support/parked-work.ts'
import { waitFor } from '../../support/wait-for.ts'
import { addProject, startTicket, waitForState } from '../../support/watch.ts'
import { test, type Workbench } from '../../support/workbench.ts'

/** More than an event holds: it is in a blob. */
const LARGE = 'head -c 15000 /dev/urandom | base64'

async function startShop(bench: Workbench, more: { setup?: string } = {}) {
  const remote = await bench.remote({ files: SHOP_FILES })
  const host = await bench.host({ agents: 2 })
  await addProject(host.client, remote.path, { planner: false, window: 'never', ...more })
  return { host, remote, client: host.client, cli: host.cli }
}

/** A session with work of every kind, parked; `more` is a command that does more. */
async function startParked(client: BalletClient, more = LARGE): Promise<Session> {
  const { session } = await startWithWork(client, more)
  return parkNow(client, session.id)
}

const keptOf = (bench: Workbench, { id }: Session) => filesBelow(join(bench.dataDir, 'kept', id))

/** Nothing of the session and its ticket is left: no row, no file. What the remote has is looked at by the test. */
async function expectGone(bench: Workbench, client: BalletClient, session: Session) {
  await waitFor('the kept files to be gone', async () => {
    return !(await isThere(join(bench.dataDir, 'kept', session.id)))
  })
  await waitFor(
    'the removal to be done',
    () => !tablesWith(bench.dataDir, session.id).includes('outbox'),
  )
  // The answer to the command that removed it stands for who asks again, without what was in the ticket.
  const tables = tablesWith(bench.dataDir, session.id)
  expect(tables.filter((table) => table !== 'receipt' && table !== 'deletion')).toEqual([])
  expect(tablesWith(bench.dataDir, 'Ticket-word')).toEqual([])
  expect(await runtimeFilesOf(bench, session.conversation)).toEqual([])
  expect(await filesBelow(join(bench.dataDir, 'scratch'))).toEqual([])
  await expectNoLeftovers(bench, client)
}

test('a deleted ticket leaves nothing, and the one beside it has lost nothing', async ({
  bench,
}) => {
  const { client, cli, remote } = await startShop(bench)
  const beside = await startWithWork(client)
  await parkNow(client, beside.session.id)
  const { session } = await startWithWork(client, LARGE)
  expect(await cli('ticket', 'delete', session.ticket)).toMatchObject({
    ...{ code: 1, error: { code: 'ticket.live' } },
  })
  const parked = await parkNow(client, session.id)
  expect(await keptOf(bench, parked)).toHaveLength(2)
  expect(rowsIn(bench.dataDir, 'blob')).toBeGreaterThan(0)
  const files = await runtimeFilesOf(bench, session.conversation)
  expect(files).not.toEqual([])

  // What is not for the remote is nowhere else.
  const refused = await cli('ticket', 'delete', session.ticket)
  expect(refused).toMatchObject({
    ...{
      code: 1,
      error: { code: 'ticket.not-pushed', hint: expect.stringContaining(session.branch) },
    },
  })
  expect(refused.error?.message).toContain('.env')
  const named = ['--force-branch', session.branch]
  const deleted = await bench.ballet(
    ...['ticket', 'delete', session.ticket, ...named, '--data', bench.dataDir],
  )
  expect(deleted.code, deleted.stderr).toBe(0)
  expect(deleted.stdout).toContain(
    `${session.ticket} is deleted: 1 session with ${parked.lastSeq} events, `,
  )
  for (const text of ['2 kept files (', ' of its runtime', 'its branch stays on the remote']) {
    expect(deleted.stdout).toContain(text)
  }
  const left = await client.sessions.show({ ref: beside.session.id })
  expect(rowsIn(bench.dataDir, 'timeline')).toBe(left.lastSeq)
  expect(rowsIn(bench.dataDir, 'blob')).toBe(0)
  await expect(client.tickets.show({ ref: session.ticket })).rejects.toMatchObject({
    data: { code: 'ticket.not-found' },
  })
  expect(await remote.branches()).toContain(session.branch)
  expect(await cli('ticket', 'delete', session.ticket)).toMatchObject({
    ...{ code: 1, error: { code: 'ticket.not-found' } },
  })
  // The other one holds the words of its ticket, so that these are looked for when it is gone too.
  await expectSameWork(bench, client, beside)
  await parkNow(client, beside.session.id)
  const other = await cli(
    ...['ticket', 'delete', beside.session.ticket],
    ...['--remote-branch', '--force-branch', beside.session.branch],
  )
  expect(other.rows, other.stderr).toMatchObject([
    { removed: { sessions: 1, keptFiles: 2, remoteBranch: 'removed' } },
  ])
  for (const each of [parked, beside.session]) await expectGone(bench, client, each)
  expect(await remote.branches()).toEqual(expect.not.arrayContaining([beside.session.branch]))
})

test('work that is nowhere else stays until somebody types the name of its branch', async ({
  bench,
}) => {
  const { client, cli, remote } = await startShop(bench)
  const pushed = await startParked(client, 'rm .env')
  const { ticket, branch } = pushed
  const tip = (await remote.log(branch))[0]?.hash
  const refused = await cli('ticket', 'delete', ticket, '--remote-branch')
  expect(refused).toMatchObject({
    ...{ code: 1, error: { code: 'branch.only-copy', hint: expect.stringContaining(branch) } },
  })
  expect(await cli('ticket', 'delete', ticket, '--force-branch', 'ballet/other')).toMatchObject({
    ...{ code: 1, error: { code: 'branch.other-name' } },
  })
  // Nothing is half done.
  expect(await client.sessions.show({ ref: ticket })).toEqual(pushed)
  expect(await keptOf(bench, pushed)).toHaveLength(1)
  expect((await remote.log(branch))[0]?.hash).toBe(tip)

  await remote.commit('taken-over', 'On it goes', { 'more.txt': 'more\n' }, branch)
  const deleted = await cli('ticket', 'delete', ticket, '--remote-branch')
  expect(deleted.rows, deleted.stderr).toMatchObject([{ removed: { remoteBranch: 'removed' } }])
  expect(await remote.branches()).toEqual(['main', 'taken-over'])
  await expectGone(bench, client, pushed)

  await remote.refusePushes('Closed.')
  const kept = await startParked(client)
  expect(kept).toMatchObject({ parked: { pushed: false } })
  // State, what is not for the remote, and the bundle.
  expect(await keptOf(bench, kept)).toHaveLength(3)
  expect(await cli('ticket', 'delete', kept.ticket)).toMatchObject({
    ...{
      code: 1,
      error: { code: 'ticket.not-pushed', hint: expect.stringContaining(kept.branch) },
    },
  })
  const forced = await cli('ticket', 'delete', kept.ticket, '--force-branch', kept.branch)
  expect(forced.rows, forced.stderr).toMatchObject([
    { removed: { keptFiles: 3, remoteBranch: 'none' } },
  ])
  await expectGone(bench, client, kept)
})

test('a workspace of a session that failed goes with its ticket, when nothing in it is nowhere else', async ({
  bench,
}) => {
  const { client, cli } = await startShop(bench, { setup: 'echo only here > new.txt; exit 3' })
  const { session } = await startTicket(client, { body: 'Ticket-word.' })
  const failed = await waitForState(client, session.id, 'failed', { timeoutMs: 60_000 })
  const workspace = failed.workspace ?? 'no workspace'
  await access(workspace)
  expect(await cli('ticket', 'delete', failed.ticket)).toMatchObject({
    ...{ code: 1, error: { code: 'workspace.not-pushed' } },
  })
  await access(join(workspace, 'new.txt'))
  await rm(join(workspace, 'new.txt'))
  const deleted = await cli('ticket', 'delete', failed.ticket)
  expect(deleted.rows, deleted.stderr).toMatchObject([
    { removed: { workspaces: 1, keptFiles: 0, remoteBranch: 'none' } },
  ])
  await expectGone(bench, client, failed)
})

test('killed in the middle of a deletion, the next start ends it', async ({ bench }) => {
  const { host, client, cli, remote } = await startShop(bench)
  const { ticket, branch, id } = await startParked(client)
  const session = await client.sessions.show({ ref: id })
  const held = await holdPushes(bench, remote)
  const asked = cli('ticket', 'delete', ticket, '--remote-branch', '--force-branch', branch)
  await waitFor('the push of the deletion', () => isThere(held.reached))
  await host.kill()
  expect((await asked).code).not.toBe(0)
  await waitFor('everything of the host to end', async () => (await bench.processes()).length === 0)
  expect(await remote.branches()).toContain(branch)
  expect(tablesWith(bench.dataDir, id)).toContain('session')
  await held.end()

  const second = await bench.host()
  await waitFor('the ticket to be gone', async () => {
    const tickets = await second.client.tickets.list({})
    return tickets.length === 0
  })
  await expectGone(bench, second.client, session)
  expect(await remote.branches()).toEqual(['main'])
  expect(await readdir(join(bench.dataDir, 'workspaces')).catch(() => [])).toEqual([])
})

/** Every push hangs from now on, and says by a file that it does. */
async function holdPushes(bench: Workbench, remote: GitRemote) {
  const reached = bench.path('reached')
  const hook = join(remote.path, 'hooks', 'pre-receive')
  await writeFile(hook, `#!/bin/sh\ntouch '${reached}'\nsleep 60\n`)
  await chmod(hook, 0o755)
  return { reached, end: () => rm(hook) }
}
