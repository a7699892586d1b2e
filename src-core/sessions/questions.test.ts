import { expect, test } from 'vitest'
import { CommandId } from '../../src-shared/ids.ts'
import { asked, askTool, questionId, startWithoutPlanner } from '../testing/asking.ts'
import { refusalOf, startTestCore, type TestCore } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import { deliveries, inState, timeline, working } from '../testing/walks.ts'

const commandId = (n: number) =>
  CommandId.parse(`01930000-0000-7000-b000-${String(n).padStart(12, '0')}`)

const kinds = async (core: TestCore, ticket: string) =>
  (await timeline(core, ticket)).flatMap(({ kind }) => (kind.startsWith('question.') ? [kind] : []))

test('a question is a row, and its call returns at once with its key and the order to end the turn', async () => {
  const core = await startWithoutPlanner()
  const { client } = core
  const { ticket, agent } = await working(core)
  const { cursor } = await client.records.follow({})
  const answer = await askTool(agent, 1, {
    question: 'Which colour?',
    context: 'The page has none.',
    options: [{ label: 'Blue', detail: 'as the logo', recommended: true }, { label: 'Green' }],
    urgency: 'high',
  })
  expect(answer).toMatchObject({
    isError: false,
    text: 'Recorded as SHOP-1-Q1. End your turn now; the answer arrives as the next message.',
  })
  const question = await client.questions.show({ ref: 'shop-1-q1' })
  expect(question).toMatchObject({
    id: questionId(1),
    key: 'SHOP-1-Q1',
    ticket: ticket.key,
    project: 'Shop',
    question: 'Which colour?',
    context: 'The page has none.',
    options: [
      { label: 'Blue', detail: 'as the logo', recommended: true },
      { label: 'Green', recommended: false },
    ],
    multiple: false,
    urgency: 'high',
    state: 'open',
    heldBy: 'person',
    draft: { answer: null, reason: 'the planner is switched off' },
    answer: null,
    input: null,
    turn: 1,
    reachedPersonAt: core.clock.now(),
  })
  const { changes } = await client.records.follow({ cursor, waitMs: 0 })
  expect(changes).toContainEqual({ record: 'question', id: question.id, value: question })
  const events = await timeline(core, ticket.key)
  expect(events.filter(({ kind }) => kind.startsWith('question.'))).toMatchObject([
    { kind: 'question.asked', turn: 1, text: 'Which colour?', context: 'The page has none.' },
    { kind: 'question.planned', outcome: 'off', reason: 'the planner is switched off' },
  ])
  expect(await client.sessions.show({ ref: ticket.key })).toMatchObject({
    state: 'working',
    openQuestions: 1,
  })
  agent.endTurn(1)
  expect(await inState(core, ticket.key, 'waiting')).toMatchObject({
    reason: 'waits for an answer: SHOP-1-Q1',
  })
  expect(await client.inbox.list()).toMatchObject([
    { kind: 'question', id: question.id, ticket: ticket.key, text: 'Which colour?' },
  ])
})

test('a second identical open question is the first one; other options make another one', async () => {
  const core = await startWithoutPlanner()
  const { agent } = await working(core)
  const options = [{ label: 'Blue' }, { label: 'Green' }]
  await askTool(agent, 1, { question: 'Which colour?', options })
  const same = await askTool(agent, 2, { question: ' Which\n colour? ', options })
  expect(same).toMatchObject({ isError: false })
  expect(same.text).toContain('SHOP-1-Q1')
  expect((await askTool(agent, 3, { question: 'Which colour?' })).text).toContain('SHOP-1-Q2')
  expect(await core.client.questions.list()).toHaveLength(2)
})

test('50 questions of one turn are recorded, and answered together; more than 100 are not taken', async () => {
  const core = await startWithoutPlanner()
  const { client } = core
  const { ticket, agent } = await asked(core, 50)
  expect(await client.inbox.list()).toHaveLength(50)
  for (let n = 1; n <= 49; n += 1) await client.questions.answer({ ref: `SHOP-1-Q${n}`, text: 'x' })
  expect(agent.heard('input.deliver')).toHaveLength(1)
  await client.questions.decline({ ref: 'SHOP-1-Q50' })
  const [, delivery] = await deliveries(agent, 2)
  expect(delivery?.inputs).toHaveLength(1)
  expect(delivery?.text.match(/^Answer to SHOP-1-Q\d+$/gm)).toHaveLength(50)
  agent.beginTurn(2)
  for (let n = 51; n <= 150; n += 1) await askTool(agent, n, {}, 2)
  const refused = await askTool(agent, 151, {}, 2)
  expect(refused).toMatchObject({ isError: true })
  expect(refused.text).toContain('End your turn now')
  expect(await client.sessions.show({ ref: ticket.key })).toMatchObject({ openQuestions: 100 })
})

test('a long question is cut in the timeline and kept whole', async () => {
  const core = await startWithoutPlanner()
  const { ticket, agent } = await working(core)
  const question = 'é'.repeat(10_000)
  await askTool(agent, 1, { question, context: 'ä'.repeat(50_000) })
  const event = (await timeline(core, ticket.key)).find(({ kind }) => kind === 'question.asked')
  if (event?.kind !== 'question.asked' || event.textBlob === undefined) throw new Error('no blob')
  expect(event.text.length).toBeLessThan(question.length)
  const { session } = event
  expect(await core.storage.blob(session, event.textBlob)).toBe(question)
  expect(event.contextBlob).toBeDefined()
})

test('an answer is the next user message, in the fixed form', async () => {
  const core = await startWithoutPlanner()
  const { client } = core
  const { ticket, agent } = await working(core)
  const options = [{ label: 'Blue' }, { label: 'Green' }]
  await askTool(agent, 1, { question: 'Which colour?', options })
  agent.endTurn(1)
  await inState(core, ticket.key, 'waiting')
  const { cursor } = await client.records.follow({})
  const answer = await client.questions.answer({ ref: 'SHOP-1-Q1', options: [2], text: 'but dark' })
  expect(answer).toMatchObject({
    state: 'answered',
    answer: { text: 'Green\nbut dark', options: [2], author: 'person', declined: false },
    undoUntil: null,
  })
  const [, delivery] = await deliveries(agent, 2)
  expect(delivery).toMatchObject({
    inputs: [answer.input],
    text: 'Answer to SHOP-1-Q1\nQuestion: Which colour?\nAnswer: Green\nbut dark\nAnswered by: a person',
  })
  const { changes } = await client.records.follow({ cursor, waitMs: 0 })
  expect(changes).toContainEqual({ record: 'question', id: answer.id, value: null })
  expect(await client.sessions.show({ ref: ticket.key })).toMatchObject({
    state: 'working',
    openQuestions: 0,
  })
  const [input] = (await client.sessions.inputs({ ref: ticket.key })).slice(-1)
  expect(input).toMatchObject({ inputKind: 'answer', author: 'person', state: 'sent' })
  expect(await kinds(core, ticket.key)).toContain('question.answered')
})

test('several answers are delivered when the last question is answered, or when the person says so', async () => {
  const core = await startWithoutPlanner()
  const { client } = core
  const { ticket, agent } = await asked(core, 3)
  const first = await client.questions.answer({ ref: 'SHOP-1-Q1', text: 'red' })
  expect(first).toMatchObject({ state: 'answered', input: null })
  expect(await client.sessions.show({ ref: ticket.key })).toMatchObject({
    reason: 'waits for an answer: SHOP-1-Q2, SHOP-1-Q3',
  })
  await settle()
  expect(agent.heard('input.deliver')).toHaveLength(1)
  await client.questions.answer({ ref: 'SHOP-1-Q3', text: 'blue', sendNow: true })
  const [, delivery] = await deliveries(agent, 2)
  expect(delivery?.text.match(/^Answer to .*$/gm)).toEqual([
    'Answer to SHOP-1-Q1',
    'Answer to SHOP-1-Q3',
  ])
  agent.beginTurn(2)
  agent.endTurn(2)
  await inState(core, ticket.key, 'waiting')
  expect(await client.sessions.show({ ref: ticket.key })).toMatchObject({ openQuestions: 1 })
  await client.questions.answer({ ref: 'SHOP-1-Q2', text: 'green' })
  expect((await deliveries(agent, 3))[2]?.text).toContain('Answer to SHOP-1-Q2\n')
})

test('send now needs an answer, and finds nothing left to do where all is sent', async () => {
  const core = await startWithoutPlanner()
  const { client } = core
  const { agent } = await asked(core, 2)
  expect(await refusalOf(client.questions.sendNow({ ref: 'SHOP-1-Q1' }))).toMatchObject({
    code: 'question.open',
  })
  await client.questions.answer({ ref: 'SHOP-1-Q2', text: 'blue', undoMs: 5_000 })
  const asking = await client.questions.sendNow({ ref: 'SHOP-1-Q1' })
  expect(asking).toMatchObject({ key: 'SHOP-1-Q1', state: 'open' })
  expect((await deliveries(agent, 2))[1]?.text).toContain('Answer: blue')
  const sent = await client.questions.show({ ref: 'SHOP-1-Q2' })
  expect(await client.questions.sendNow({ ref: 'SHOP-1-Q2' })).toEqual(sent)
})

test('answers of a running turn wait for its end, since more may be asked', async () => {
  const core = await startWithoutPlanner()
  const { client } = core
  const { ticket, agent } = await working(core)
  await askTool(agent, 1)
  await client.questions.answer({ ref: 'SHOP-1-Q1', text: 'red' })
  await askTool(agent, 2)
  agent.endTurn(1)
  await inState(core, ticket.key, 'waiting')
  expect(agent.heard('input.deliver')).toHaveLength(1)
  await client.questions.answer({ ref: 'SHOP-1-Q2', text: 'blue' })
  expect((await deliveries(agent, 2))[1]?.text).toMatch(/Q1\n[\s\S]*Q2\n/)
})

test('declining is an answer', async () => {
  const core = await startWithoutPlanner()
  const { agent } = await asked(core, 1)
  expect(
    await core.client.questions.decline({ ref: 'SHOP-1-Q1', text: 'I trust you.' }),
  ).toMatchObject({ answer: { text: 'Decide yourself. I trust you.', declined: true } })
  expect((await deliveries(agent, 2))[1]?.text).toContain('Answer: Decide yourself. I trust you.')
})

test('an option out of range, and two where one is wanted, are refused', async () => {
  const core = await startWithoutPlanner()
  const { questions } = core.client
  const { agent } = await working(core)
  const options = [{ label: 'Blue' }, { label: 'Green' }]
  await askTool(agent, 1, { options })
  await askTool(agent, 2, { options, multiple: true })
  await askTool(agent, 3)
  const refused = async (ref: string, chosen: number[]) =>
    (await refusalOf(questions.answer({ ref, options: chosen }))).code
  expect(await refused('SHOP-1-Q1', [3])).toBe('question.option-unknown')
  expect(await refused('SHOP-1-Q3', [1])).toBe('question.option-unknown')
  expect(await refused('SHOP-1-Q1', [1, 2])).toBe('question.one-option')
  expect(await refused('SHOP-1-Q1', [])).toBe('input.invalid')
  expect(await questions.answer({ ref: 'SHOP-1-Q2', options: [2, 1, 2] })).toMatchObject({
    answer: { text: 'Blue, Green', options: [1, 2] },
  })
  expect(await refusalOf(questions.show({ ref: 'SHOP-1-Q9' }))).toMatchObject({
    code: 'question.not-found',
  })
})

test('of two people who answer at the same moment the first wins, and the second is told', async () => {
  const core = await startWithoutPlanner()
  const { questions } = core.client
  await asked(core, 1)
  const answer = () => questions.answer({ ref: 'SHOP-1-Q1', text: 'red', commandId: commandId(1) })
  const [first, second] = await Promise.all([
    answer(),
    refusalOf(questions.answer({ ref: 'SHOP-1-Q1', text: 'blue', commandId: commandId(2) })),
  ])
  expect(second).toMatchObject({
    code: 'question.answered',
    message: 'SHOP-1-Q1 was answered already, by a person: “red”.',
  })
  // The same command again is the same answer.
  expect(await answer()).toEqual(first)
  expect(await questions.show({ ref: 'SHOP-1-Q1' })).toMatchObject({ answer: { text: 'red' } })
})

test('what was asked before stays searchable', async () => {
  const core = await startTestCore()
  const { questions } = core.client
  const { ticket, agent } = await working(core)
  await askTool(agent, 1, { question: 'Which colour?', context: 'a button' })
  await askTool(agent, 2, { question: 'Which size?' })
  await questions.answer({ ref: 'SHOP-1-Q2', text: 'Large' })
  const keys = async (filter: Parameters<typeof questions.list>[0]) =>
    (await questions.list(filter)).map(({ key }) => key)
  expect(await keys({ search: 'LARGE which' })).toEqual(['SHOP-1-Q2'])
  expect(await keys({ search: 'button' })).toEqual(['SHOP-1-Q1'])
  expect(await keys({ search: 'q1' })).toEqual(['SHOP-1-Q1'])
  expect(await keys({ ticket: ticket.key, limit: 1 })).toEqual(['SHOP-1-Q2'])
  expect(await keys({ search: 'which', limit: 1 })).toEqual(['SHOP-1-Q2'])
  expect(await keys({ state: 'open', project: 'Shop', session: ticket.key })).toEqual(['SHOP-1-Q1'])
})

test('what a late lease asked is a question all the same', async () => {
  const core = await startWithoutPlanner()
  const { ticket, agent } = await working(core)
  const spool: { name: string; content: unknown }[] = []
  const { lease } = agent.spec()
  const at = core.clock.now()
  const made = { tool: 'ask_question', question: questionId(7), asked: { question: 'Late?' } }
  const row = await core.storage.row('lease', lease)
  spool.push({
    name: 'lease.json',
    content: {
      lease,
      from: (row?.lastItem ?? 0) + 1,
      items: [{ type: 'mcp.call', at, call: 'late', turn: 1, made }],
      blobs: [],
    },
  })
  const next = await core.restart({ spool })
  await next.client.settings.edit({ planner: { enabled: false } })
  const found = await until('the question', async () =>
    (await next.client.questions.list()).find(({ question }) => question === 'Late?'),
  )
  expect(found).toMatchObject({ ticket: ticket.key, state: 'open' })
})
