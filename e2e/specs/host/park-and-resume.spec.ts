import { access, readdir, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { parseDuration } from '../../../src-shared/duration.ts'
import type { Session } from '../../../src-shared/records.ts'
import { ask } from '../../support/asking.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { requestsOf, seenIn, timesSaid } from '../../support/conversation.ts'
import { expectNoLeftovers } from '../../support/leftovers.ts'
import { bash, say, script, untilFile } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  addProject,
  ofKind,
  showEvents,
  startTicket,
  timelineOf,
  waitForEvent,
  waitForNothingOpen,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { type Work, workIn } from '../../support/work-in.ts'
import { test, type Workbench } from '../../support/workbench.ts'

const FILES = {
  'README.md': '# Shop\n',
  'src/cart.txt': 'a cart\n',
  'src/old name.txt': 'this one is renamed\n',
  'src/gone.txt': 'this one is deleted\n',
}

/** Leaves work of every kind, none of it committed but for one file. */
const WORK = [
  'echo committed > done.txt && git add done.txt && git commit -q -m "Half of it"',
  'echo staged > src/cart.txt && git add src/cart.txt && echo "changed again" >> src/cart.txt',
  'git mv "src/old name.txt" "src/new name.txt"',
  'rm src/gone.txt',
  'mkdir -p empty/folder',
  'printf "\\0\\1\\2" > binary.bin && : > nothing.txt',
  'echo "#!/bin/sh" > run.sh && chmod +x run.sh && ln -s run.sh link.sh',
  'echo KEY=never-on-the-remote > .env',
  'echo said-by-the-tool',
].join(' && ')

const QUESTION = { question: 'Which colour?', options: [{ label: 'Red' }, { label: 'Blue' }] }

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

/** A session that did its work, asked, and waits for the answer. */
async function startAsking(bench: Workbench, client: BalletClient): Promise<Session> {
  const steps = [bash(WORK, 'I begin.'), ask(QUESTION), say('I asked.')] as const
  const { session } = await startTicket(client, { body: `Ticket-word. ${script(...steps)}` })
  await waitForTurnEnd(client, session.id, 1)
  const results = ofKind(await timelineOf(client, session.id), 'tool.result')
  expect(results[0]?.output, 'the work is done').toContain('said-by-the-tool')
  expect(await bench.processes()).not.toEqual([])
  return client.sessions.show({ ref: session.id })
}

const folderOf = ({ workspace }: Session): string => workspace ?? 'no workspace'

/** A ticket that holds its agent until a file is there. */
async function startBusy(client: BalletClient, file: string): Promise<Session> {
  const { session } = await startTicket(client, {
    body: script(bash(untilFile(file)), say('Over.')),
  })
  await waitForEvent(client, session.id, 'tool.call')
  return client.sessions.show({ ref: session.id })
}

function stepsOf(
  events: Awaited<ReturnType<typeof timelineOf>>,
  kind: 'park.step' | 'resume.step',
) {
  return ofKind(events, kind)
    .filter(({ status }) => status !== 'started')
    .map(({ step, status }) => `${step} ${status}`)
}

/** The answered session runs again, in the same conversation and with the same work. */
async function expectSameWork(
  bench: Workbench,
  client: BalletClient,
  before: { session: Session; work: Work },
): Promise<void> {
  const { session, work } = before
  await waitForTurnEnd(client, session.id, 2)
  const after = await client.sessions.show({ ref: session.id })
  const events = await timelineOf(client, session.id)
  expect(after.conversation).toBe(session.conversation)
  expect(await workIn(folderOf(after)), showEvents(events)).toEqual(work)
  expect(stepsOf(events, 'resume.step')).toEqual([
    ...['clone done', 'restore done', 'state done', 'prove done'],
  ])
  const request = requestsOf(bench.model, session.conversation).at(-1)
  for (const part of ['I begin.', 'said-by-the-tool', 'I asked.', 'Answer: ']) {
    expect(seenIn(request), part).toContain(part)
  }
  for (const once of ['Ticket-word.', 'Answer to SHOP-', 'Question: Which colour?']) {
    expect(timesSaid(request, once), once).toBe(1)
  }
  checkTimeline(events, after)
}

test('a question outlives its agent: parked after the window, answered, resumed by another one', async ({
  bench,
}) => {
  const { client, cli } = await bench.host({ agents: 2 })
  const remote = await bench.remote({ files: FILES })
  await addProject(client, remote.path, { planner: false, window: 'never' })
  const first = await startBusy(client, bench.path('first-over'))
  const session = await startAsking(bench, client)
  expect(session.agent).not.toBe(first.agent)
  const work = await workIn(folderOf(session))
  expect(work.emptyFolders).toEqual(['empty/folder'])
  const { parkAt } = await client.sessions.edit({ ref: session.id, window: '4s' })
  expect(Date.parse(parkAt ?? '') - Date.now()).toBeLessThanOrEqual(parseDuration('4s') ?? 0)

  const parked = await waitForState(client, session.id, 'parked')
  await client.sessions.edit({ ref: session.id, window: 'never' })
  const { branches, log, listFiles } = remote
  expect(await branches()).toContain(session.branch)
  expect((await log(session.branch))[0]?.hash).toBe(parked.parked?.commit)
  expect(await listFiles(session.branch)).not.toContain('.env')
  expect(parked.parked).toMatchObject({
    ...{ why: 'window', pushed: true, wakes: false },
    aside: [{ name: '.env' }],
  })
  expect(parked.parked?.stateBytes).toBeGreaterThan(0)
  expect((await client.tickets.show({ ref: session.ticket })).status).toBe('Waiting for answer')
  await waitFor('the workspace to be gone', async () => !(await isThere(folderOf(session))))
  const events = await timelineOf(client, session.id)
  expect(stepsOf(events, 'park.step')).toEqual(
    ['settle', 'snapshot', 'push', 'state', 'store', 'free'].map((step) => `${step} done`),
  )
  checkTimeline(events, await client.sessions.show({ ref: session.id }))
  expect(await readdir(join(bench.dataDir, 'kept', session.id))).toHaveLength(2)

  // Its agent takes other work; the other one is free when the answer comes.
  const other = await startBusy(client, bench.path('other-over'))
  expect(other.agent).toBe(session.agent)
  await client.sessions.stop({ ref: first.id })
  await waitForState(client, first.id, 'parked')

  await cli('answer', 'SHOP-2-Q1', '--option', '1', script(say('Red it is.')))
  await expectSameWork(bench, client, { session, work })
  expect((await client.sessions.show({ ref: session.id })).agent).toBe(first.agent)
  await client.sessions.stop({ ref: other.id })
  await client.sessions.finish({ ref: session.id })
  await waitForState(client, session.id, 'finished')
  expect((await log(session.branch)).map(({ subject }) => subject)).not.toContain(
    'Work in progress on SHOP-2',
  )
  await waitFor('nothing kept any more', async () => {
    const kept = await readdir(join(bench.dataDir, 'kept')).catch(() => [])
    return kept.length === 0
  })
})

test('a session that nobody can push parks all the same, is pushed later, and loses nothing', async ({
  bench,
}) => {
  const { client, cli } = await bench.host()
  const remote = await bench.remote({ files: FILES })
  await addProject(client, remote.path, { planner: false, window: 'never' })
  const session = await startAsking(bench, client)
  const work = await workIn(folderOf(session))
  await remote.refusePushes('Closed for the night.')
  await client.sessions.park({ ref: session.id })
  const parked = await waitForState(client, session.id, 'parked')
  expect(parked.parked).toMatchObject({ pushed: false, why: 'person' })
  expect(parked.parked?.notPushed?.message).toContain('Closed for the night.')
  expect(await remote.branches()).not.toContain(session.branch)

  await cli('answer', 'SHOP-1-Q1', '--option', '2', script(say('Blue it is.')))
  await expectSameWork(bench, client, { session, work })
  await client.sessions.park({ ref: session.id })
  await waitForState(client, session.id, 'parked')
  await remote.acceptPushes()
  const pushed = await waitFor(
    'the push in the background',
    async () => {
      const { parked } = await client.sessions.show({ ref: session.id })
      return parked?.pushed === true && parked
    },
    { timeoutMs: 60_000 },
  )
  expect(pushed.notPushed).toBeNull()
  expect((await remote.log(session.branch))[0]?.hash).toBe(pushed.commit)
})

test('somebody else moves the branch: their commits stay, and the agent is told how they differ', async ({
  bench,
}) => {
  const { client, cli } = await bench.host()
  const remote = await bench.remote({ files: FILES })
  await addProject(client, remote.path, { planner: false, window: 'now' })
  const { session } = await startTicket(client, {
    body: `Ticket-word. ${script(bash(WORK, 'I begin.'), ask(QUESTION), say('I asked.'))}`,
  })
  await waitForState(client, session.id, 'parked')
  const theirs = await remote.commit(session.branch, 'Theirs', { 'theirs.txt': 'theirs\n' })
  await cli('answer', 'SHOP-1-Q1', '--option', '1', script(say('Red it is.')))
  await waitForTurnEnd(client, session.id, 2)
  const { conversation } = await client.sessions.show({ ref: session.id })
  const request = requestsOf(bench.model, conversation).at(-1)
  expect(seenIn(request)).toContain('theirs.txt')
  expect(seenIn(request)).toContain(`git merge origin/${session.branch}`)
  expect((await remote.log(session.branch))[0]?.hash).toBe(theirs)
})

test('killed while it parks, it is parked all the same, with the same work', async ({ bench }) => {
  const first = await bench.host()
  const remote = await bench.remote({ files: FILES })
  await addProject(first.client, remote.path, { planner: false, window: 'never' })
  const session = await startAsking(bench, first.client)
  const work = await workIn(folderOf(session))
  await first.client.sessions.park({ ref: session.id })
  await first.kill()
  const { client, cli } = await bench.host()
  await waitForState(client, session.id, 'parked')
  await waitFor('the workspace to be gone', async () => !(await isThere(folderOf(session))))
  await cli('answer', 'SHOP-1-Q1', '--option', '1', script(say('Red it is.')))
  await expectSameWork(bench, client, { session, work })
  await client.sessions.stop({ ref: session.id })
  await expectNoLeftovers(bench, client)
})

test('killed as it parks at the beginning of its first turn, it says the ticket once more', async ({
  bench,
}) => {
  const first = await bench.host()
  const remote = await bench.remote({ files: FILES })
  await addProject(first.client, remote.path, { planner: false, window: 'never' })
  const { session } = await startTicket(first.client, {
    body: `Ticket-word. ${script(bash('sleep 1'), say('Over.'))}`,
  })
  const { id } = session
  await waitForEvent(first.client, id, 'turn.started')
  await first.client.sessions.park({ ref: id })
  await first.kill()
  const { client } = await bench.host()
  const parked = await waitForState(client, id, 'parked')
  // By then its runtime may have recorded the message, or not.
  expect(parked.reason).toBe('parked by a person')
  await client.sessions.resume({ ref: id })
  const { turn } = await waitForNothingOpen(client, id)
  if (turn === 1) await client.sessions.send({ ref: id, text: script(say('Over.')) })
  await waitForTurnEnd(client, id, 2)
  const after = await client.sessions.show({ ref: id })
  const events = await timelineOf(client, id)
  checkTimeline(events, after)
  // The order to park came to an end before the kill, or did not.
  expect(ofKind(events, 'turn.ended').map(({ reason }) => reason)).toEqual([
    ...[expect.stringMatching(/^(?:killed|interrupted)$/u), 'completed'],
  ])
  expect(ofKind(events, 'assistant.text').at(-1)?.text).toBe('Over.')
  expect(timesSaid(requestsOf(bench.model, after.conversation).at(-1), 'Ticket-word.')).toBe(1)
})

test('a permission that nobody gave parks open; given later, the identical call runs without asking', async ({
  bench,
}) => {
  const { client, cli } = await bench.host()
  const remote = await bench.remote({ files: FILES })
  await addProject(client, remote.path, { permission: 'ask', window: '2s' })
  const call = bash('touch allowed.txt')
  const { session } = await startTicket(client, {
    body: `Ticket-word. ${script(call, say('Never.'))}`,
  })
  const { id } = session
  const { request } = await waitForEvent(client, id, 'request.opened')
  const parked = await waitForState(client, id, 'parked')
  expect(parked).toMatchObject({ openRequests: 1, parked: { why: 'window' } })
  await client.sessions.edit({ ref: id, window: 'never' })
  expect((await cli('inbox')).rows).toMatchObject([{ kind: 'request', id: request }])
  expect((await cli('allow', request)).code).toBe(0)
  await waitForTurnEnd(client, id, 2)
  // The model of this test makes the call again only when it is told in its own words.
  await client.sessions.send({ ref: id, text: script(call, say('It is there.')) })
  await waitForTurnEnd(client, id, 3)
  const events = await timelineOf(client, id)
  expect(ofKind(events, 'assistant.text').at(-1)?.text).toBe('It is there.')
  expect(ofKind(events, 'tool.result').map(({ status }) => status)).toEqual(['cancelled', 'ok'])
  const after = await client.sessions.show({ ref: id })
  expect(after).toMatchObject({ conversation: parked.conversation, openRequests: 0 })
  checkTimeline(events, after)
})

test('a conversation that cannot be restored is followed by a new one that knows what was', async ({
  bench,
}) => {
  const { client, cli } = await bench.host()
  const remote = await bench.remote({ files: FILES })
  await addProject(client, remote.path, { planner: false, window: 'never' })
  const session = await startAsking(bench, client)
  const work = await workIn(folderOf(session))
  await client.sessions.park({ ref: session.id })
  await waitForState(client, session.id, 'parked')
  await waitFor('the workspace to be gone', async () => !(await isThere(folderOf(session))))
  const kept = join(bench.dataDir, 'kept', session.id)
  const state = (await readdir(kept)).find((name) => name.startsWith('state-')) ?? 'none'
  await truncate(join(kept, state), 100)

  await cli('answer', 'SHOP-1-Q1', '--option', '2', script(say('Blue it is.')))
  await waitForEvent(client, session.id, 'turn.ended', ({ turn }) => turn === 2, {
    timeoutMs: 60_000,
  })
  const after = await waitForState(client, session.id, 'waiting')
  expect(after.conversation).not.toBe(session.conversation)
  const events = await timelineOf(client, session.id)
  const codes = ofKind(events, 'notice').map(({ code }) => code)
  expect(codes).toContain('conversation.anew')
  const request = requestsOf(bench.model, after.conversation).at(-1)
  for (const part of ['Ticket-word.', 'Which colour?', 'Blue']) {
    expect(seenIn(request), part).toContain(part)
  }
  expect(await workIn(folderOf(after))).toEqual(work)
  checkTimeline(events, after)
})
