import { expect, it } from 'vitest'
import type { Session } from '../../src-shared/records.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import { timelineFaults } from './timeline-checks.ts'

const good: Record<string, unknown>[] = [
  { kind: 'session.state', from: null, to: 'queued', reason: '' },
  { kind: 'input.queued', input: 'i1' },
  { kind: 'session.state', from: 'queued', to: 'starting', reason: '' },
  { kind: 'session.state', from: 'starting', to: 'waiting', reason: '' },
  { kind: 'input.sent', input: 'i1' },
  { kind: 'input.delivered', input: 'i1' },
  { kind: 'turn.started', turn: 1, inputs: ['i1'] },
  { kind: 'session.state', from: 'waiting', to: 'working', reason: '' },
  { kind: 'tool.call', turn: 1, callId: 'c1', ref: 'r1' },
  { kind: 'request.opened', turn: 1, request: 'q1' },
  { kind: 'request.closed', turn: 1, request: 'q1' },
  { kind: 'tool.result', turn: 1, callId: 'c1', ref: 'r1' },
  { kind: 'question.asked', turn: 1, question: 'a1', key: 'S-1-Q1' },
  { kind: 'question.planned', question: 'a1', key: 'S-1-Q1', outcome: 'answered' },
  { kind: 'question.answered', question: 'a1', key: 'S-1-Q1', author: 'planner' },
  { kind: 'turn.ended', turn: 1 },
  { kind: 'session.state', from: 'working', to: 'waiting', reason: '' },
]

function faults(bodies: readonly Record<string, unknown>[], session: Partial<Session> = {}) {
  const events = bodies.map((body, index) => ({ session: 's', seq: index + 1, ...body }))
  const facts = {
    id: 's',
    state: 'waiting',
    agent: 'agent-1',
    turn: 1,
    openRequests: 0,
    openQuestions: 0,
  }
  return timelineFaults(
    events as unknown as TimelineEvent[],
    { ...facts, lastSeq: events.length, ...session } as unknown as Session,
  )
}

const without = (index: number) => good.filter((_, at) => at !== index)
const doubled = (index: number) =>
  good.flatMap((body, at) => (at === index ? [body, body] : [body]))

it('finds nothing in a good timeline', () => {
  expect(faults(good)).toEqual([])
})

it('finds whatever is missing', () => {
  for (const [index, { kind }] of good.entries()) {
    // A person may answer before the planner is done.
    if (kind === 'question.planned') continue
    expect(faults(without(index)), `${index}`).not.toEqual([])
  }
})

it('finds whatever stands twice', () => {
  for (const index of good.keys()) expect(faults(doubled(index)), `${index}`).not.toEqual([])
})

it('finds gaps and doubled numbers', () => {
  expect(faults(good.map((body, index) => (index === 3 ? { ...body, seq: 3 } : body)))).toEqual([
    'number 3 stands at place 4',
  ])
  expect(faults(good, { lastSeq: 11 })).toEqual(['the session says 11 events, there are 17'])
})

it('finds a session that tells something else than its timeline', () => {
  expect(faults(good, { state: 'working' })).toHaveLength(2)
  expect(faults(good, { agent: null })).toEqual(['the session is waiting with agent null'])
  expect(faults(good, { turn: 2 })).toEqual(['the session says turn 2, not 1'])
})

it('finds an input that is delivered to two turns', () => {
  const again = [...good, { kind: 'turn.started', turn: 2, inputs: ['i1'] }]
  expect(faults([...again, { kind: 'turn.ended', turn: 2 }], { turn: 2 })).toEqual([
    'input i1 started two turns',
  ])
})

it('lets an input that the runtime certainly lost wait for a word where it is parked, and nowhere else', () => {
  const lost = [
    ...good.slice(0, 5),
    { kind: 'turn.started', turn: 1, inputs: ['i1'] },
    { kind: 'session.state', from: 'waiting', to: 'parking', reason: '' },
    { kind: 'turn.ended', turn: 1 },
  ]
  const parkedNow = { kind: 'session.state', from: 'parking', to: 'parked', reason: '' }
  const back = { kind: 'session.state', from: 'parking', to: 'waiting', reason: '' }
  const again = { kind: 'input.queued', input: 'i1' }
  const parked = { state: 'parked', agent: null } as const
  expect(faults([...lost, again, parkedNow], parked)).toEqual([])
  expect(faults([...lost, again, { kind: 'input.cancelled', input: 'i1' }, back])).toEqual([])
  expect(faults([...lost, again, back])).toEqual(['input i1 started a turn and is input.queued'])
})

it('lets an answer of the planner be overturned, and nothing be answered twice', () => {
  const answer = { kind: 'question.answered', question: 'a1', key: 'S-1-Q1', author: 'person' }
  const overturned = [...good, { ...answer, overturns: true }]
  expect(faults(overturned)).toEqual([])
  expect(faults([...overturned, { ...answer, overturns: true }])).toHaveLength(1)
  expect(faults([...good, answer])).toEqual([
    'question S-1-Q1: question.answered after by planner (18)',
  ])
  expect(faults(good, { openQuestions: 1 })).toEqual([
    'the session says 1 open questions, there are 0',
  ])
})
