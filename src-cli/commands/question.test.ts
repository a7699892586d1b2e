import { ORPCError } from '@orpc/client'
import { expect, it, test } from 'vitest'
import type { Question } from '../../src-shared/questions.ts'
import { assumption, ballet, question, session, testWorld, ticket } from '../test-world.ts'

/** Answers a call, and keeps what it was asked without the command's id. */
function asked<T>(answer: T) {
  const calls: Record<string, unknown>[] = []
  const call = ({ commandId: _, ...given }: Record<string, unknown>) => {
    calls.push(given)
    return answer
  }
  return { calls, call }
}

const refusal = (code: string) => () => {
  throw new ORPCError('REFUSED', { data: { code, message: `There is no such thing.` } })
}

const answered: Question = {
  ...question,
  state: 'answered',
  answer: {
    text: 'SQLite',
    options: [1],
    author: 'planner',
    declined: false,
    citations: [
      { source: 'docs/storage.md', place: 'Storage', quote: 'SQLite', verified: true, line: 7 },
    ],
  },
}

it('question list and show tell what was asked, and print the record as JSON', async () => {
  const list = asked([question, answered])
  const calls = { questions: { list: list.call, show: () => answered } }
  const world = testWorld(calls)
  const words = ['--ticket', 'SHOP-1', '--state', 'answered', '--search', 'data', '--limit', '5']
  expect(await ballet(world, 'question', 'list', ...words)).toBe(0)
  expect(list.calls).toEqual([{ ticket: 'SHOP-1', state: 'answered', search: 'data', limit: 5 }])
  expect(world.out()).toContain('Which database? → SQLite')
  const one = testWorld(calls)
  expect(await ballet(one, 'question', 'show', 'SHOP-1-Q2')).toBe(0)
  expect(one.out()).toContain('  1  SQLite (recommended): no server')
  expect(one.out()).toContain('SQLite (by planner)\n  docs/storage.md:7, Storage: “SQLite”')
  expect(one.out()).toContain('when its turn is over and all that was asked in it is answered')
  const draft = { answer: null, citations: [], reason: 'The planner is off.' }
  const without = testWorld({ questions: { show: () => ({ ...question, draft }) } })
  expect(await ballet(without, 'question', 'show', 'SHOP-1-Q2')).toBe(0)
  expect(without.out()).toMatch(/^no draft +The planner is off\.$/m)
  const json = testWorld(calls)
  expect(await ballet(json, 'question', 'show', 'SHOP-1-Q2', '--json')).toBe(0)
  expect(json.rows()).toEqual([answered])
  const none = testWorld({ questions: { list: () => [] } })
  expect(await ballet(none, 'question', 'list')).toBe(0)
  expect(none.out()).toBe('There are no such questions.\n')
})

it.each([
  ['a text', ['use Postgres'], { text: 'use Postgres' }],
  ['the standard input', ['-'], { text: 'piped\nwords' }],
  ['an option', ['--option', '2'], { options: [2] }],
  ['several', ['--option', '1', '--option', '2'], { options: [1, 2] }],
  ['several at once', ['--option', '1,2'], { options: [1, 2] }],
  ['several after one name', ['--option', '1', '2'], { options: [1, 2] }],
  ['an option with a word', ['--option', '1', 'for now'], { options: [1], text: 'for now' }],
  ['a word first', ['for now', '--option', '1'], { options: [1], text: 'for now' }],
  ['a number as text', ['42'], { text: '42' }],
  ['what stops waiting', ['x', '--send-now'], { text: 'x', sendNow: true }],
  ['what waits for its session', ['x', '--no-resume'], { text: 'x', resume: false }],
])('answer gives %s', async (_what, words, given) => {
  const answer = asked(answered)
  const world = testWorld({ questions: { answer: answer.call } }, { stdin: 'piped\nwords' })
  expect(await ballet(world, 'answer', 'SHOP-1-Q2', ...words)).toBe(0)
  expect(answer.calls).toEqual([{ ref: 'SHOP-1-Q2', ...given }])
  expect(world.out()).toContain('SHOP-1-Q2: SQLite')
})

it.each([
  ['parked', 'Going on loads its conversation of 38,200 tokens again.'],
  ['resuming', 'Going on loads its conversation of 38,200 tokens again.'],
  ['waiting', ''],
] as const)('answer says what is loaded again where the session is %s', async (state, said) => {
  const show = asked({ ...session, state, contextTokens: 38_200 })
  const calls = { questions: { answer: () => answered }, sessions: { show: show.call } }
  const world = testWorld(calls)
  expect(await ballet(world, 'answer', 'SHOP-1-Q2', 'x')).toBe(0)
  expect(show.calls).toEqual([{ ref: answered.session }])
  expect(world.out().includes('Going on')).toBe(said !== '')
  expect(world.out()).toContain(said)
})

it.each([
  ['nothing', []],
  ['an empty text', [' ']],
  ['two texts', ['one', 'two']],
  ['an option of none', ['--option', '0']],
  ['an option that is no number', ['--option', 'first']],
  ['one option too many', ['--option', '1,11']],
  ['a number that is none, after an option', ['--option', '1', '11']],
])('answer refuses %s before it asks anybody', async (_what, words) => {
  const world = testWorld({})
  expect(await ballet(world, 'answer', 'SHOP-1-Q2', ...words, '--json')).toBe(2)
  expect(JSON.parse(world.err())).toMatchObject({ error: { hint: expect.any(String) } })
  expect(world.connectedTo).toEqual([])
})

it('says by whom a question was answered meanwhile', async () => {
  const answer = () => {
    throw new ORPCError('REFUSED', {
      data: { code: 'question.answered', message: 'It was answered by a person: SQLite' },
    })
  }
  const world = testWorld({ questions: { answer } })
  expect(await ballet(world, 'answer', 'SHOP-1-Q2', 'Postgres', '--json')).toBe(1)
  expect(JSON.parse(world.err())).toMatchObject({
    error: { code: 'question.answered', message: expect.stringContaining('by a person') },
  })
})

it('decline, undo and send-now do what they say', async () => {
  const decline = asked({ ...answered, undoUntil: '2026-01-02T03:04:10.000Z' })
  const undo = asked(question)
  const sendNow = asked(answered)
  const world = testWorld({
    questions: { decline: decline.call, undo: undo.call, sendNow: sendNow.call },
  })
  expect(await ballet(world, 'decline', 'SHOP-1-Q2')).toBe(0)
  expect(await ballet(world, 'decline', 'SHOP-1-Q2', 'as you like', '--send-now')).toBe(0)
  expect(await ballet(world, 'question', 'undo', 'SHOP-1-Q2')).toBe(0)
  expect(await ballet(world, 'question', 'send-now', 'SHOP-1-Q2')).toBe(0)
  expect(decline.calls).toEqual([
    { ref: 'SHOP-1-Q2' },
    { ref: 'SHOP-1-Q2', text: 'as you like', sendNow: true },
  ])
  expect([...undo.calls, ...sendNow.calls]).toEqual([{ ref: 'SHOP-1-Q2' }, { ref: 'SHOP-1-Q2' }])
  expect(world.out()).toContain('It can be taken back until 2026-01-02T03:04:10.000Z')
  expect(world.out()).toContain('What is answered of the turn of SHOP-1-Q2 is on its way.')
  expect(world.out()).toContain('SHOP-1-Q2 is open again.')
})

it('assumptions are listed and confirmed', async () => {
  const list = asked([assumption])
  const confirm = asked({ ...assumption, state: 'confirmed' })
  const world = testWorld({ assumptions: { list: list.call, confirm: confirm.call } })
  expect(await ballet(world, 'assumptions', '--ticket', 'SHOP-1', '--state', 'open')).toBe(0)
  expect(await ballet(world, 'confirm', assumption.id)).toBe(0)
  expect(list.calls).toEqual([{ ticket: 'SHOP-1', state: 'open' }])
  expect(confirm.calls).toEqual([{ ref: assumption.id }])
  expect(world.out()).toContain('Prices are in euro. (The tests say so.)')
  expect(world.out()).toContain('SHOP-1: confirmed Prices are in euro.')
})

test.each([
  ['a key', 'SHOP-1-Q2', question, [], 'question'],
  ['a whole id', question.id, question, [assumption], 'question'],
  ['the id of an assumption', assumption.id, undefined, [assumption], 'assumption'],
  ['the beginning of one', assumption.id.slice(0, 36), undefined, [assumption], 'assumption'],
] as const)('overturn finds what %s stands for', async (_what, ref, found, all, kind) => {
  const answers = asked({ ...answered, key: 'SHOP-1-Q2' })
  const corrected = asked({ ...assumption, state: 'overturned', text: 'no', newTicket: null })
  const world = testWorld({
    questions: {
      show: found === undefined ? refusal('question.not-found') : () => found,
      overturn: answers.call,
    },
    assumptions: { list: () => all, overturn: corrected.call },
  })
  expect(await ballet(world, 'overturn', ref, 'no')).toBe(0)
  const given = { ref, text: 'no' }
  expect(answers.calls).toEqual(kind === 'question' ? [given] : [])
  expect(corrected.calls).toEqual(kind === 'assumption' ? [{ ...given, newTicket: false }] : [])
})

it('overturn says when it is neither or may be both, and makes a ticket where it is told to', async () => {
  const corrected = asked({ ...assumption, state: 'overturned', newTicket: { ...ticket } })
  const calls = (isQuestion: boolean) => ({
    questions: { show: isQuestion ? () => question : refusal('question.not-found') },
    assumptions: { list: () => [assumption], overturn: corrected.call },
  })
  const run = async (isQuestion: boolean, ...words: string[]) => {
    const world = testWorld(calls(isQuestion))
    const exit = await ballet(world, 'overturn', ...words, '--json')
    return { exit, error: world.err() === '' ? undefined : JSON.parse(world.err()).error }
  }
  expect(await run(false, 'ffff', 'no')).toMatchObject({
    exit: 1,
    error: { code: 'overturn.not-found' },
  })
  expect(await run(true, assumption.id.slice(0, 20), 'no')).toMatchObject({
    exit: 2,
    error: { code: 'overturn.ambiguous' },
  })
  expect(await run(true, 'SHOP-1-Q2', 'no', '--new-ticket')).toMatchObject({ exit: 2 })
  expect(await run(false, assumption.id, 'no', '--new-ticket')).toMatchObject({ exit: 0 })
  expect(corrected.calls).toEqual([{ ref: assumption.id, text: 'no', newTicket: true }])
})

test.each([
  ['answer', 'Q', 'x'],
  ['decline', 'Q'],
  ['confirm', 'A'],
  ['overturn', 'A', 'x'],
  ['question', 'undo', 'Q'],
  ['question', 'send-now', 'Q'],
])('%s is refused to what a session started', async (...words) => {
  const world = testWorld({}, { env: { BALLET_SESSION: 'x:y' } })
  expect(await ballet(world, ...words, '--json')).toBe(1)
  expect(JSON.parse(world.err())).toMatchObject({ error: { code: 'caller.session' } })
  expect(world.connectedTo).toEqual([])
})
