import { expect, test } from 'vitest'
import type { AgentId } from '../../src-shared/ids.ts'
import { type InboxItem, type InboxRecords, inboxOf } from '../../src-shared/inbox.ts'
import { viewAssumption, viewQuestion, viewRequest, viewSession } from '../project/views.ts'
import type { AssumptionRow, QuestionRow, RequestRow, SessionRow } from '../storage/rows.ts'
import {
  assumptionRow,
  projectRow,
  questionRow,
  requestRow,
  sessionRow,
  ticketRow,
} from '../storage/test-samples.ts'

const minute = (n: number) => `2026-11-29T12:${String(n).padStart(2, '0')}:00.000Z`

/** Records of one project, and what the inbox makes of them. */
function world(name = 'Shop') {
  const project = projectRow({ name })
  const ticket = ticketRow(project)
  const join = { ticketKey: ticket.key, projectName: name }
  const sessions: SessionRow[] = []
  const records = { questions: [], requests: [], assumptions: [] } as {
    questions: QuestionRow[]
    requests: RequestRow[]
    assumptions: AssumptionRow[]
  }
  const session = (parts: Partial<SessionRow> = {}) => {
    const row = sessionRow(ticket, {
      state: 'working',
      agent: 'agent-1' as AgentId,
      stateSince: minute(0),
      ...parts,
    })
    sessions.push(row)
    return row
  }
  const viewed = (queuedInputs = 0): InboxRecords => ({
    sessions: sessions.map((row) =>
      viewSession(row, {
        ...join,
        title: ticket.title,
        queuedInputs,
        openRequests: 0,
        openQuestions: 0,
        lastSeq: 1,
      }),
    ),
    questions: records.questions.map((row) => viewQuestion(row, join)),
    requests: records.requests.map((row) => viewRequest(row, join)),
    assumptions: records.assumptions.map((row) => viewAssumption(row, join)),
  })
  return { project, session, ...records, viewed }
}

const named = (items: readonly InboxItem[]) => items.map(({ kind, text }) => `${kind}: ${text}`)

const asked = (session: SessionRow, question: string, parts: Partial<QuestionRow> = {}) =>
  questionRow(session, { question, createdAt: minute(1), reachedPersonAt: minute(1), ...parts })

test('the urgent comes first, then what waits longest; assumptions come last', () => {
  const { session, questions, requests, assumptions, viewed } = world()
  const busy = session()
  assumptions.push(assumptionRow(busy, { assumption: 'blue', createdAt: minute(0) }))
  questions.push(
    asked(busy, 'not urgent', { urgency: 'low', reachedPersonAt: minute(0) }),
    asked(busy, 'later', { turn: 2, reachedPersonAt: minute(9) }),
    asked(busy, 'earlier', { createdAt: minute(9), reachedPersonAt: minute(2) }),
    asked(busy, 'urgent', { urgency: 'high', reachedPersonAt: minute(30) }),
  )
  requests.push(requestRow(busy, { createdAt: minute(20) }))
  session({ state: 'failed', reason: 'no login', stateSince: minute(25), agent: null })
  session({ state: 'waiting', stateSince: minute(3) })
  expect(named(inboxOf(viewed()))).toEqual([
    'question: urgent',
    'request: Bash: npm test',
    'failed: no login',
    'question: earlier',
    'question: later',
    'waiting: It waits for a word.',
    'question: not urgent',
    'assumption: blue',
  ])
})

test('questions of one turn keep the order in which they were asked, whichever the planner gave up first', () => {
  const { session, questions, viewed } = world()
  const one = session()
  const turn = { turn: 3 }
  questions.push(
    asked(one, 'third', { ...turn, createdAt: minute(3), reachedPersonAt: minute(6) }),
    asked(one, 'first', { ...turn, createdAt: minute(1), reachedPersonAt: minute(8) }),
    asked(one, 'urgent', { ...turn, urgency: 'high', reachedPersonAt: minute(30) }),
    asked(one, 'second', { ...turn, createdAt: minute(2), reachedPersonAt: minute(5) }),
    asked(session(), 'of another session', { ...turn, reachedPersonAt: minute(7) }),
    asked(one, 'of an earlier turn', { turn: 2, reachedPersonAt: minute(4) }),
  )
  expect(named(inboxOf(viewed()))).toEqual([
    'question: urgent',
    'question: of an earlier turn',
    'question: first',
    'question: second',
    'question: third',
    'question: of another session',
  ])
})

test('among alike questions the one that holds an agent comes first', () => {
  const { session, questions, viewed } = world()
  questions.push(
    asked(session({ state: 'parked', agent: null }), 'of a stopped one', {
      reachedPersonAt: minute(0),
    }),
    asked(session(), 'of one that holds an agent', { reachedPersonAt: minute(8) }),
  )
  expect(named(inboxOf(viewed()))).toEqual([
    'question: of one that holds an agent',
    'question: of a stopped one',
  ])
})

test('what the planner tries, what is answered and what is withdrawn is not in it', () => {
  const { session, questions, requests, assumptions, viewed } = world()
  const waiting = session({ state: 'waiting' })
  const answered = { text: 'Blue', options: [], author: 'person', citations: [], declined: false }
  questions.push(
    asked(waiting, 'planner', { heldBy: 'planner', reachedPersonAt: null }),
    asked(waiting, 'held', { state: 'answered', answer: answered as never }),
  )
  requests.push(requestRow(session(), { state: 'allowed' }))
  assumptions.push(assumptionRow(waiting, { state: 'confirmed' }))
  // A session that asked does not wait for a word besides.
  expect(inboxOf(viewed())).toEqual([])
  questions.splice(0, 2, asked(waiting, 'gone', { state: 'withdrawn' }))
  expect(named(inboxOf(viewed()))).toEqual(['waiting: It waits for a word.'])
})

test('a session waits for a word unless something is queued, or it is being ended', () => {
  const { session, viewed } = world()
  const waiting = session({ state: 'waiting', reason: 'the turn was cut', stateSince: minute(7) })
  expect(inboxOf(viewed())).toMatchObject([
    { kind: 'waiting', id: waiting.id, text: 'the turn was cut', since: minute(7), parkAt: null },
  ])
  expect(inboxOf(viewed(1))).toEqual([])
  for (const pending of ['stop', 'finish'] as const) {
    const ending = world()
    ending.session({ state: 'waiting', pending })
    expect(inboxOf(ending.viewed())).toEqual([])
  }
})

test('a stage that failed is a failure with the words of the agent', () => {
  const { session, viewed } = world()
  session({ state: 'waiting', outcome: 'failed', reason: 'the tests do not pass' })
  session({ state: 'waiting', outcome: 'done', reason: 'nothing could be pushed' })
  expect(named(inboxOf(viewed()))).toEqual([
    'failed: the tests do not pass',
    'waiting: nothing could be pushed',
  ])
})

test('it is filtered by project and by kind', () => {
  const one = world()
  const other = world('Bank')
  for (const { session, questions, assumptions } of [one, other]) {
    const busy = session()
    questions.push(asked(busy, 'which?'))
    assumptions.push(assumptionRow(busy))
  }
  const all = one.viewed()
  const more = other.viewed()
  const both = {
    sessions: [...all.sessions, ...more.sessions],
    questions: [...all.questions, ...more.questions],
    requests: [],
    assumptions: [...all.assumptions, ...more.assumptions],
  }
  expect(inboxOf(both)).toHaveLength(4)
  expect(inboxOf(both, { project: other.project.id }).map(({ project }) => project)).toEqual([
    'Bank',
    'Bank',
  ])
  expect(inboxOf(both, { project: one.project.id, kind: 'assumption' })).toMatchObject([
    { kind: 'assumption', project: 'Shop', text: 'The button is blue.' },
  ])
  // Of a session that is not there nothing is shown.
  expect(inboxOf({ ...both, sessions: [] })).toEqual([])
})
