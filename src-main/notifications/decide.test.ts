import { expect, test } from 'vitest'
import type { SessionId } from '../../src-shared/ids.ts'
import {
  BLANK,
  type Decision,
  decide,
  FIRST_QUIET_MS,
  lostAll,
  putAway,
  QUIET_MS,
} from './decide.ts'
import type { Followed } from './followed.ts'
import {
  questionId,
  sampleQuestion,
  sampleRecords,
  sampleRequest,
  sampleSession,
  sessionId,
} from './testing/samples.ts'
import { thingsOf } from './wanted.ts'

/** Decides again and again with a clock in hand; tells what is shown and closed each time. */
function world(first: Followed = sampleRecords({})) {
  let memory = BLANK
  let now = 0
  let records = first
  let lookedAt: readonly SessionId[] = []
  let opened: readonly string[] = []
  let canShow = true
  const look = (): Omit<Decision, 'memory' | 'show'> & { show: string[] } => {
    const decision = decide(memory, {
      things: thingsOf(records),
      lookedAt: new Set(lookedAt),
      opened: new Set(opened),
      canShow,
      now,
    })
    memory = decision.memory
    const { close, againMs } = decision
    return { show: decision.show.map(({ key }) => key), close, againMs }
  }
  return {
    look,
    after: (ms: number) => {
      now += ms
      return look()
    },
    is: (next: Followed) => {
      records = next
      return look()
    },
    looksAt: (...sessions: SessionId[]) => {
      lookedAt = sessions
      return look()
    },
    opens: (...keys: string[]) => {
      opened = keys
      return look()
    },
    canShow: (value: boolean) => {
      canShow = value
      return look()
    },
    putAway: (key: string) => {
      memory = putAway(memory, key)
    },
    lostAll: () => {
      memory = lostAll(memory)
    },
  }
}

const asked = (...questions: number[]) =>
  sampleRecords({ questions: questions.map((n) => sampleQuestion(n)) })
const Q1 = `question ${questionId(1)}`
const nothing = { show: [], close: [], againMs: undefined }

test('a question is shown once it stood for a moment, and once only', () => {
  const it = world()
  it.look()
  expect(it.is(asked(1))).toEqual({ show: [], close: [], againMs: QUIET_MS })
  expect(it.after(QUIET_MS - 1)).toEqual({ show: [], close: [], againMs: 1 })
  expect(it.after(1)).toEqual({ show: [Q1], close: [], againMs: undefined })
  expect(it.after(60_000)).toEqual(nothing)
})

test('what is settled at once is never shown', () => {
  const it = world()
  it.look()
  it.is(asked(1))
  expect(it.is(asked())).toEqual(nothing)
  expect(it.after(QUIET_MS)).toEqual(nothing)
})

test('what is answered elsewhere is taken back', () => {
  const it = world()
  it.look()
  it.is(asked(1))
  it.after(QUIET_MS)
  const answered = sampleRecords({ questions: [sampleQuestion(1, { state: 'answered' })] })
  expect(it.is(answered).close).toEqual([Q1])
  // An answer that is taken back asks nobody a second time: somebody is at it.
  expect(it.is(asked(1))).toEqual(nothing)
})

test('a person who looks at the session gets none, then or later', () => {
  const it = world()
  it.looksAt(sessionId(1))
  expect(it.is(asked(1))).toEqual(nothing)
  expect(it.looksAt()).toEqual(nothing)
  expect(it.after(QUIET_MS)).toEqual(nothing)
})

test('looking at another session hides nothing', () => {
  const it = world()
  it.looksAt(sessionId(2))
  it.is(asked(1))
  expect(it.after(QUIET_MS).show).toEqual([Q1])
})

test('looking at the session, or opening the answer window, takes it back', () => {
  const it = world()
  it.look()
  it.is(asked(1, 2))
  expect(it.after(QUIET_MS).show).toHaveLength(2)
  expect(it.opens(Q1).close).toEqual([Q1])
  expect(it.looksAt(sessionId(1)).close).toEqual([`question ${questionId(2)}`])
  expect(it.looksAt()).toEqual(nothing)
})

test('a start shows the open questions anew, after a longer moment, and nothing that ended before', () => {
  const it = world(
    sampleRecords({
      sessions: [sampleSession(1), sampleSession(2, { state: 'finished' })],
      questions: [sampleQuestion(1)],
      requests: [sampleRequest(1)],
    }),
  )
  expect(it.look()).toEqual({ show: [], close: [], againMs: FIRST_QUIET_MS })
  expect(it.after(FIRST_QUIET_MS).show).toHaveLength(2)
})

test('an end is told, also of a session that came and ended between two looks', () => {
  const it = world()
  it.look()
  it.is(sampleRecords({ sessions: [sampleSession(1), sampleSession(3, { state: 'failed' })] }))
  expect(it.after(QUIET_MS).show).toEqual([
    `ended ${sessionId(3)} failed ${sampleSession().stateSince}`,
  ])
  // It goes on: the news is old.
  const again = sampleRecords({ sessions: [sampleSession(3, { state: 'resuming' })] })
  expect(it.is(again).close).toHaveLength(1)
})

test('switching a kind off takes back what is shown', () => {
  const it = world()
  it.look()
  it.is(asked(1))
  it.after(QUIET_MS)
  const off = sampleRecords({ questions: [sampleQuestion(1)], settings: { notify: [] } })
  expect(it.is(off).close).toEqual([Q1])
})

test('fifty questions of one turn come three at a time, and hold up no other session', () => {
  const many = Array.from({ length: 50 }, (_, at) => at + 1)
  const other = sampleQuestion(99, { session: sessionId(2) })
  const all = (numbers: number[]) =>
    sampleRecords({ questions: [...numbers.map((n) => sampleQuestion(n)), other] })
  const it = world()
  it.look()
  it.is(all(many))
  const first = it.after(QUIET_MS)
  expect(first.show).toEqual([
    ...[1, 2, 3].map((n) => `question ${questionId(n)}`),
    `question ${questionId(99)}`,
  ])
  expect(first.againMs).toBeUndefined()
  expect(it.is(all(many.slice(1)))).toMatchObject({
    close: [Q1],
    show: [`question ${questionId(4)}`],
  })
  it.putAway(`question ${questionId(2)}`)
  expect(it.look().show).toEqual([`question ${questionId(5)}`])
})

test('what a person puts away does not come back', () => {
  const it = world()
  it.look()
  it.is(asked(1))
  it.after(QUIET_MS)
  it.putAway(Q1)
  expect(it.after(1)).toEqual(nothing)
  expect(it.is(asked())).toEqual(nothing)
})

test('while nothing can show them questions wait, and ends are dropped', () => {
  const it = world()
  it.look()
  it.canShow(false)
  it.is(
    sampleRecords({
      sessions: [sampleSession(1), sampleSession(2, { state: 'finished' })],
      questions: [sampleQuestion(1)],
    }),
  )
  expect(it.after(60_000)).toEqual(nothing)
  expect(it.canShow(true).show).toEqual([Q1])
})

test('when what showed them dies, what still waits is shown anew', () => {
  const it = world()
  it.look()
  const both = sampleRecords({
    sessions: [sampleSession(1), sampleSession(2, { state: 'finished' })],
    questions: [sampleQuestion(1)],
  })
  it.is(both)
  expect(it.after(QUIET_MS).show).toHaveLength(2)
  it.lostAll()
  it.canShow(false)
  it.canShow(true)
  expect(it.after(QUIET_MS).show).toEqual([Q1])
})
