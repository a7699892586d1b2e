import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import type { ParkStep, ResumeStep } from '../../../src-shared/parking.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { requestsOf, timesSaid } from '../../support/conversation.ts'
import { expectNoLeftovers } from '../../support/leftovers.ts'
import {
  expectSameWork,
  lookAtWork,
  parkNow,
  SHOP_FILES,
  startWithWork,
  stepsIn,
  waitForStep,
} from '../../support/parked-work.ts'
import { processOf } from '../../support/process-tree.ts'
import { mountSmallDisk } from '../../support/small-disk.ts'
import { say, script } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { waitFor } from '../../support/wait-for.ts'
import { addProject, ofKind, timelineOf, waitForState } from '../../support/watch.ts'
import { test, type Workbench } from '../../support/workbench.ts'

const PARK: readonly ParkStep[] = ['settle', 'snapshot', 'push', 'state', 'store', 'free']
const RESUME: readonly ResumeStep[] = ['clone', 'restore', 'state', 'prove']

async function startShop(bench: Workbench, agents = 1) {
  const remote = await bench.remote({ files: SHOP_FILES })
  const host = await bench.host({ agents })
  await addProject(host.client, remote.path, { planner: false, window: 'never' })
  return { ...host, remote }
}

/** Comes to one of the states in which nothing is under way. */
function waitForRest(client: BalletClient, id: string) {
  let seen: unknown
  return waitFor(
    'the session to rest',
    async () => {
      const session = await client.sessions.show({ ref: id })
      const { state, queuedInputs, pending } = session
      seen = session
      const rests = state === 'waiting' || state === 'parked' || state === 'failed'
      return rests && (queuedInputs === 0 || state === 'failed') && pending === undefined && session
    },
    { timeoutMs: 120_000, everyMs: 50, state: () => seen },
  )
}

/** `kill -9` of an agent. */
async function killAgent(client: BalletClient, agent: string | null): Promise<void> {
  const pid = (await client.agents.list()).find(({ id }) => id === agent)?.pid ?? null
  if (pid !== null && (await processOf(pid)) !== undefined) process.kill(pid, 'SIGKILL')
}

/** One that dies again and again is started again later and later: another one goes on at once. */
const STANDING_BY = 3

test('an answer that comes in any step of parking is delivered once, and the work is the same', async ({
  bench,
}) => {
  test.setTimeout(600_000)
  const { client } = await startShop(bench)
  const { session, work } = await startWithWork(client)
  const { id } = session
  for (const step of PARK) {
    const { lastSeq, turn } = await client.sessions.show({ ref: id })
    await client.sessions.park({ ref: id })
    await waitForStep(client, id, step, lastSeq + 1)
    await client.sessions.send({ ref: id, text: `In-${step}. ${script(say('Back again.'))}` })
    await waitFor(
      'the turn of the answer',
      async () => {
        const { turn: now, state } = await client.sessions.show({ ref: id })
        return now === turn + 1 && state === 'waiting'
      },
      { timeoutMs: 120_000, everyMs: 50 },
    )
    const after = await lookAtWork(client, id)
    expect(after.work, step).toEqual(work)
    expect(after.session.conversation).toBe(session.conversation)
    checkTimeline(await timelineOf(client, id), after.session)
  }
  const last = requestsOf(bench.model, session.conversation).at(-1)
  for (const step of PARK) expect(timesSaid(last, `In-${step}.`), step).toBe(1)
})

test('an agent that dies in any step of parking loses and leaves nothing', async ({ bench }) => {
  test.setTimeout(600_000)
  const { client } = await startShop(bench, STANDING_BY)
  const before = await startWithWork(client)
  const { id } = before.session
  for (const step of PARK) {
    const { lastSeq, agent } = await client.sessions.show({ ref: id })
    await client.sessions.park({ ref: id })
    await waitForStep(client, id, step, lastSeq + 1)
    await killAgent(client, agent)
    await waitForState(client, id, 'parked', { timeoutMs: 120_000 })
    await expectSameWork(bench, client, before)
  }
  await expectFinished(bench, client, id)
})

test('an agent that dies in any step of resuming loses and leaves nothing', async ({ bench }) => {
  test.setTimeout(600_000)
  const { client } = await startShop(bench, STANDING_BY)
  const before = await startWithWork(client)
  const { id } = before.session
  for (const step of RESUME) {
    await parkNow(client, id)
    const { lastSeq } = await client.sessions.show({ ref: id })
    await client.sessions.resume({ ref: id })
    await waitForStep(client, id, step, lastSeq + 1)
    await killAgent(client, (await client.sessions.show({ ref: id })).agent)
    await waitForState(client, id, 'waiting', { timeoutMs: 120_000 })
    await expectSameWork(bench, client, before)
  }
  await expectFinished(bench, client, id)
})

async function expectFinished(bench: Workbench, client: BalletClient, id: string): Promise<void> {
  await client.sessions.finish({ ref: id })
  await waitForState(client, id, 'finished', { timeoutMs: 60_000 })
  await expectNoLeftovers(bench, client)
}

test('a disk that is full in any step of parking or resuming keeps the work, and goes on with room', async ({
  bench,
}) => {
  test.setTimeout(900_000)
  const disk = await mountSmallDisk(bench.dataDir, 96)
  bench.atEnd(() => disk.remove())
  const { client } = await startShop(bench)
  const before = await startWithWork(client, 'head -c 2000000 /dev/urandom > noise.bin')
  const { id } = before.session
  const fillIn = async (step: ParkStep | ResumeStep, from: number) => {
    await waitForStep(client, id, step, from)
    await disk.fill()
    // What fails says so in the log of the host at most, until there is room.
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    await disk.free()
    const rests = await waitForRest(client, id)
    if (rests.state === 'failed')
      expect(rests).toMatchObject({ hint: expect.stringMatching(/.+/u) })
    return rests
  }
  for (const step of PARK) {
    const { lastSeq } = await client.sessions.show({ ref: id })
    await client.sessions.park({ ref: id })
    const rests = await fillIn(step, lastSeq + 1)
    if (rests.state === 'waiting')
      expect((await lookAtWork(client, id)).work, step).toEqual(before.work)
    await expectSameWork(bench, client, before)
  }
  for (const step of RESUME) {
    await parkNow(client, id)
    const { lastSeq } = await client.sessions.show({ ref: id })
    await client.sessions.resume({ ref: id })
    await fillIn(step, lastSeq + 1)
    await expectSameWork(bench, client, before)
  }
  // It was met: by steps that failed, or by the host, which says so when there is room again.
  const failed = stepsIn(await timelineOf(client, id)).filter((each) => each.endsWith('failed'))
  const log = await readFile(join(bench.dataDir, 'logs', 'host.log'), 'utf8')
  const told = log.split('\n').filter((line) => /disk is full|ENOSPC|SQLITE_FULL/u.test(line))
  expect(failed.length + told.length).toBeGreaterThan(0)
})

test('park and resume at the same moment from two places come to one of the two', async ({
  bench,
}) => {
  test.setTimeout(300_000)
  const { client, cli } = await startShop(bench)
  const before = await startWithWork(client)
  const { id } = before.session
  for (const first of ['park', 'resume', 'park'] as const) {
    const second = first === 'park' ? 'resume' : 'park'
    const done = await Promise.all([cli(first, id), client.sessions[second]({ ref: id })])
    expect(done[0].code, done[0].stderr).toBe(0)
    const { state } = await waitForRest(client, id)
    expect(['waiting', 'parked']).toContain(state)
    await expectSameWork(bench, client, before)
  }
  const events = await timelineOf(client, id)
  const begun = stepsIn(events).filter((each) => each.endsWith('started'))
  const ended = stepsIn(events).filter((each) => !each.endsWith('started'))
  expect(begun.length).toBe(ended.length)
  expect(ofKind(events, 'session.state').map(({ to }) => to)).not.toContain('failed')
})
