import { rename } from 'node:fs/promises'
import { expect } from '@playwright/test'
import { serveOverHttp } from '../../support/http-remote.ts'
import {
  expectSameWork,
  noticesIn,
  parkNow,
  SHOP_FILES,
  startWithWork,
} from '../../support/parked-work.ts'
import { makeReadOnly } from '../../support/read-only-folder.ts'
import { addProject, timelineOf, waitForEvent } from '../../support/watch.ts'
import { test, type Workbench } from '../../support/workbench.ts'

async function startShop(bench: Workbench, repo?: string) {
  const remote = await bench.remote({ files: SHOP_FILES })
  const { client } = await bench.host()
  await addProject(client, repo ?? remote.path, { planner: false, window: 'never' })
  return { remote, client }
}

test('a remote that is gone: it parks, comes back without it, and is pushed when the remote is there', async ({
  bench,
}) => {
  const { remote, client } = await startShop(bench)
  const before = await startWithWork(client)
  const { id, branch } = before.session
  const away = `${remote.path}-away`
  await rename(remote.path, away)
  const parked = await parkNow(client, id)
  expect(parked.parked).toMatchObject({
    pushed: false,
    notPushed: { message: expect.stringContaining(remote.path) },
  })
  expect(parked.reason).toContain('not pushed yet')
  await expectSameWork(bench, client, before)

  await parkNow(client, id)
  await rename(away, remote.path)
  // By itself, half a minute after the agent tried.
  await waitForEvent(client, id, 'notice', ({ code }) => code === 'park.pushed', {
    timeoutMs: 100_000,
  })
  const pushed = await client.sessions.show({ ref: id })
  expect(pushed).toMatchObject({ state: 'parked', parked: { pushed: true, notPushed: null } })
  expect(pushed.reason).not.toContain('not pushed yet')
  expect((await remote.log(branch))[0]?.hash).toBe(pushed.parked?.commit)
  await expectSameWork(bench, client, before)
})

test('a remote that nobody may write to: it parks, and its work is kept here', async ({
  bench,
}) => {
  const { remote, client } = await startShop(bench)
  const before = await startWithWork(client)
  const end = await makeReadOnly(remote.path)
  bench.atEnd(end)
  const { parked } = await parkNow(client, before.session.id)
  expect(parked).toMatchObject({ pushed: false })
  expect(parked?.notPushed?.message).not.toBe('')
  expect(await remote.branches()).toEqual(['main'])
  await expectSameWork(bench, client, before)
})

test('a login that is refused since: it parks, and says so without the password', async ({
  bench,
}) => {
  const remote = await bench.remote({ files: SHOP_FILES })
  const http = await serveOverHttp(remote)
  bench.atEnd(async () => http.close())
  const { client } = await bench.host()
  await addProject(client, http.url, { planner: false, window: 'never' })
  const before = await startWithWork(client)
  const { id, branch } = before.session
  http.refuseLogins()
  const { parked } = await parkNow(client, id)
  expect(parked).toMatchObject({ pushed: false, notPushed: { code: 'remote.refused' } })
  await expectSameWork(bench, client, before)
  expect(JSON.stringify(await timelineOf(client, id))).not.toContain('hidden-word')
  http.acceptLogins()
  const again = await parkNow(client, id)
  expect(again.parked).toMatchObject({ pushed: true })
  expect((await remote.log(branch))[0]?.hash).toBe(again.parked?.commit)
})

test('a branch that somebody deleted: the work comes back from this machine', async ({ bench }) => {
  const { remote, client } = await startShop(bench)
  const before = await startWithWork(client)
  const { id, branch } = before.session
  await parkNow(client, id)
  expect(await remote.branches()).toContain(branch)
  await remote.deleteBranch(branch)
  await expectSameWork(bench, client, before)
  const again = await parkNow(client, id)
  expect(again.parked).toMatchObject({ pushed: true })
  expect(noticesIn(await timelineOf(client, id))).not.toContain('conversation.anew')
})
