import { expect } from '@playwright/test'
import { ask, balletTool } from '../../support/asking.ts'
import { BALLET_PROGRAM } from '../../support/command-line.ts'
import { bash, say, script } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { addProject, ofKind, startTicket, timelineOf, waitForTurnEnd } from '../../support/watch.ts'
import { test } from '../../support/workbench.ts'

/** Calls that are no good, and what the model is told of each. */
const wrongCalls: [string, string, Record<string, unknown>, RegExp][] = [
  ['an empty question', 'ask_question', { question: '  ' }, /question must not be empty/u],
  ['no question at all', 'ask_question', {}, /question/u],
  ['a question that is no text', 'ask_question', { question: { a: 1 } }, /question/u],
  ['100 KB', 'ask_question', { question: 'x'.repeat(100_000) }, /10000 characters/u],
  [
    'eleven options',
    'ask_question',
    { question: 'Which?', options: Array.from({ length: 11 }, (_, at) => ({ label: `${at}` })) },
    /at most 10 options/u,
  ],
  ['options without a label', 'ask_question', { question: 'Which?', options: [{}] }, /label/u],
  ['an urgency of its own', 'ask_question', { question: 'Which?', urgency: 'now' }, /urgency/u],
  ['no reason', 'record_assumption', { assumption: 'It is so.' }, /reason/u],
  [
    'more than there is',
    'report_progress',
    { summary: 'Half', done: 3, total: 2 },
    /done must not be greater/u,
  ],
  ['no such outcome', 'complete_stage', { summary: 'Done.', outcome: 'perfect' }, /outcome/u],
]

test('a call of a tool that is no good changes nothing and tells the model how to call it', async ({
  bench,
}) => {
  const { client } = await bench.host()
  const remote = await bench.remote()
  await addProject(client, remote.path, { planner: false })
  const calls = wrongCalls.map(([, name, input]) => ({ tool: balletTool(name), input }))
  const { session } = await startTicket(client, {
    body: script(...calls, ask({ question: 'Good?' }), say('I asked.')),
  })
  const { id } = session
  await waitForTurnEnd(client, id, 1, 60_000)
  const results = ofKind(await timelineOf(client, id), 'tool.result')
  expect(results).toHaveLength(wrongCalls.length + 1)
  for (const [at, [what, , , told]] of wrongCalls.entries()) {
    expect(results[at], what).toMatchObject({ status: 'error' })
    expect(results[at]?.output, what).toMatch(told)
  }
  expect(results.at(-1)).toMatchObject({ status: 'ok' })
  expect(await client.questions.list({ session: id })).toMatchObject([
    { key: 'SHOP-1-Q1', question: 'Good?' },
  ])
  expect(await client.assumptions.list({ session: id })).toEqual([])
  const after = await client.sessions.show({ ref: id })
  expect(after).toMatchObject({ state: 'waiting', progress: null, outcome: null, openQuestions: 1 })
  checkTimeline(await timelineOf(client, id), after)
})

test('an answer that is none is refused, names what is wrong, and changes nothing', async ({
  bench,
}) => {
  const { client, cli } = await bench.host()
  const remote = await bench.remote()
  await addProject(client, remote.path, { planner: false })
  const options = [{ label: 'SQLite' }, { label: 'Postgres' }]
  const own = `node ${BALLET_PROGRAM} answer SHOP-1-Q1 --option 1 --json --data ${bench.dataDir}`
  const { session } = await startTicket(client, {
    body: script(
      ask({ question: 'Which?', options }, { question: 'Open?' }),
      bash(`${own} 2>&1`),
      say('I asked.'),
    ),
  })
  const { id } = session
  await waitForTurnEnd(client, id, 1)
  // An agent must not answer its own questions.
  const tried = ofKind(await timelineOf(client, id), 'tool.result').at(-1)
  expect(tried?.output).toContain('caller.session')

  const wrong: [string[], number, string | RegExp][] = [
    [['answer', 'SHOP-1-Q9', 'x'], 1, 'question.not-found'],
    [['answer', 'SHOP-1-Q1', '--option', '3'], 1, /^question\./u],
    [['answer', 'SHOP-1-Q1', '--option', '1', '--option', '2'], 1, /^question\./u],
    [['answer', 'SHOP-1-Q2', '--option', '1'], 1, /^question\./u],
    [['answer', 'SHOP-1-Q1'], 2, 'usage.missing'],
    [['answer', 'SHOP-1-Q1', ' '], 2, 'usage.value'],
    [['answer', 'SHOP-1-Q1', 'a', 'b'], 2, 'usage.argument'],
    [['decline', 'SHOP-1-Q1', ' '], 2, 'usage.value'],
    [['question', 'show', 'nonsense'], 1, 'question.not-found'],
    [['question', 'undo', 'SHOP-1-Q1'], 1, /^question\./u],
    [['question', 'send-now', 'SHOP-1-Q1'], 1, /^question\./u],
    [['overturn', 'SHOP-1-Q1', 'x'], 1, /^question\./u],
    [['overturn', 'ffffffff', 'x'], 1, 'overturn.not-found'],
    [['confirm', 'ffffffff'], 1, 'assumption.not-found'],
    [['inbox', '--kind', 'mail'], 2, 'usage.value'],
    [['inbox', '--project', 'Nobody'], 1, 'project.not-found'],
    [['assumptions', '--ticket', 'SHOP-9'], 1, 'ticket.not-found'],
  ]
  for (const [words, code, refusal] of wrong) {
    const result = await cli(...words)
    expect(result, words.join(' ')).toMatchObject({ code, stdout: '' })
    expect(result.error?.code, words.join(' ')).toMatch(refusal)
    expect(result.error?.message, words.join(' ')).toMatch(/\S/u)
  }
  const questions = await client.questions.list({ session: id })
  expect(questions.map(({ state }) => state)).toEqual(['open', 'open'])
  expect((await client.sessions.show({ ref: id })).turn).toBe(1)
})
