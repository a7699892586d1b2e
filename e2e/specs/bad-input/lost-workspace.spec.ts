import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import type { Session } from '../../../src-shared/records.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { requestsOf, seenIn } from '../../support/conversation.ts'
import {
  expectSameWork,
  isThere,
  lookAtWork,
  noticesIn,
  parkNow,
  SHOP_FILES,
  startWithWork,
} from '../../support/parked-work.ts'
import { mountSmallDisk } from '../../support/small-disk.ts'
import { bash, say, script } from '../../support/steps.ts'
import {
  addProject,
  ofKind,
  showEvents,
  startTicket,
  timelineOf,
  waitForEvent,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { test, type Workbench } from '../../support/workbench.ts'

async function startShop(bench: Workbench) {
  const remote = await bench.remote({ files: SHOP_FILES })
  const host = await bench.host()
  await addProject(host.client, remote.path, { planner: false, window: 'never' })
  return { host, client: host.client }
}

/** A message gets an answer in the same conversation, whose model is told what became of the workspace, once. */
async function expectGoesOn(bench: Workbench, client: BalletClient, before: Session) {
  const { turn } = await client.sessions.show({ ref: before.id })
  const text = `Go-on. ${script(bash('git status --short && echo ran-there'), say('I go on.'))}`
  await client.sessions.send({ ref: before.id, text })
  await waitForTurnEnd(client, before.id, turn + 1, 90_000)
  const after = await client.sessions.show({ ref: before.id })
  const events = await timelineOf(client, before.id)
  expect(after, showEvents(events)).toMatchObject({
    ...{ state: 'waiting', conversation: before.conversation, reason: '' },
  })
  expect(ofKind(events, 'tool.result').at(-1)?.output).toContain('ran-there')
  const seen = seenIn(requestsOf(bench.model, before.conversation).at(-1))
  for (const part of ['Ticket-word.', 'I begin.', 'was not there any more']) {
    expect(seen, part).toContain(part)
  }
  expect(noticesIn(events).filter((code) => code === 'workspace.gone')).toHaveLength(1)
  return after
}

async function removeWorkspace({ workspace }: Session): Promise<void> {
  await rm(workspace ?? 'no workspace', { recursive: true })
}

test('a workspace that somebody deleted while the session waits is said to the person and to the agent', async ({
  bench,
}) => {
  const { client } = await startShop(bench)
  const { session } = await startWithWork(client)
  await removeWorkspace(session)
  const after = await expectGoesOn(bench, client, session)
  const notice = ofKind(await timelineOf(client, session.id), 'notice').find(
    ({ code }) => code === 'workspace.gone',
  )
  expect(notice).toMatchObject({ level: 'warning' })
  expect(notice?.text).toContain(String(session.workspace))
  expect(notice?.text).toContain('Nothing of the work had been pushed')
  // It parks and comes back as ever.
  await expectSameWork(bench, client, await lookAtWork(client, after.id))
})

test('deleted while the host is away, or before it parks, it is said as well, and what was pushed is there', async ({
  bench,
}) => {
  const first = await startShop(bench)
  const before = await startWithWork(first.client)
  const { id } = before.session
  await parkNow(first.client, id)
  await expectSameWork(bench, first.client, before)
  const { workspace } = await first.client.sessions.show({ ref: id })
  await first.host.kill()
  await rm(String(workspace), { recursive: true })
  const { client } = await bench.host()
  await waitForState(client, id, 'waiting', { timeoutMs: 60_000 })
  const after = await expectGoesOn(bench, client, before.session)
  expect(await isThere(join(String(after.workspace), 'done.txt'))).toBe(true)

  await removeWorkspace(after)
  await client.sessions.park({ ref: id })
  const parked = await waitForState(client, id, 'parked', { timeoutMs: 60_000 })
  const { text } = await waitForEvent(
    client,
    id,
    'notice',
    ({ code }) => code === 'workspace.gone',
    {
      from: after.lastSeq + 1,
    },
  )
  expect(text).toContain('when the session was parked')
  expect(parked).toMatchObject({ parked: { pushed: true } })
  const { turn } = parked
  await client.sessions.send({ ref: id, text: script(say('Back again.')) })
  await waitForTurnEnd(client, id, turn + 1, 90_000)
  expect(await client.sessions.show({ ref: id })).toMatchObject({
    ...{ state: 'waiting', conversation: before.session.conversation },
  })
})

test('a disk that is full while the repository is cloned says so, and with room it goes on', async ({
  bench,
}) => {
  const disk = await mountSmallDisk(bench.dataDir, 96)
  bench.atEnd(() => disk.remove())
  // Small in the mirror, large in the workspace.
  const large = 'a line that packs well\n'.repeat(2_500_000)
  const remote = await bench.remote({ files: { ...SHOP_FILES, 'large.txt': large } })
  const { client } = await bench.host()
  await addProject(client, remote.path, { planner: false, window: 'never' })
  const filler = join(bench.dataDir, 'filler')
  await writeFile(filler, Buffer.alloc(60_000_000))
  const { session } = await startTicket(client, { body: script(say('Here I am.')) })
  const failed = await waitForState(client, session.id, 'failed', { timeoutMs: 60_000 })
  expect(failed.reason).toMatch(/the disk.* is full/u)
  expect(failed.hint).toContain('Free some space')
  expect(failed).toMatchObject({ agent: null })

  await rm(filler)
  await client.tickets.start({ ref: failed.ticket })
  await waitForTurnEnd(client, session.id, 1, 60_000)
})
