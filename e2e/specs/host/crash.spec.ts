import { expect } from '@playwright/test'
import type { TimelineEvent } from '../../../src-shared/timeline.ts'
import { requestsOf, seenIn, timesSaid } from '../../support/conversation.ts'
import { killed, victims } from '../../support/crash.ts'
import type { HeadlessHost } from '../../support/headless-host.ts'
import { expectNoLeftovers } from '../../support/leftovers.ts'
import { isAlive } from '../../support/process-tree.ts'
import { bash, say, script } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  addProject,
  ofKind,
  startTicket,
  timelineOf,
  waitForDelivered,
  waitForLiveText,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { test, type Workbench } from '../../support/workbench.ts'

const LONG_TEXT = Array.from({ length: 300 }, (_, index) => `word${index}`).join(' ')

for (const victim of victims) {
  test(`kill -9 of ${victim} in the middle of a tool loses and doubles nothing`, async ({
    bench,
  }) => {
    const first = await bench.host()
    const remote = await bench.remote()
    await addProject(first.client, remote.path)
    const { session } = await startTicket(first.client, {
      body: `Ticket-word. ${script(bash('echo first-output', 'I begin.'), bash('sleep 305'), say('Never.'))}`,
    })
    const { id } = session
    const sleeping = await bench.process('sleep 305')
    await waitFor(
      'the second call in the timeline',
      async () => ofKind(await timelineOf(first.client, id), 'tool.call').length === 2,
    )
    await waitForDelivered(first.client, id, 1)
    const before = await timelineOf(first.client, id)
    const { conversation } = await first.client.sessions.show({ ref: id })

    const { client } = await killed(bench, first, victim)
    await waitFor('the tool to be gone', async () => !(await isAlive(sleeping)))
    const cut = await waitForState(client, id, 'waiting')
    expect(cut.reason).not.toBe('')
    expect(cut.conversation).toBe(conversation)
    const afterCut = await timelineOf(client, id)
    checkTimeline(afterCut, cut)
    expect(afterCut.slice(0, before.length)).toEqual(before)
    expect(ofKind(afterCut, 'turn.ended')).toMatchObject([{ turn: 1, reason: 'killed' }])
    expect(ofKind(afterCut, 'tool.result')).toMatchObject([
      { status: 'ok', output: expect.stringContaining('first-output') },
      { status: 'unknown' },
    ])

    await client.sessions.send({ ref: id, text: `Next-word. ${script(say('I go on.'))}` })
    await waitForTurnEnd(client, id, 2)
    await checkTheEnd(bench, client, id, before)
    const last = requestsOf(bench.model, conversation).at(-1)
    for (const part of ['I begin.', 'first-output', 'sleep 305'])
      expect(seenIn(last)).toContain(part)
    expect(seenIn(last).split('first-output').length - 1).toBeGreaterThanOrEqual(1)
    expect(ofKind(await timelineOf(client, id), 'tool.call')).toHaveLength(2)
  })

  test(`kill -9 of ${victim} in the middle of a stream loses and doubles nothing`, async ({
    bench,
  }) => {
    const first = await bench.host()
    const remote = await bench.remote()
    await addProject(first.client, remote.path)
    const { session } = await startTicket(first.client, {
      body: `Ticket-word. ${script(bash('echo first-output', 'I begin.'), { text: LONG_TEXT, chunks: 30, gate: 'never' })}`,
    })
    const { id } = session
    await waitForLiveText(first.client, id, 'word0')
    await waitForDelivered(first.client, id, 1)
    const before = await timelineOf(first.client, id)

    const { client } = await killed(bench, first, victim)
    const cut = await waitForState(client, id, 'waiting')
    expect(cut.reason).not.toBe('')
    const afterCut = await timelineOf(client, id)
    checkTimeline(afterCut, cut)
    expect(afterCut.slice(0, before.length)).toEqual(before)
    expect(ofKind(afterCut, 'turn.ended')).toMatchObject([{ turn: 1, reason: 'killed' }])
    const [said, ...streamed] = ofKind(afterCut, 'assistant.text')
    expect(said?.text).toBe('I begin.')
    // What the host alone held of the stream in memory may go with it; what was kept is kept once.
    expect(streamed.length).toBeLessThanOrEqual(1)
    if (victim !== 'the host') expect(streamed).toHaveLength(1)
    for (const block of streamed) {
      expect(block.partial).toBe(true)
      expect(block.text).not.toBe('')
      expect(LONG_TEXT.startsWith(block.text)).toBe(true)
    }

    await client.sessions.send({ ref: id, text: `Next-word. ${script(say('I go on.'))}` })
    await waitForTurnEnd(client, id, 2)
    await checkTheEnd(bench, client, id, before)
  })
}

/** After the next turn: the same conversation, everything told once, and nothing left at the end. */
async function checkTheEnd(
  bench: Workbench,
  client: HeadlessHost['client'],
  id: string,
  before: readonly TimelineEvent[],
  turns = 2,
): Promise<void> {
  const session = await client.sessions.show({ ref: id })
  const events = await timelineOf(client, id)
  checkTimeline(events, session)
  expect(events.slice(0, before.length)).toEqual(before)
  expect(ofKind(events, 'assistant.text').at(-1)).toMatchObject({ turn: turns, text: 'I go on.' })
  const delivered = ofKind(events, 'input.delivered').map(({ input }) => input)
  expect(delivered).toHaveLength(turns)

  const last = requestsOf(bench.model, session.conversation).at(-1)
  expect(timesSaid(last, 'Ticket-word.')).toBe(1)
  expect(timesSaid(last, 'Next-word.')).toBe(1)
  // One conversation, and no other was ever begun.
  const conversations = bench.model
    .requestsFor(({ step }) => step !== undefined && step.script !== 'no-tools')
    .map((request) => request.session)
  expect(new Set(conversations)).toEqual(new Set([session.conversation]))

  await client.sessions.finish({ ref: id })
  const finished = await waitForState(client, id, 'finished')
  checkTimeline(await timelineOf(client, id), finished)
  await expectNoLeftovers(bench, client)
}

test('a message that was queued when the host was killed is delivered once after the restart', async ({
  bench,
}) => {
  const first = await bench.host()
  const remote = await bench.remote()
  await addProject(first.client, remote.path)
  const { session } = await startTicket(first.client, {
    body: `Ticket-word. ${script(bash('sleep 306'), say('Never.'))}`,
  })
  await bench.process('sleep 306')
  await waitForDelivered(first.client, session.id, 1)
  const queued = await first.client.sessions.send({ ref: session.id, text: 'queued-word' })
  await first.kill()
  const { client } = await bench.host()
  await waitForTurnEnd(client, session.id, 2)
  const after = await client.sessions.show({ ref: session.id })
  const events = await timelineOf(client, session.id)
  checkTimeline(events, after)
  expect(ofKind(events, 'turn.started')[1]?.inputs).toEqual([queued.id])
  const last = requestsOf(bench.model, after.conversation).at(-1)
  expect(timesSaid(last, 'queued-word')).toBe(1)
  expect(timesSaid(last, 'Ticket-word.')).toBe(1)
})

test('an orderly stop of the host takes a running session along, and the next start goes on', async ({
  bench,
}) => {
  const first = await bench.host()
  const remote = await bench.remote()
  await addProject(first.client, remote.path)
  const { session } = await startTicket(first.client, {
    body: `Ticket-word. ${script(bash('sleep 307'), say('Never.'))}`,
  })
  await bench.process('sleep 307')
  await waitForDelivered(first.client, session.id, 1)
  await first.client.settings.edit({ drainGraceSeconds: 1 })
  const before = await timelineOf(first.client, session.id)
  expect(await first.stop()).toBe(0)
  expect(await bench.processes()).toEqual([])

  // It was parked in the middle of its turn, and goes on without a word.
  const { client } = await bench.host()
  await waitForTurnEnd(client, session.id, 2)
  await client.sessions.send({ ref: session.id, text: `Next-word. ${script(say('I go on.'))}` })
  await waitForTurnEnd(client, session.id, 3)
  await checkTheEnd(bench, client, session.id, before, 3)
})

test('an agent that dies again and again is started with growing pauses, and says so', async ({
  bench,
}) => {
  const host = await bench.host({ agents: 2 })
  const pids = new Set<number>()
  for (let death = 0; death < 2; death += 1) {
    const pid = await waitFor(
      'agent-1',
      async () => {
        const agent = (await host.client.agents.list()).find(({ id }) => id === 'agent-1')
        return agent?.state === 'idle' && agent.pid !== null && !pids.has(agent.pid) && agent.pid
      },
      { timeoutMs: 20_000 },
    )
    pids.add(pid)
    process.kill(pid, 'SIGKILL')
  }
  const back = await waitFor(
    'it to be back',
    async () => {
      const agent = (await host.client.agents.list()).find(({ id }) => id === 'agent-1')
      return agent?.state === 'idle' && agent.pid !== null && !pids.has(agent.pid) && agent
    },
    { timeoutMs: 20_000 },
  )
  expect(back.restarts).toBe(2)
  const other = (await host.client.agents.list()).find(({ id }) => id === 'agent-2')
  expect(other).toMatchObject({ state: 'idle', restarts: 0 })
})
