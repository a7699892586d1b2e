import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import type { Request, Session } from '../../../src-shared/records.ts'
import type { TimelineEvent } from '../../../src-shared/timeline.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { requestsOf, seenIn, timesSaid } from '../../support/conversation.ts'
import type { HeadlessHost } from '../../support/headless-host.ts'
import { isAlive, processOf } from '../../support/process-tree.ts'
import { bash, say, script, write } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { waitFor } from '../../support/wait-for.ts'
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

const A = bash('printf a >> runs')
const B = bash('printf b >> runs')
const C = bash('printf c >> runs')

/** What was run, in order; each command leaves its letter. */
async function runs(client: BalletClient, id: string): Promise<string> {
  const { workspace } = await client.sessions.show({ ref: id })
  if (workspace === null) throw new Error('The session has no workspace.')
  return readFile(join(workspace, 'runs'), 'utf8').catch(() => '')
}

/** The open request, once there is one that is not among `known`. */
function asked(client: BalletClient, id: string, known: readonly Request[] = []): Promise<Request> {
  let seen: TimelineEvent[] = []
  return waitFor(
    'a request',
    async () => {
      seen = await timelineOf(client, id)
      const open = await client.requests.list({ session: id, state: 'open' })
      return open.find((request) => known.every((each) => each.id !== request.id))
    },
    { state: () => showEvents(seen) },
  )
}

async function startAsking(bench: Workbench, client: BalletClient, body: string): Promise<Session> {
  const remote = await bench.remote()
  await addProject(client, remote.path, { permission: 'ask' })
  const { session } = await startTicket(client, { body })
  return session
}

async function killRuntime(client: BalletClient): Promise<void> {
  // The agent tells of its runtime a moment after it is up.
  const before = await waitFor('a runtime', async () => {
    const [agent] = await client.agents.list()
    return processOf(agent?.runtimePids[0] ?? 0)
  })
  process.kill(before.pid, 'SIGKILL')
  await waitFor('its end', async () => !(await isAlive(before)))
}

const outcomes = async (client: BalletClient, id: string) =>
  ofKind(await timelineOf(client, id), 'request.closed').map(({ outcome }) => outcome)

test('an ask project asks: allowed once, allowed for the session, denied with a reason', async ({
  bench,
}) => {
  const host = await bench.host()
  const { client } = host
  const { id } = await startAsking(
    bench,
    client,
    script(A, A, B, B, write('note.txt', 'x\n'), C, say('Done.')),
  )
  const first = await asked(client, id)
  expect(first).toMatchObject({
    name: 'Bash',
    toolKind: 'execute',
    title: 'printf a >> runs',
    state: 'open',
    waits: true,
    turn: 1,
  })
  expect(await client.sessions.show({ ref: id })).toMatchObject({
    state: 'working',
    reason: 'waits for permission: printf a >> runs',
    openRequests: 1,
  })
  expect(await runs(client, id)).toBe('')
  const listed = await host.cli('requests')
  expect(listed.rows).toMatchObject([{ id: first.id, title: first.title }])
  expect((await host.cli('allow', first.id)).rows).toMatchObject([{ state: 'allowed' }])

  const second = await asked(client, id, [first])
  expect(second.title).toBe(first.title)
  expect(await runs(client, id)).toBe('a')
  await client.requests.allow({ ref: second.id })

  const third = await asked(client, id, [first, second])
  expect(third.title).toBe('printf b >> runs')
  expect((await host.cli('allow', third.id.slice(0, 8), '--session')).rows).toMatchObject([
    { state: 'allowed-for-session' },
  ])
  const edit = await asked(client, id, [first, second, third])
  expect(edit).toMatchObject({ name: 'Write', toolKind: 'edit', title: 'note.txt' })
  expect(await runs(client, id)).toBe('aabb')
  await client.requests.allow({ ref: edit.id })

  const last = await asked(client, id, [first, second, third, edit])
  expect(last.title).toBe('printf c >> runs')
  expect((await host.cli('deny', last.id, 'reason-word: use make')).rows).toMatchObject([
    { state: 'denied', author: 'person', text: 'reason-word: use make' },
  ])
  await waitForTurnEnd(client, id, 1)
  const session = await client.sessions.show({ ref: id })
  expect(seenIn(requestsOf(bench.model, session.conversation).at(-1))).toContain('reason-word')
  expect(await runs(client, id)).toBe('aabb')
  const again = await host.cli('allow', last.id)
  expect(again.code).toBe(1)
  expect(again.error).toMatchObject({
    code: 'request.closed',
    message:
      'The request “printf c >> runs” was denied already, by a person (reason-word: use make).',
  })

  await killRuntime(client)
  await client.sessions.send({ ref: id, text: script(B, say('Again.')) })
  await waitForTurnEnd(client, id, 2)
  expect(await runs(client, id)).toBe('aabbb')
  expect(await outcomes(client, id)).toEqual([
    'allowed',
    'allowed',
    'allowed-for-session',
    // By what was allowed for the session, without a person.
    'allowed-for-session',
    'allowed',
    'denied',
    'allowed-for-session',
  ])
  checkTimeline(await timelineOf(client, id), await client.sessions.show({ ref: id }))
})

const ends = ['kill -9 of the host', 'kill -9 of the runtime', 'a stop of the session'] as const

/** Takes away the runtime that waits for the answer. */
async function end(
  bench: Workbench,
  host: HeadlessHost,
  id: string,
  how: (typeof ends)[number],
): Promise<HeadlessHost> {
  if (how === 'kill -9 of the host') {
    await host.kill()
    const next = await bench.host()
    await waitForState(next.client, id, 'waiting', { timeoutMs: 60_000 })
    return next
  }
  if (how === 'kill -9 of the runtime') {
    await killRuntime(host.client)
    await waitForState(host.client, id, 'waiting')
  } else {
    await host.client.sessions.stop({ ref: id })
    await waitForState(host.client, id, 'parked')
  }
  return host
}

for (const how of ends) {
  test(`a request outlives ${how}, is then allowed, and its call runs once`, async ({ bench }) => {
    const first = await bench.host()
    const { id } = await startAsking(bench, first.client, `Ticket-word. ${script(A, say('Done.'))}`)
    const request = await asked(first.client, id)
    await waitForEvent(first.client, id, 'input.delivered')
    const { client } = await end(bench, first, id, how)
    expect(await client.requests.list({ state: 'open' })).toMatchObject([
      { id: request.id, waits: false },
    ])
    expect(await client.sessions.show({ ref: id })).toMatchObject({ openRequests: 1 })
    expect(await runs(client, id)).toBe('')

    await client.requests.allow({ ref: request.id })
    await waitForTurnEnd(client, id, 2)
    // The model of this test makes the call again only when it is told in its own words.
    await client.sessions.send({ ref: id, text: script(A, A, say('Done.')) })
    const next = await asked(client, id, [request])
    expect(await runs(client, id)).toBe('a')
    await client.requests.deny({ ref: next.id, text: 'once was enough' })
    await waitForTurnEnd(client, id, 3)
    expect(await runs(client, id)).toBe('a')
    expect(await outcomes(client, id)).toEqual(['allowed', 'allowed', 'denied'])
    const session = await client.sessions.show({ ref: id })
    const last = requestsOf(bench.model, session.conversation).at(-1)
    expect(timesSaid(last, 'Your request for Bash (printf a >> runs) was allowed')).toBe(1)
    expect(timesSaid(last, 'Ticket-word.')).toBe(1)
    checkTimeline(await timelineOf(client, id), session)
  })
}

test('a request outlives kill -9 of the host and is then denied: the model learns why', async ({
  bench,
}) => {
  const first = await bench.host()
  const { id } = await startAsking(bench, first.client, script(A, say('Done.')))
  const request = await asked(first.client, id)
  await waitForEvent(first.client, id, 'input.delivered')
  const { client } = await end(bench, first, id, 'kill -9 of the host')
  await client.requests.deny({ ref: request.id, text: 'reason-word' })
  await waitForTurnEnd(client, id, 2)
  const session = await client.sessions.show({ ref: id })
  expect(session.openRequests).toBe(0)
  expect(seenIn(requestsOf(bench.model, session.conversation).at(-1))).toContain('reason-word')
  expect(await runs(client, id)).toBe('')
  expect(await outcomes(client, id)).toEqual(['denied'])
  checkTimeline(await timelineOf(client, id), session)
})

test('an interrupt withdraws the request that is open', async ({ bench }) => {
  const host = await bench.host()
  const { client } = host
  const { id } = await startAsking(bench, client, script(A, say('Done.')))
  const request = await asked(client, id)
  await client.sessions.interrupt({ ref: id })
  await waitForTurnEnd(client, id, 1)
  expect(await client.requests.show({ ref: request.id })).toMatchObject({
    state: 'withdrawn',
    author: 'ballet',
  })
  expect(await client.requests.list({ state: 'open' })).toEqual([])
  const refused = await host.cli('allow', request.id)
  expect(refused.error).toMatchObject({
    code: 'request.closed',
    message: expect.stringContaining('was withdrawn already, by Ballet'),
  })
  expect(await runs(client, id)).toBe('')
  checkTimeline(await timelineOf(client, id), await client.sessions.show({ ref: id }))
})
