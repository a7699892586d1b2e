import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from '@playwright/test'
import type { Session } from '../../../src-shared/records.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { isAlive } from '../../support/process-tree.ts'
import { say, script } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { waitFor } from '../../support/wait-for.ts'
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

const DAY_MS = 24 * 60 * 60_000
/** More than an agent may be silent. */
const SLEEP_MS = 16_000

const FAKETIME = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1',
].find((file) => existsSync(file))

/** Of the project Shop, whose window is never. */
async function startWaiting(client: BalletClient): Promise<Session> {
  const { session } = await startTicket(client, { body: script(say('Tell me.')) })
  await waitForTurnEnd(client, session.id, 1)
  return client.sessions.show({ ref: session.id })
}

async function setWindow(client: BalletClient, { id }: Session, window: string): Promise<number> {
  const { parkAt } = await client.sessions.edit({ ref: id, window })
  return Date.parse(parkAt ?? '')
}

/** How long after `begun` the session began to park, in milliseconds, by the clock of this test. */
async function parksAfter(client: BalletClient, { id }: Session, begun: number): Promise<number> {
  await waitFor('it to park', async () => {
    const { state } = await client.sessions.show({ ref: id })
    return state === 'parking' || state === 'parked'
  })
  return performance.now() - begun
}

async function startHost(bench: Workbench, env: Readonly<Record<string, string>> = {}) {
  const { client } = await bench.host({ agents: 3, env })
  await addProject(client, (await bench.remote()).path, { planner: false, window: 'never' })
  const [first, second] = await Promise.all([startWaiting(client), startWaiting(client)])
  return { client, first, second }
}

test('a machine that slept parks what is due, gives a chance to what had none, and loses no agent', async ({
  bench,
}) => {
  const { client, first, second } = await startHost(bench)
  const due = await setWindow(client, first, '7s')
  await waitFor('half of the first window to have passed', () => due - Date.now() < 3_000)
  const late = await setWindow(client, second, '8s')
  const asleep = await bench.processes()
  const tell = async (signal: NodeJS.Signals) => {
    for (const each of asleep) if (await isAlive(each)) process.kill(each.pid, signal)
  }
  await tell('SIGSTOP')
  await sleep(SLEEP_MS)
  const wakes = Date.now()
  await tell('SIGCONT')
  const awake = performance.now()
  expect(wakes).toBeGreaterThan(late)

  expect(await parksAfter(client, first, awake)).toBeLessThan(5_000)
  // Each deadline is a change of its own: the second may come after the first has begun to park.
  const { state } = await waitFor('the second to have a deadline ahead', async () => {
    const seen = await client.sessions.show({ ref: second.id })
    return Date.parse(seen.parkAt ?? '') > Date.now() && seen
  })
  expect(state).toBe('waiting')
  // It was awake for a part of its window before; that counts.
  expect(await parksAfter(client, second, awake)).toBeGreaterThan(4_000)
  const parking = await waitForEvent(client, first.id, 'session.state', (e) => e.to === 'parking')
  expect(Date.parse(parking.at)).toBeGreaterThanOrEqual(wakes)
  for (const { id } of [first, second]) {
    const parked = await waitForState(client, id, 'parked')
    expect(parked.parked).toMatchObject({ why: 'window', pushed: true })
    checkTimeline(await timelineOf(client, id), parked)
  }
  expect((await client.agents.list()).map(({ restarts }) => restarts)).toEqual([0, 0, 0])
})

test('a clock that jumps forth and back by a day parks nobody early, and nobody never', async ({
  bench,
}) => {
  test.skip(FAKETIME === undefined, 'needs the Debian package libfaketime')
  const file = bench.path('clock')
  const set = (jump: '+0' | '+1d' | '-1d') => writeFile(file, `${jump}\n`)
  await set('+0')
  const { client, first, second } = await startHost(bench, {
    LD_PRELOAD: FAKETIME ?? '',
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_CACHE_DURATION: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
  })
  const third = await startWaiting(client)
  const far = await setWindow(client, third, '10m')
  const jumps = [
    { session: first, to: '+1d', ms: DAY_MS },
    { session: second, to: '-1d', ms: -DAY_MS },
  ] as const
  for (const { session, to, ms } of jumps) {
    const begun = performance.now()
    await setWindow(client, session, '5s')
    await set(to)
    const after = await parksAfter(client, session, begun)
    expect(after, `after ${to}`).toBeGreaterThan(4_500)
    // Not by the other clock, which is a day off.
    expect(after, `after ${to}`).toBeLessThan(20_000)
    // The countdown of another one is right again.
    const moved = await waitFor('the deadline by the new clock', async () => {
      const { parkAt } = await client.sessions.show({ ref: third.id })
      const by = Date.parse(parkAt ?? '') - far
      return Math.abs(by - ms) < 60_000 && by
    })
    expect(Math.abs(moved - ms)).toBeLessThan(5_000)
  }
  await set('+0')
  await client.sessions.send({ ref: first.id, text: script(say('I go on.')) })
  await waitForTurnEnd(client, first.id, 2)
  const events = await timelineOf(client, first.id)
  expect(ofKind(events, 'assistant.text').map(({ text }) => text)).toEqual(['Tell me.', 'I go on.'])
  expect((await client.agents.list()).map(({ restarts }) => restarts)).toEqual([0, 0, 0])
})
