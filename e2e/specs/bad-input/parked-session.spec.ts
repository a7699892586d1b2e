import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import Sqlite from 'better-sqlite3'
import { requestsOf, seenIn } from '../../support/conversation.ts'
import {
  expectSameWork,
  lookAtWork,
  noticesIn,
  parkNow,
  SHOP_FILES,
  startWithWork,
} from '../../support/parked-work.ts'
import { bash, say, script } from '../../support/steps.ts'
import { waitFor } from '../../support/wait-for.ts'
import { addProject, timelineOf, waitForState, waitForTurnEnd } from '../../support/watch.ts'
import { test, type Workbench } from '../../support/workbench.ts'

async function startShop(bench: Workbench, files: Record<string, string> = SHOP_FILES) {
  const remote = await bench.remote({ files })
  const host = await bench.host()
  await addProject(host.client, remote.path, { planner: false, window: 'never' })
  return { host, remote, client: host.client }
}

test('with another data key nothing is brought back or thrown away, and with the right one all is there', async ({
  bench,
}) => {
  const first = await startShop(bench)
  const before = await startWithWork(first.client)
  const { id, conversation } = before.session
  await parkNow(first.client, id)
  await first.host.stop()
  const key = join(bench.dataDir, 'key')
  const right = await readFile(key, 'utf8')
  await writeFile(key, randomBytes(32).toString('base64'), { mode: 0o600 })

  const second = await bench.host()
  await second.client.sessions.resume({ ref: id })
  const failed = await waitForState(second.client, id, 'failed', { timeoutMs: 60_000 })
  expect(failed.reason).toMatch(/key/iu)
  expect(failed.hint).not.toBe('')
  expect(failed).toMatchObject({ conversation, workspace: null, parked: { pushed: true } })
  expect(noticesIn(await timelineOf(second.client, id))).not.toContain('conversation.anew')
  await second.stop()

  await writeFile(key, right, { mode: 0o600 })
  const third = await bench.host()
  await expectSameWork(bench, third.client, before)
})

test('a kept file that is damaged is named; without it the session goes on, and nothing is deleted', async ({
  bench,
}) => {
  const { client } = await startShop(bench)
  const before = await startWithWork(client)
  const { id, ticket, conversation } = before.session
  await parkNow(client, id)
  const folder = join(bench.dataDir, 'kept', id)
  const name = (await readdir(folder)).find((each) => each.startsWith('aside-')) ?? 'none'
  const file = join(folder, name)
  await truncate(file, 40)
  await client.sessions.resume({ ref: id })
  const failed = await waitForState(client, id, 'failed', { timeoutMs: 60_000 })
  expect(failed).toMatchObject({ conversation, workspace: null, parked: { damaged: true } })
  for (const part of [name, '.env']) expect(failed.reason).toContain(part)
  expect(failed.hint).toContain(`ballet resume ${ticket} --without-damaged`)
  // As often as it is tried.
  await client.sessions.resume({ ref: id })
  await waitForState(client, id, 'failed', { timeoutMs: 60_000 })

  expect(
    await bench.ballet('resume', ticket, '--without-damaged', '--data', bench.dataDir),
  ).toMatchObject({ code: 0 })
  const { turn } = await waitForState(client, id, 'waiting', { timeoutMs: 60_000 })
  expect(noticesIn(await timelineOf(client, id))).toContain('resume.without')
  const list = script(bash('cat src/cart.txt && ls -a'), say('I see.'))
  await client.sessions.send({ ref: id, text: `What-is-there. ${list}` })
  await waitForTurnEnd(client, id, turn + 1, 90_000)
  const seen = seenIn(requestsOf(bench.model, conversation).at(-1))
  for (const part of ['Ticket-word.', 'without kept files that are damaged', 'changed again']) {
    expect(seen, part).toContain(part)
  }
  const { workspace } = await client.sessions.show({ ref: id })
  expect(await readdir(String(workspace))).not.toContain('.env')
  // It parks and comes back as ever, and the file is still where it was.
  const now = await lookAtWork(client, id)
  await parkNow(client, id)
  await expectSameWork(bench, client, now)
  expect(await readdir(folder)).toContain(name)
})

test('a state that another version of the runtime wrote is tried, and said', async ({ bench }) => {
  const first = await startShop(bench)
  const before = await startWithWork(first.client)
  const { id } = before.session
  await parkNow(first.client, id)
  await first.host.stop()
  const db = new Sqlite(join(bench.dataDir, 'ballet.sqlite'))
  db.prepare(
    `UPDATE session SET parked = json_set(parked, '$.work.state.runtimeVersion', '99.0.0')`,
  ).run()
  db.close()
  const { client } = await bench.host()
  expect((await client.sessions.show({ ref: id })).parked?.runtimeVersion).toBe('99.0.0')
  await expectSameWork(bench, client, before)
  expect(noticesIn(await timelineOf(client, id))).toContain('resume.version')
})

test('a workspace that somebody deleted is said, and what was pushed before comes back', async ({
  bench,
}) => {
  const { client } = await startShop(bench)
  const before = await startWithWork(client)
  const { id } = before.session
  // Pushed once, and back again.
  await parkNow(client, id)
  await expectSameWork(bench, client, before)
  const { workspace } = await client.sessions.show({ ref: id })
  await rm(String(workspace), { recursive: true })
  await client.sessions.park({ ref: id })
  const rests = await waitFor('it to be parked or refused', async () => {
    const session = await client.sessions.show({ ref: id })
    return (session.state === 'parked' || session.state === 'waiting') && session
  })
  const { turn } = rests
  await client.sessions.send({ ref: id, text: `Still-there. ${script(say('I am back.'))}` })
  await waitForTurnEnd(client, id, turn + 1, 90_000)
  await waitForState(client, id, 'waiting', { timeoutMs: 60_000 })
  await expectSameWork(bench, client, before)
})

test('a repository of 20,000 files parks and comes back', async ({ bench }) => {
  test.setTimeout(600_000)
  const files = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, index) => [
      `d${index % 100}/e${index % 7}/f${index}.txt`,
      `file ${index}\n`,
    ]),
  )
  const { client } = await startShop(bench, { ...SHOP_FILES, ...files })
  const before = await startWithWork(
    client,
    'rm -r d1 && for f in d2/*/*.txt; do echo changed >> "$f"; done',
  )
  const begun = performance.now()
  const { parked } = await parkNow(client, before.session.id)
  console.log(`20,000 files: parked in ${Math.round(performance.now() - begun)} ms`)
  expect(parked).toMatchObject({ pushed: true })
  await expectSameWork(bench, client, before)
})

test('a file of 300 MB is kept beside the branch, and one that the remote has is no burden', async ({
  bench,
}) => {
  test.setTimeout(600_000)
  const copyOf = bench.path('with-large')
  await mkdir(join(copyOf, 'src'), { recursive: true })
  for (const [name, text] of Object.entries(SHOP_FILES)) await writeFile(join(copyOf, name), text)
  await writeFile(join(copyOf, 'large.bin'), '')
  await truncate(join(copyOf, 'large.bin'), 300_000_000)
  const remote = await bench.remote({ copyOf })
  const { client } = await bench.host()
  await addProject(client, remote.path, { planner: false, window: 'never' })
  const before = await startWithWork(client, 'truncate -s 300000000 own.bin && echo end >> own.bin')
  const { parked } = await parkNow(client, before.session.id)
  expect(parked).toMatchObject({ pushed: true })
  expect(parked?.aside.map(({ name }) => name)).toContain('own.bin')
  expect(await remote.listFiles(before.session.branch)).not.toContain('own.bin')
  await expectSameWork(bench, client, before)
})
