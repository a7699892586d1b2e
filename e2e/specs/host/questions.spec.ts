import { expect } from '@playwright/test'
import type { Session } from '../../../src-shared/records.ts'
import { ask, assume, balletTool, complete } from '../../support/asking.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { BALLET_PROGRAM } from '../../support/command-line.ts'
import { requestsOf, seenIn, timesSaid } from '../../support/conversation.ts'
import { jsonLines, startProgram } from '../../support/program.ts'
import { bash, say, script } from '../../support/steps.ts'
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

const DATABASE = {
  question: 'Which database?',
  context: 'The cart must survive a reload.',
  options: [
    { label: 'SQLite', detail: 'no server', recommended: true },
    { label: 'Postgres', detail: 'a server' },
  ],
}

/** A session whose questions go to the person at once, and that has ended its first turn. */
async function startAsking(
  bench: Workbench,
  client: BalletClient,
  ...steps: Parameters<typeof script>
): Promise<Session> {
  const remote = await bench.remote()
  await addProject(client, remote.path, { planner: false })
  const { session } = await startTicket(client, { body: `Ticket-word. ${script(...steps)}` })
  await waitForTurnEnd(client, session.id, 1)
  return client.sessions.show({ ref: session.id })
}

const lastRequest = (bench: Workbench, { conversation }: Session) =>
  requestsOf(bench.model, conversation).at(-1)

async function expectGood(client: BalletClient, ref: string): Promise<void> {
  const session = await client.sessions.show({ ref })
  checkTimeline(await timelineOf(client, session.id), session)
}

test('a question is recorded at once, ends the turn, and its answer continues the conversation', async ({
  bench,
}) => {
  const host = await bench.host()
  const { client, cli } = host
  const again = { ...DATABASE, question: '  Which\n database? ' }
  const steps = [ask(DATABASE), ask(again), bash('true'), ask(again), say('I asked.')] as const
  const before = await startAsking(bench, client, ...steps)
  expect(before).toMatchObject({ state: 'waiting', openQuestions: 1, turn: 1 })
  const events = await timelineOf(client, before.id)
  const [call] = ofKind(events, 'tool.call')
  expect(call).toMatchObject({ name: balletTool('ask_question'), toolKind: 'mcp' })
  const results = ofKind(events, 'tool.result')
  const [shell, ...calls] = [results[2], results[0], results[1], results[3]]
  expect(calls[0]).toMatchObject({ callId: call?.callId })
  for (const result of calls) {
    expect(result?.status).toBe('ok')
    expect(result?.output).toMatch(/SHOP-1-Q1.*[Ee]nd your turn/su)
  }
  // Under 100 ms; where the machine is busy with something else, no longer than a shell that does nothing.
  const took = calls.map((result) => result?.durationMs ?? Number.POSITIVE_INFINITY)
  const limit = Math.max(100, shell?.durationMs ?? 0)
  expect(Math.min(...took), `${took} against ${limit}`).toBeLessThan(limit)
  expect(ofKind(events, 'question.asked')).toMatchObject([
    { key: 'SHOP-1-Q1', text: DATABASE.question, multiple: false, urgency: 'normal', turn: 1 },
  ])
  expect(ofKind(events, 'question.planned')).toMatchObject([
    { outcome: 'off', reason: expect.stringMatching(/\S/u) },
  ])

  const [question] = (await cli('question', 'show', 'SHOP-1-Q1')).rows
  expect(question).toMatchObject({
    key: 'SHOP-1-Q1',
    session: before.id,
    ticket: 'SHOP-1',
    question: DATABASE.question,
    context: DATABASE.context,
    options: [{ label: 'SQLite', recommended: true }, { label: 'Postgres' }],
    state: 'open',
    heldBy: 'person',
    answer: null,
  })
  const inbox = await cli('inbox')
  expect(inbox.rows).toMatchObject([
    {
      kind: 'question',
      id: question?.id,
      session: before.id,
      ticket: 'SHOP-1',
      text: DATABASE.question,
      since: question?.reachedPersonAt,
    },
  ])
  expect(inbox.rows[0]).toHaveProperty('parkAt')

  const answered = await cli(
    'answer',
    'SHOP-1-Q1',
    '--option',
    '1',
    `for now ${script(say('Good.'))}`,
  )
  expect(answered.rows).toMatchObject([
    {
      state: 'answered',
      answer: { text: expect.stringContaining('SQLite'), options: [1], author: 'person' },
    },
  ])
  await waitForTurnEnd(client, before.id, 2)
  const after = await client.sessions.show({ ref: before.id })
  expect(after).toMatchObject({ conversation: before.conversation, openQuestions: 0 })
  const request = lastRequest(bench, after)
  for (const line of [
    'Answer to SHOP-1-Q1',
    'Question: Which database?',
    'Answered by: a person',
    'Ticket-word.',
  ]) {
    expect(timesSaid(request, line), line).toBe(1)
  }
  expect(seenIn(request)).toMatch(/Answer: .*SQLite.*for now/su)
  expect(ofKind(await timelineOf(client, before.id), 'input.delivered').at(-1)).toMatchObject({
    inputKind: 'answer',
    author: 'person',
  })

  const late = await cli('answer', 'SHOP-1-Q1', 'Postgres')
  expect(late).toMatchObject({
    code: 1,
    error: { code: 'question.answered', message: expect.stringContaining('a person') },
  })
  // A turn that asked nothing and completed nothing: it waits for a word.
  expect((await cli('inbox')).rows).toMatchObject([{ kind: 'waiting', id: before.id }])
  await expectGood(client, before.id)
})

test('of two answers at the same moment the first counts, and the second is told whose it was', async ({
  bench,
}) => {
  const { client } = await bench.host()
  const { id } = await startAsking(bench, client, ask(DATABASE), say('I asked.'))
  const given = ['first-word', 'second-word'].map((text) =>
    client.questions.answer({ ref: 'SHOP-1-Q1', text: `${text} ${script(say('Good.'))}` }),
  )
  const ends = await Promise.allSettled(given)
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const lost = ends.find((end) => end.status === 'rejected')
  expect(lost?.reason.data).toMatchObject({
    code: 'question.answered',
    message: expect.stringContaining('a person'),
  })
  await waitForTurnEnd(client, id, 2)
  const session = await client.sessions.show({ ref: id })
  const request = lastRequest(bench, session)
  expect(timesSaid(request, 'first-word') + timesSaid(request, 'second-word')).toBe(1)
  expect(session.turn).toBe(2)
  await expectGood(client, id)
})

test('the answers of one turn are delivered together, or when the person says so', async ({
  bench,
}) => {
  const { client, cli } = await bench.host()
  const two = [{ question: 'One?' }, { question: 'Two?' }]
  const { id } = await startAsking(bench, client, ask(...two), say('I asked.'))
  await cli('answer', 'SHOP-1-Q1', 'answer-one')
  expect(await client.questions.show({ ref: 'SHOP-1-Q1' })).toMatchObject({
    state: 'answered',
    input: null,
  })
  expect(await client.sessions.show({ ref: id })).toMatchObject({ state: 'waiting', turn: 1 })
  expect(await client.sessions.inputs({ ref: id })).toHaveLength(1)

  const more = script(ask({ question: 'Three?' }, { question: 'Four?' }), say('Asked more.'))
  await cli('decline', 'SHOP-1-Q2', `word-two ${more}`)
  await waitForTurnEnd(client, id, 2)
  const [first, second] = await client.questions.list({ session: id })
  expect(second?.answer).toMatchObject({ declined: true, author: 'person' })
  expect(first?.input).not.toBeNull()
  expect(second?.input).toBe(first?.input)
  const told = seenIn(lastRequest(bench, await client.sessions.show({ ref: id })))
  expect(told).toMatch(/Answer to SHOP-1-Q1.*answer-one.*Answer to SHOP-1-Q2.*Decide yourself/su)

  await cli('answer', 'SHOP-1-Q3', `answer-three ${script(say('Three.'))}`, '--send-now')
  await waitForTurnEnd(client, id, 3)
  expect(await client.questions.show({ ref: 'SHOP-1-Q4' })).toMatchObject({ state: 'open' })
  await cli('answer', 'SHOP-1-Q4', `answer-four ${script(say('Four.'))}`)
  await waitForTurnEnd(client, id, 4)
  const request = lastRequest(bench, await client.sessions.show({ ref: id }))
  for (const text of ['answer-one', 'word-two', 'answer-three', 'answer-four']) {
    expect(timesSaid(request, text), text).toBe(1)
  }
  await expectGood(client, id)
})

test('fifty questions in one turn: each is a row, an identical one is not asked twice', async ({
  bench,
}) => {
  const { client } = await bench.host()
  const fifty = Array.from({ length: 50 }, (_, at) => ({ question: `Question ${at + 1}?` }))
  const { id } = await startAsking(
    bench,
    client,
    ask(...fifty),
    ask({ question: '  Question \n 1? ' }),
    say('I asked.'),
  )
  const questions = await client.questions.list({ session: id })
  expect(questions.map(({ key }) => key)).toEqual(fifty.map((_, at) => `SHOP-1-Q${at + 1}`))
  expect(new Set(questions.map(({ question }) => question)).size).toBe(50)
  const events = await timelineOf(client, id)
  const results = ofKind(events, 'tool.result')
  expect(results.filter(({ status }) => status === 'ok')).toHaveLength(51)
  const key = questions.find(({ question }) => question === 'Question 1?')?.key
  expect(results.at(-1)?.output).toContain(`${key}`)
  expect(await client.inbox.list({ kind: 'question' })).toHaveLength(50)

  const last = questions.at(-1)?.id
  for (const { id: ref } of questions) {
    const text = ref === last ? `Go. ${script(say('Good.'))}` : 'Go.'
    await client.questions.decline({ ref, text })
  }
  await waitForTurnEnd(client, id, 2)
  const request = lastRequest(bench, await client.sessions.show({ ref: id }))
  expect(timesSaid(request, 'Answer to SHOP-1-Q')).toBe(50)
  expect(await client.inbox.list({ kind: 'question' })).toEqual([])
  await expectGood(client, id)
})

test('an answer reaches the same conversation after kill -9 of the host', async ({ bench }) => {
  const first = await bench.host()
  const { id, conversation } = await startAsking(bench, first.client, ask(DATABASE), say('Asked.'))
  const [before] = await first.client.questions.list({ session: id })
  await first.kill()
  const { client, cli } = await bench.host()
  expect(await client.questions.list({ session: id })).toEqual([before])
  expect((await cli('inbox', '--kind', 'question')).rows).toMatchObject([{ id: before?.id }])
  // At once: whether the session is back already does not matter.
  await cli('answer', 'SHOP-1-Q1', '--option', '2', script(say('Good.')))
  await waitForTurnEnd(client, id, 2, 60_000)
  const session = await client.sessions.show({ ref: id })
  expect(session.conversation).toBe(conversation)
  const request = lastRequest(bench, session)
  expect(timesSaid(request, 'Answer to SHOP-1-Q1')).toBe(1)
  expect(timesSaid(request, 'Ticket-word.')).toBe(1)
  await expectGood(client, id)
})

test('a stopped session keeps its question; the answer brings it back, or waits there', async ({
  bench,
}) => {
  const { client, cli } = await bench.host()
  const asks = [ask(DATABASE), say('I asked.')] as const
  const { id, conversation } = await startAsking(bench, client, ...asks)
  await cli('session', 'stop', id)
  expect(await client.sessions.show({ ref: id })).toMatchObject({ state: 'parked', agent: null })
  expect((await cli('inbox')).rows).toMatchObject([{ kind: 'question', session: id }])
  await cli('answer', 'SHOP-1-Q1', '--option', '1', script(...asks))
  await waitForTurnEnd(client, id, 2, 60_000)
  const session = await client.sessions.show({ ref: id })
  expect(session.conversation).toBe(conversation)
  expect(timesSaid(lastRequest(bench, session), 'Answer to SHOP-1-Q1')).toBe(1)

  await cli('session', 'stop', id)
  await cli('answer', 'SHOP-1-Q2', `answer-two ${script(say('Good.'))}`, '--no-resume')
  expect(await client.sessions.show({ ref: id })).toMatchObject({ state: 'parked' })
  await cli('ticket', 'start', 'SHOP-1')
  await waitForTurnEnd(client, id, 3, 60_000)
  const last = await client.sessions.show({ ref: id })
  expect(last.conversation).toBe(conversation)
  expect(timesSaid(lastRequest(bench, last), 'answer-two')).toBe(1)
  await expectGood(client, id)
})

test('finishing withdraws what is open, and a late answer is refused with the reason', async ({
  bench,
}) => {
  const { client, cli } = await bench.host()
  const { id } = await startAsking(bench, client, ask(DATABASE), say('I asked.'))
  expect((await cli('session', 'finish', id)).code).toBe(0)
  expect(await client.questions.show({ ref: 'SHOP-1-Q1' })).toMatchObject({ state: 'withdrawn' })
  const [withdrawn] = ofKind(await timelineOf(client, id), 'question.withdrawn')
  expect(withdrawn).toMatchObject({ key: 'SHOP-1-Q1', reason: expect.stringMatching(/\S/u) })
  expect((await cli('inbox')).rows).toEqual([])
  expect(await cli('answer', 'SHOP-1-Q1', 'late')).toMatchObject({
    code: 1,
    error: {
      code: 'question.withdrawn',
      message: expect.stringContaining('SHOP-1-Q1'),
      hint: expect.stringMatching(/\S/u),
    },
  })
  await expectGood(client, id)
})

test('an agent completes its stage: done is finished and pushed', async ({ bench }) => {
  const remote = await bench.remote()
  const { client } = await bench.host()
  await addProject(client, remote.path, { planner: false })
  const write = { tool: 'Write', input: { file_path: '{{cwd}}/new.txt', content: 'new\n' } }
  const { session } = await startTicket(client, {
    body: script(write, complete('done', 'All is there.'), say('Done.')),
  })
  const { branch } = await waitForState(client, session.id, 'finished', { timeoutMs: 60_000 })
  expect(await client.tickets.show({ ref: 'SHOP-1' })).toMatchObject({ status: 'Done' })
  expect(await remote.readFile(branch, 'new.txt')).toBe('new\n')
  expect(ofKind(await timelineOf(client, session.id), 'stage.completed')).toMatchObject([
    { outcome: 'done', summary: 'All is there.' },
  ])
  expect(await client.inbox.list({})).toEqual([])
  await expectGood(client, session.id)
})

test('an agent completes its stage: needs review frees the agent and keeps the conversation', async ({
  bench,
}) => {
  const { client } = await bench.host()
  const remote = await bench.remote()
  await addProject(client, remote.path, { planner: false })
  const { session } = await startTicket(client, {
    body: script(complete('needs_review', 'Look at it.'), say('Done.')),
  })
  const parked = await waitForState(client, session.id, 'parked', { timeoutMs: 60_000 })
  expect(parked).toMatchObject({ outcome: 'needs_review', agent: null })
  expect(await client.tickets.show({ ref: 'SHOP-1' })).toMatchObject({ status: 'Review' })
  await client.sessions.send({ ref: session.id, text: `Go on. ${script(say('Good.'))}` })
  await waitForTurnEnd(client, session.id, 2, 60_000)
  expect(await client.sessions.show({ ref: session.id })).toMatchObject({
    outcome: null,
    conversation: parked.conversation,
  })
  expect(await client.tickets.show({ ref: 'SHOP-1' })).toMatchObject({ status: 'In progress' })
  await expectGood(client, session.id)
})

test('an agent completes its stage: failed waits for a person, with what it said', async ({
  bench,
}) => {
  const { client, cli } = await bench.host()
  const steps = [complete('failed', 'The library is gone.'), say('I cannot.')] as const
  const { id } = await startAsking(bench, client, ...steps)
  expect(await client.sessions.show({ ref: id })).toMatchObject({
    state: 'waiting',
    outcome: 'failed',
  })
  expect((await cli('inbox')).rows).toMatchObject([
    { kind: 'failed', id, text: expect.stringContaining('The library is gone.') },
  ])
  expect(await client.tickets.show({ ref: 'SHOP-1' })).toMatchObject({ status: 'In progress' })
  await expectGood(client, id)
})

test('assumptions are looked over; a correction reaches the session, or becomes a ticket', async ({
  bench,
}) => {
  const { client, cli } = await bench.host()
  const [names, prices, colour] = [
    { assumption: 'Names are unique.', reason: 'The schema says so.' },
    { assumption: 'Prices are in euro.', reason: 'The tests say so.', alternatives: ['dollars'] },
    { assumption: 'The button is blue.', reason: 'The others are.', reversible_by: 'one line' },
  ] as const
  const { id } = await startAsking(
    bench,
    client,
    assume(names, { ...prices, alternatives: [...prices.alternatives] }, colour),
    { tool: balletTool('report_progress'), input: { summary: 'Half', done: 1, total: 2 } },
    say('Done.'),
  )
  expect(await client.sessions.show({ ref: id })).toMatchObject({
    progress: { summary: 'Half', done: 1, total: 2 },
  })
  const { rows } = await cli('assumptions', '--ticket', 'SHOP-1')
  expect(rows).toMatchObject([names, prices, { assumption: colour.assumption }])
  const [first, second, third] = rows.map((row) => String(row.id))
  const kinds = (await cli('inbox')).rows.map(({ kind }) => kind)
  expect(kinds).toEqual(['waiting', 'assumption', 'assumption', 'assumption'])

  expect((await cli('confirm', `${first}`)).rows).toMatchObject([{ state: 'confirmed' }])
  const dollars = `In dollars. ${script(say('Good.'))}`
  expect((await cli('overturn', `${second}`, dollars)).rows).toMatchObject([
    { state: 'overturned', newTicket: null },
  ])
  await waitForTurnEnd(client, id, 2)
  const told = seenIn(lastRequest(bench, await client.sessions.show({ ref: id })))
  expect(told).toContain(prices.assumption)
  expect(told).toContain('In dollars.')
  expect((await cli('overturn', `${second}`, 'In pounds.')).code).toBe(1)

  await cli('session', 'finish', id)
  const late = await cli('overturn', `${third}`, 'The button is green.')
  expect(late).toMatchObject({ code: 1, error: { code: 'session.over' } })
  const made = await cli('overturn', `${third}`, 'The button is green.', '--new-ticket')
  expect(made.rows).toMatchObject([{ state: 'overturned', newTicket: { key: 'SHOP-2' } }])
  const ticket = await client.tickets.show({ ref: 'SHOP-2' })
  expect(`${ticket.title} ${ticket.body}`).toContain('The button is green.')
  await expectGood(client, id)
})

test('watch prints each new thing in the inbox, over a restart of the host', async ({ bench }) => {
  const first = await bench.host()
  const { id } = await startAsking(bench, first.client, ask({ question: 'One?' }), say('Asked.'))
  const args = ['watch', '--kind', 'question', '--data', bench.dataDir, '--json']
  const watch = startProgram(process.execPath, [BALLET_PROGRAM, ...args], {
    env: bench.env,
    limitMs: 120_000,
  })
  bench.atEnd(async () => watch.child.kill('SIGKILL'))
  const seen = () => jsonLines(watch.stdout()).map(({ text }) => text)
  await waitFor('what waits already', () => seen().length === 1, { state: watch.stderr })
  await first.kill()
  const { client, cli } = await bench.host()
  const again = script(ask({ question: 'Two?' }), say('Asked.'))
  await cli('answer', 'SHOP-1-Q1', `Go. ${again}`)
  await waitForEvent(client, id, 'question.asked', ({ text }) => text === 'Two?')
  await waitFor('the new one', () => seen().length === 2, { state: watch.stderr })
  expect(seen()).toEqual(['One?', 'Two?'])
  watch.child.kill('SIGINT')
  expect((await watch.ended).code).toBe(0)
})
