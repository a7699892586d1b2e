import { expect, test } from 'vitest'
import {
  questionId,
  requestId,
  sampleQuestion,
  sampleRecords,
  sampleRequest,
  sampleSession,
} from '../notifications/testing/samples.ts'
import { waitingOf, waitingWord } from './waiting.ts'

test('what waits for a person is counted and named, as the inbox has it', () => {
  const waiting = waitingOf(
    sampleRecords({
      sessions: [sampleSession(1), sampleSession(2, { state: 'failed', reason: 'No disk.' })],
      questions: [
        sampleQuestion(1, { question: 'Which\u202e limiter?' }),
        sampleQuestion(2, { heldBy: 'planner' }),
        sampleQuestion(3, { state: 'answered' }),
      ],
      requests: [sampleRequest(1)],
    }),
  )
  expect(waiting.count).toBe(3)
  expect(waiting.lines.map(({ id }) => id)).toEqual(
    expect.arrayContaining([questionId(1), requestId(1)]),
  )
  expect(waiting.lines.map(({ text }) => text)).toEqual(
    expect.arrayContaining([
      'SHOP-1 asks: Which limiter?',
      'SHOP-1 wants to: Bash: npm publish',
      'SHOP-2 failed: No disk.',
    ]),
  )
})

test('nothing is nothing, and many are counted whole and named in part', () => {
  expect(waitingOf(sampleRecords({ sessions: [] }))).toEqual({ count: 0, lines: [] })
  const questions = Array.from({ length: 50 }, (_, at) => sampleQuestion(at + 1))
  const waiting = waitingOf(sampleRecords({ questions, sessions: [sampleSession(1)] }))
  expect(waiting.count).toBe(50)
  expect(waiting.lines).toHaveLength(6)
  expect([0, 1, 2].map(waitingWord)).toEqual([
    'Ballet: nothing waits for you',
    'Ballet: 1 thing waits for you',
    'Ballet: 2 things wait for you',
  ])
})
