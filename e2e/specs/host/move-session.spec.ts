import {
  access,
  copyFile,
  mkdir,
  readdir,
  readFile,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import type { Session } from '../../../src-shared/records.ts'
import { ask } from '../../support/asking.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { type CommandResult, runBallet } from '../../support/command-line.ts'
import { requestsOf, seenIn, timesSaid } from '../../support/conversation.ts'
import type { HeadlessHost } from '../../support/headless-host.ts'
import { bash, say, script } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
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
import { workIn } from '../../support/work-in.ts'
import { test, type Workbench } from '../../support/workbench.ts'

const FILES = { 'README.md': '# Shop\n', 'cart.txt': 'a cart\n' }
const WORK = [
  'echo staged > cart.txt && git add cart.txt && echo "changed again" >> cart.txt',
  'mkdir -p empty/folder && printf "\\0\\1" > binary.bin',
  'echo KEY=never-on-the-remote > .env',
  'head -c 15000 /dev/urandom | base64 && echo said-by-the-tool',
].join(' && ')
const PASSPHRASE = 'correct horse battery staple'

/** One bit of it is another. */
function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt8(copy.readUInt8(copy.length - 300) ^ 1, copy.length - 300)
  return copy
}

const folderOf = ({ workspace }: Session): string => workspace ?? 'no workspace'

/** `ballet` on the data folder of a host, with a passphrase in its environment. */
function told(bench: Workbench, host: HeadlessHost, passphrase = PASSPHRASE) {
  const env = { ...bench.env, BALLET_PASSPHRASE: passphrase }
  return (...args: string[]): Promise<CommandResult> =>
    runBallet([...args, '--data', host.dataDir, '--json'], { env })
}

/** Another machine of the same person: another data folder, and a runtime that knows nothing of the first one's. */
async function secondHost(bench: Workbench): Promise<HeadlessHost> {
  const config = bench.path('claude of the other')
  await mkdir(config)
  return bench.host({
    dataDir: bench.path('elsewhere/deeper/data two'),
    env: { CLAUDE_CONFIG_DIR: config },
  })
}

async function startAsking(client: BalletClient): Promise<Session> {
  const question = { question: 'Which colour?', options: [{ label: 'Red' }, { label: 'Blue' }] }
  const steps = [bash(WORK, 'I begin.'), ask(question), say('I asked.')]
  const { session } = await startTicket(client, { body: `Ticket-word. ${script(...steps)}` })
  await waitForTurnEnd(client, session.id, 1)
  return client.sessions.show({ ref: session.id })
}

test('a session goes on in another data folder, in the same conversation and with the same work', async ({
  bench,
}) => {
  const first = await bench.host()
  const remote = await bench.remote({ files: FILES })
  await addProject(first.client, remote.path, { planner: false, window: 'never' })
  const session = await startAsking(first.client)
  const work = await workIn(folderOf(session))
  const file = bench.path('moved.ballet')
  const here = told(bench, first)

  const short = await told(bench, first, 'short')('session', 'export', session.id, '--out', file)
  expect(short).toMatchObject({ code: 2, error: { code: 'usage.value' } })
  const exported = await here('session', 'export', 'SHOP-1', '--out', file)
  expect(exported.rows, exported.stderr).toMatchObject([{ session: session.id, file }])
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await readFile(file, 'latin1')).includes('Ticket-word')).toBe(false)

  // The original takes nothing any more, and says where it went.
  const original = await first.client.sessions.show({ ref: session.id })
  expect(original).toMatchObject({ state: 'moved', openQuestions: 0, workspace: null })
  expect(original.reason).toContain(file)
  for (const words of [
    ['send', 'SHOP-1', 'More.'],
    ['answer', 'SHOP-1-Q1', '--option', '1'],
    ['ticket', 'start', 'SHOP-1'],
    ['resume', 'SHOP-1'],
    ['session', 'export', 'SHOP-1', '--out', bench.path('again.ballet')],
  ]) {
    const refused = await here(...words)
    expect(refused.code, words.join(' ')).toBe(1)
    expect(refused.error?.code, words.join(' ')).toMatch(/^(session\.moved|question\.withdrawn)$/)
  }
  checkTimeline(await timelineOf(first.client, session.id), original)

  const second = await secondHost(bench)
  const there = told(bench, second)
  const carried = bench.path('carried over.ballet')
  await copyFile(file, carried)
  expect(await there('session', 'import', carried)).toMatchObject({
    ...{ code: 1, error: { code: 'export.no-project' } },
  })
  await addProject(second.client, `file://${remote.path}`, { planner: false, window: 'never' })
  expect(await told(bench, second, 'another one')('session', 'import', carried)).toMatchObject({
    ...{ code: 1, error: { code: 'export.wrong-passphrase' } },
  })
  const imported = await there('session', 'import', carried)
  expect(imported.rows, imported.stderr).toMatchObject([
    { id: session.id, ticket: 'SHOP-1', state: 'parked', openQuestions: 1 },
  ])
  expect(await there('session', 'import', carried)).toMatchObject({
    ...{ code: 1, error: { code: 'session.exists' } },
  })
  expect(await readdir(join(second.dataDir, 'scratch'))).toEqual([])

  const answered = await there('answer', 'SHOP-1-Q1', '--option', '2', script(say('Blue it is.')))
  expect(answered.code, answered.stderr).toBe(0)
  await waitForTurnEnd(second.client, session.id, 2)
  const after = await second.client.sessions.show({ ref: session.id })
  const events = await timelineOf(second.client, session.id)
  expect(after.conversation).toBe(session.conversation)
  expect(folderOf(after)).toContain('data two')
  expect(await workIn(folderOf(after)), showEvents(events)).toEqual(work)
  const request = requestsOf(bench.model, session.conversation).at(-1)
  for (const part of ['I begin.', 'I asked.', 'Answer: Blue']) {
    expect(seenIn(request), part).toContain(part)
  }
  expect(timesSaid(request, 'Ticket-word.')).toBe(1)
  const blob = ofKind(events, 'tool.result')[0]?.outputBlob
  expect(
    (await second.client.timeline.blob({ session: session.id, blob: blob ?? '' })).text,
  ).toContain('said-by-the-tool')
  checkTimeline(events, after)
})

test('what was moved away comes back by an export from there', async ({ bench }) => {
  const first = await bench.host()
  const remote = await bench.remote({ files: FILES })
  await addProject(first.client, remote.path, { planner: false, window: 'never' })
  const session = await startAsking(first.client)
  const there = bench.path('there.ballet')
  expect((await told(bench, first)('session', 'export', 'SHOP-1', '--out', there)).code).toBe(0)
  const second = await secondHost(bench)
  await addProject(second.client, remote.path, { name: 'Other', planner: false, window: 'never' })
  const imported = await told(bench, second)('session', 'import', there)
  // The key of another project is none here.
  expect(imported.rows, imported.stderr).toMatchObject([{ ticket: 'OTHER-1' }])
  await second.cli('answer', 'OTHER-1-Q1', '--option', '1', script(say('Red it is.')))
  await waitForTurnEnd(second.client, session.id, 2)
  const work = await workIn(folderOf(await second.client.sessions.show({ ref: session.id })))

  const back = bench.path('back.ballet')
  const exported = await told(bench, second)('session', 'export', 'OTHER-1', '--out', back)
  expect(exported.code, exported.stderr).toBe(0)
  const returned = await told(bench, first)('session', 'import', back)
  expect(returned.rows, returned.stderr).toMatchObject([{ ticket: 'SHOP-1', state: 'parked' }])
  await first.client.sessions.send({ ref: 'SHOP-1', text: script(say('Home again.')) })
  await waitForTurnEnd(first.client, session.id, 3)
  const after = await first.client.sessions.show({ ref: session.id })
  expect(await workIn(folderOf(after))).toEqual(work)
  const request = requestsOf(bench.model, session.conversation).at(-1)
  expect(seenIn(request)).toContain('Red it is.')
  checkTimeline(await timelineOf(first.client, session.id), after)
})

test('a file that is damaged, newer, none, or there already is refused, and nothing is changed', async ({
  bench,
}) => {
  const host = await bench.host()
  const remote = await bench.remote({ files: FILES })
  await addProject(host.client, remote.path, { planner: false, window: 'never' })
  await startAsking(host.client)
  const ballet = told(bench, host)
  const file = bench.path('moved.ballet')
  await writeFile(file, 'mine')
  const exists = await ballet('session', 'export', 'SHOP-1', '--out', file)
  expect(exists).toMatchObject({ code: 1, error: { code: 'export.exists' } })
  expect(await readFile(file, 'utf8')).toBe('mine')
  // It was parked for the export, and is there as before.
  expect(await waitForState(host.client, 'SHOP-1', 'parked')).toMatchObject({ openQuestions: 1 })

  const good = bench.path('good.ballet')
  expect((await ballet('session', 'export', 'SHOP-1', '--out', good)).code).toBe(0)
  const bytes = await readFile(good)
  const bad = bench.path('bad.ballet')
  const expectRefused = async (code: string) => {
    expect(await ballet('session', 'import', bad), code).toMatchObject({ code: 1, error: { code } })
  }
  await expectRefused('export.not-found')
  await writeFile(bad, 'no such thing, but long enough to be looked at')
  await expectRefused('export.unknown')
  await writeFile(bad, Buffer.concat([bytes.subarray(0, 8), Buffer.from([9]), bytes.subarray(9)]))
  await expectRefused('export.newer')
  await writeFile(bad, flipped(bytes))
  await expectRefused('export.corrupt')
  await writeFile(bad, bytes)
  await truncate(bad, bytes.length - 1)
  await expectRefused('export.corrupt')
  expect(await host.client.sessions.show({ ref: 'SHOP-1' })).toMatchObject({ state: 'moved' })
  // The good one brings it back here.
  expect((await ballet('session', 'import', good)).rows).toMatchObject([{ state: 'parked' }])
})

test('a session that a person stopped, and a branch that is not pushed, move as well', async ({
  bench,
}) => {
  const first = await bench.host()
  const remote = await bench.remote({ files: FILES })
  await addProject(first.client, remote.path, { planner: false, window: 'never' })
  const session = await startAsking(first.client)
  const work = await workIn(folderOf(session))
  await remote.refusePushes('Closed.')
  await first.client.sessions.stop({ ref: session.id })
  await waitForState(first.client, session.id, 'parked')
  const file = bench.path('stopped.ballet')
  const exported = await told(bench, first)('session', 'export', 'SHOP-1', '--out', file)
  expect(exported.code, exported.stderr).toBe(0)
  expect(await remote.branches()).not.toContain(session.branch)
  const second = await secondHost(bench)
  await addProject(second.client, remote.path, { planner: false, window: 'never' })
  const imported = await told(bench, second)('session', 'import', file)
  expect(imported.rows, imported.stderr).toMatchObject([{ state: 'parked' }])
  await second.client.sessions.send({ ref: 'SHOP-1', text: script(say('On I go.')) })
  await waitForEvent(second.client, session.id, 'turn.ended', ({ turn }) => turn === 2)
  const after = await second.client.sessions.show({ ref: session.id })
  expect(await workIn(folderOf(after))).toEqual(work)
  expect(after.conversation).toBe(session.conversation)
  await access(join(first.dataDir, 'kept', session.id))
})
