import { access, rename } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from '@playwright/test'
import { say, script, write } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import {
  addProject,
  ofKind,
  startTicket,
  timelineOf,
  waitForEvent,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { test, type Workbench } from '../../support/workbench.ts'

/** `project add` must refuse it, name what is in `words`, give a next step, and store nothing. */
async function expectRefused(
  bench: Workbench,
  args: readonly string[],
  code: string,
  words: readonly string[],
): Promise<void> {
  const host = await bench.host()
  const at = performance.now()
  const added = await host.cli('project', 'add', '--name', 'Shop', ...args)
  expect(added).toMatchObject({ code: 1, stdout: '', error: { code, hint: expect.any(String) } })
  expect(performance.now() - at).toBeLessThan(20_000)
  for (const word of words) expect(added.error?.message).toContain(word)
  expect((await host.cli('project', 'list')).rows).toEqual([])
  const forPeople = await bench.ballet(
    ...['project', 'add', '--name', 'Shop', ...args, '--data', bench.dataDir],
  )
  expect(forPeople).toMatchObject({ code: 1, stdout: '' })
  expect(forPeople.stderr).toContain(words[0])
  expect(forPeople.stderr).not.toContain('{"')
}

test('a remote that cannot be reached is no project', async ({ bench }) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  const url = `http://127.0.0.1:${port}/shop.git`
  await expectRefused(bench, ['--repo', url], 'remote.unreachable', [url])
})

test('a remote that does not exist is no project', async ({ bench }) => {
  const path = bench.path('nowhere.git')
  await expectRefused(bench, ['--repo', path], 'remote.not-a-repository', [path])
})

test('an empty remote is no project', async ({ bench }) => {
  const { path } = await bench.remote({ empty: true })
  await expectRefused(bench, ['--repo', path], 'remote.empty', [path])
})

test('a branch that the remote does not have is no project', async ({ bench }) => {
  const { path } = await bench.remote()
  const args = ['--repo', path, '--branch', 'no/such-branch']
  await expectRefused(bench, args, 'branch.unknown', ['no/such-branch', path])
})

test('a remote that wants a password is refused without asking for one', async ({ bench }) => {
  const server = createServer((_request, response) => {
    response.writeHead(401, { 'www-authenticate': 'Basic realm="shop"' })
    response.end('no')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  bench.atEnd(async () => server.close())
  const { port } = server.address() as AddressInfo
  const url = `http://user:hidden-word@127.0.0.1:${port}/shop.git`
  await expectRefused(bench, ['--repo', url], 'remote.refused', [`127.0.0.1:${port}/shop.git`])
  const again = await bench.ballet(
    ...['project', 'add', '--name', 'Shop', '--repo', url, '--data', bench.dataDir, '--json'],
  )
  expect(again.stderr).not.toContain('hidden-word')
})

test('a remote that is gone when the work begins fails the session until it is back', async ({
  bench,
}) => {
  const remote = await bench.remote()
  const { client } = await bench.host()
  await addProject(client, remote.path)
  await rename(remote.path, `${remote.path}-away`)
  const { session } = await startTicket(client, { body: script(say('Done.')) })
  const failed = await waitForState(client, session.id, 'failed')
  expect(failed.reason).toContain(remote.path)
  expect(failed).toMatchObject({ agent: null, hint: expect.stringMatching(/.+/u) })
  checkTimeline(await timelineOf(client, session.id), failed)
  expect((await client.agents.list())[0]).toMatchObject({ state: 'idle' })

  await rename(`${remote.path}-away`, remote.path)
  await client.tickets.start({ ref: session.ticket })
  await waitForTurnEnd(client, session.id, 1)
  checkTimeline(
    await timelineOf(client, session.id),
    await client.sessions.show({ ref: session.id }),
  )
})

test('a remote that refuses the push keeps the work until it accepts it', async ({ bench }) => {
  const remote = await bench.remote()
  const host = await bench.host()
  const { client } = host
  await addProject(client, remote.path)
  const { session } = await startTicket(client, { body: script(write('a.txt', 'a\n'), say('A.')) })
  const { id } = session
  await waitForTurnEnd(client, id, 1)
  await remote.refusePushes('Frozen until Monday.')
  const refused = await host.cli('session', 'finish', id)
  const notice = await waitForEvent(client, id, 'notice', ({ code }) => code === 'push.rejected')
  expect(notice.text).toContain('Frozen until Monday.')
  const still = await waitForState(client, id, 'waiting')
  expect(still.reason).toContain('Frozen until Monday.')
  expect(still.hint).not.toBe('')
  if (refused.code !== 0) expect(refused.error?.message).toContain('Frozen until Monday.')
  await access(String(still.workspace))
  expect(await remote.branches()).toEqual(['main'])

  await client.sessions.send({ ref: id, text: `More. ${script(write('b.txt', 'b\n'), say('B.'))}` })
  await waitForTurnEnd(client, id, 2)
  await remote.acceptPushes()
  await host.cli('session', 'finish', id)
  const finished = await waitForState(client, id, 'finished')
  expect(await remote.readFile(finished.branch, 'a.txt')).toBe('a\n')
  expect(await remote.readFile(finished.branch, 'b.txt')).toBe('b\n')
  checkTimeline(await timelineOf(client, id), finished)
})

test('a branch of that name that somebody else made is never written', async ({ bench }) => {
  const remote = await bench.remote()
  const { client } = await bench.host()
  await addProject(client, remote.path)
  const { session } = await startTicket(client, { body: script(write('a.txt', 'a\n'), say('A.')) })
  const { id, branch } = session
  await waitForTurnEnd(client, id, 1)
  const theirs = await remote.commit(branch, 'Theirs', { 'theirs.txt': 't' })
  await client.sessions.finish({ ref: id })
  const notice = await waitForEvent(client, id, 'notice', ({ level }) => level === 'error')
  expect(notice.text).toContain(branch)
  const still = await waitForState(client, id, 'waiting')
  await access(String(still.workspace))
  expect((await remote.log(branch))[0]?.hash).toBe(theirs)
  expect(await remote.log(branch)).toHaveLength(2)
  const events = await timelineOf(client, id)
  checkTimeline(events, still)
  expect(ofKind(events, 'session.state').map(({ to }) => to)).not.toContain('finished')
})
