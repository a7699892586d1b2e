import { describe, expect, it } from 'vitest'
import { fixtureQuestion } from '../../fixture/asked.ts'
import { FixtureHost } from '../../fixture/client.ts'
import { littleWorld } from '../../fixture/world.ts'
import {
  answerQuestion,
  isOverAlready,
  overturnAnswer,
  picked,
  questionAct,
  undoAnswer,
  whatIsMissing,
} from './answering.ts'

const press = (key: string, options = 3, more = {}) =>
  questionAct(
    { key, shiftKey: false, altKey: false, ctrlKey: false, metaKey: false, ...more },
    options,
  )

function setUp() {
  const host = new FixtureHost(littleWorld())
  const session = host.world.sessions[1]
  if (session === undefined) throw new Error('no session')
  const question = fixtureQuestion(session, {
    question: 'Which one?',
    options: [
      { label: 'This', recommended: true },
      { label: 'That', recommended: false },
    ],
  })
  host.world.questions.push(question)
  const now = () => host.world.questions.find(({ id }) => id === question.id)
  return { host, client: host.client(), question, now }
}

const at = { sendNow: false, resume: true }
const answer = (...options: number[]) => ({ kind: 'answer', options, text: '' }) as const

describe('keys of a question', () => {
  it('pick an option that there is, send, write, and leave it to the agent', () => {
    expect(press('2')).toEqual({ act: 'pick', option: 2 })
    expect(press('4')).toBeNull()
    expect(press('0', 10)).toEqual({ act: 'pick', option: 10 })
    expect(press('0', 9)).toBeNull()
    expect(press('Enter')).toEqual({ act: 'send' })
    expect(press('o')).toEqual({ act: 'write' })
    expect(press('D')).toEqual({ act: 'decline' })
    expect(press('1', 3, { ctrlKey: true })).toBeNull()
    expect(press('Enter', 3, { shiftKey: true })).toBeNull()
    expect(press('j')).toBeNull()
  })

  it('choose one, or several where several may be chosen', () => {
    expect(picked([1], 2, false)).toEqual([2])
    expect(picked([3], 1, true)).toEqual([1, 3])
    expect(picked([1, 3], 1, true)).toEqual([3])
  })
})

describe('an answer', () => {
  it('says what is missing, and chooses nothing by itself', () => {
    expect(whatIsMissing({ chosen: [], text: '  ' }, 3)).toContain('Pick 1 to 3')
    expect(whatIsMissing({ chosen: [], text: '' }, 0)).toContain('Write')
    expect(whatIsMissing({ chosen: [2], text: '' }, 3)).toBeNull()
    expect(whatIsMissing({ chosen: [], text: 'so' }, 3)).toBeNull()
  })

  it('is held, and taken back as long as it is', async () => {
    const { client, question, now } = setUp()
    expect(await answerQuestion(client, question.id, answer(1), at)).toBeNull()
    expect(now()).toMatchObject({ state: 'answered', answer: { text: 'This', options: [1] } })
    expect(now()?.undoUntil).not.toBeNull()
    expect(await undoAnswer(client, question.id)).toBeNull()
    expect(now()).toMatchObject({ state: 'open', answer: null })
  })

  it('that comes second is told by whom the first was', async () => {
    const { host, client, question, now } = setUp()
    const told = await Promise.all([
      answerQuestion(client, question.id, answer(1), at),
      answerQuestion(host.client(), question.id, { kind: 'decline', text: 'no' }, at),
    ])
    expect(told[0]).toBeNull()
    expect(told[1]).toMatchObject({
      code: 'question.answered',
      message: expect.stringContaining('by you: This'),
    })
    expect(told[1] && isOverAlready(told[1])).toBe(true)
    expect(now()?.answer).toMatchObject({ declined: false })
  })

  it('left to the agent is one like any other, with a word or without', async () => {
    const { client, question, now } = setUp()
    expect(await answerQuestion(client, question.id, { kind: 'decline', text: ' ' }, at)).toBeNull()
    expect(now()?.answer).toMatchObject({ text: 'Decide yourself.', declined: true })
  })

  it('of the planner is replaced, and kept as overturned', async () => {
    const { client, question, now } = setUp()
    await answerQuestion(client, question.id, answer(2), at)
    expect(await overturnAnswer(client, question.id, ' This. ')).toBeNull()
    expect(now()).toMatchObject({ answer: { text: 'This.' }, overturned: { text: 'That' } })
  })
})
