import { expect, test } from 'vitest'
import type { Clock } from '../../src-core/index.ts'
import type { RecordChange, RecordFollow } from '../../src-shared/contract.ts'
import type { SessionId } from '../../src-shared/ids.ts'
import { Settings } from '../../src-shared/settings.ts'
import { allowName, commandOf, optionName } from './action.ts'
import { FIRST_QUIET_MS, QUIET_MS } from './decide.ts'
import type { Askable } from './notice.ts'
import { createNotifier } from './notifier.ts'
import type { Told } from './presenter.ts'
import {
  questionId,
  requestId,
  sampleProject,
  sampleQuestion,
  sampleRequest,
  sampleSession,
  sessionId,
} from './testing/samples.ts'

function clockInHand(): Clock & { pass(ms: number): Promise<void> } {
  let now = 0
  const timers = new Set<{ at: number; run: () => void }>()
  const settle = async () => {
    for (let n = 0; n < 20; n += 1) await Promise.resolve()
  }
  return {
    now: () => '2026-11-29T10:00:00.000Z',
    monotonic: () => now,
    after: (ms, run) => {
      const timer = { at: now + ms, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    pass: async (ms) => {
      const until = now + ms
      await settle()
      for (;;) {
        const due = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
        if (due === undefined) break
        timers.delete(due)
        now = due.at
        due.run()
        await settle()
      }
      now = until
    },
  }
}

const FIRST: RecordChange[] = [
  { record: 'project', id: sampleProject().id, value: sampleProject() },
  { record: 'session', id: sessionId(1), value: sampleSession(1) },
  { record: 'settings', id: 'settings', value: Settings.parse({}) },
]
const asked = (n: number): RecordChange => ({
  record: 'question',
  id: questionId(n),
  value: sampleQuestion(n),
})

async function setUp(first: RecordChange[] = FIRST) {
  const clock = clockInHand()
  const calls: unknown[] = []
  const seen: string[] = []
  const state = {
    lookedAt: new Set<SessionId>(),
    opened: [] as Askable[],
    report: 'ready' as 'ready' | 'missing',
    refuse: undefined as unknown,
    away: false,
  }
  let told: Told | undefined
  let give: ((answer: RecordFollow | Error) => void) | undefined
  const answer = (call: unknown) => {
    calls.push(call)
    return state.refuse === undefined ? Promise.resolve() : Promise.reject(state.refuse)
  }
  const notifier = createNotifier(
    {
      client: {
        records: {
          follow: (_input, { signal }) =>
            new Promise((resolve, reject) => {
              signal.addEventListener('abort', () => reject(new Error('aborted')))
              give = (given) => (given instanceof Error ? reject(given) : resolve(given))
            }),
        },
        questions: { answer },
        requests: {
          allow: (input) => answer({ allow: input }),
          deny: (input) => answer({ deny: input }),
        },
      },
      clock,
      log: { debug() {}, info() {}, warn() {}, error() {} },
      lookedAt: () => state.lookedAt,
      opened: () => state.opened,
      openAnswer: (asks) => seen.push(`answer window ${asks}`),
      openSession: (session) => seen.push(`session ${session}`),
      onRecords: ({ questions }) => seen.push(`${questions.size} questions`),
    },
    (given) => {
      told = given
      return {
        report: () => ({
          state: state.report,
          service: 'test',
          buttons: true,
          reply: true,
          problem: null,
        }),
        show: ({ key, title }) => seen.push(`show ${key.startsWith('refused') ? title : key}`),
        close: (key) => seen.push(`close ${key}`),
        end: async () => {
          seen.push('end')
        },
      }
    },
  )
  const follow = async (changes: RecordChange[], snapshot = false) => {
    give?.({ cursor: 'c', snapshot, changes })
    await clock.pass(0)
  }
  await follow(first, true)
  await clock.pass(FIRST_QUIET_MS + 100)
  const atStart = [...seen]
  seen.length = 0
  return {
    atStart,
    notifier,
    clock,
    calls,
    seen,
    state,
    follow,
    fail: async (error: Error) => {
      give?.(error)
      await clock.pass(0)
    },
    told: () => {
      if (told === undefined) throw new Error('no presenter')
      return told
    },
  }
}

const Q1 = `question ${questionId(1)}`

async function withQuestion() {
  const it = await setUp()
  await it.follow([asked(1)])
  await it.clock.pass(QUIET_MS + 100)
  expect(it.seen).toEqual(['1 questions', `show ${Q1}`])
  it.seen.length = 0
  return it
}

test('a button answers the question by its id, and twice is the same command', async () => {
  const it = await withQuestion()
  it.told().onButton(Q1, optionName(questionId(1), 2))
  it.told().onButton(Q1, optionName(questionId(1), 2))
  await it.clock.pass(0)
  const commandId = commandOf({ do: 'option', question: questionId(1), option: 2 })
  const call = { ref: questionId(1), commandId, options: [2] }
  expect(it.calls).toEqual([call, call])
  await it.follow([{ record: 'question', id: questionId(1), value: null }])
  await it.clock.pass(200)
  expect(it.seen).toEqual(['0 questions', `close ${Q1}`])
})

test('a reply answers it with its text; an empty one opens the answer window', async () => {
  const it = await withQuestion()
  it.told().onReply(Q1, 'Neither: use the gateway.')
  it.told().onReply(Q1, '  ')
  await it.clock.pass(0)
  expect(it.calls).toEqual([
    expect.objectContaining({ ref: questionId(1), text: 'Neither: use the gateway.' }),
  ])
  expect(it.seen).toEqual([`answer window ${questionId(1)}`])
})

test('a request is allowed and denied by its id', async () => {
  const it = await setUp()
  await it.follow([{ record: 'request', id: requestId(1), value: sampleRequest(1) }])
  await it.clock.pass(QUIET_MS + 100)
  const key = `request ${requestId(1)}`
  it.told().onButton(key, allowName(requestId(1)))
  it.told().onClick(key)
  await it.clock.pass(0)
  expect(it.calls).toEqual([{ allow: expect.objectContaining({ ref: requestId(1) }) }])
  expect(it.seen.at(-1)).toBe(`answer window ${requestId(1)}`)
})

test('a click on what ended shows its session', async () => {
  const it = await setUp()
  const value = sampleSession(1, { state: 'finished' })
  await it.follow([{ record: 'session', id: sessionId(1), value }])
  await it.clock.pass(QUIET_MS + 100)
  it.told().onClick(`ended ${sessionId(1)} finished`)
  expect(it.seen.at(-1)).toBe(`session ${sessionId(1)}`)
})

test('an answer that is refused is told, with the reason, and a click on that opens the window', async () => {
  const it = await withQuestion()
  it.state.refuse = Object.assign(new Error('refused'), {
    code: 'REFUSED',
    data: { code: 'question.answered', message: 'The planner answered it.' },
  })
  it.told().onButton(Q1, optionName(questionId(1), 1))
  await it.clock.pass(0)
  expect(it.seen).toEqual(['show The answer was not sent'])
  it.told().onClick(`refused ${Q1}`)
  expect(it.seen.at(-1)).toBe(`answer window ${questionId(1)}`)
})

test('a refusal that nothing can show opens the answer window', async () => {
  const it = await withQuestion()
  it.state.refuse = new Error('away')
  it.state.report = 'missing'
  it.told().onButton(Q1, optionName(questionId(1), 1))
  await it.clock.pass(0)
  expect(it.seen).toEqual([`answer window ${questionId(1)}`])
})

test('who looks at the session gets none, and it is taken back when they look', async () => {
  const it = await withQuestion()
  it.state.lookedAt = new Set([sessionId(1)])
  it.notifier.looked()
  await it.clock.pass(0)
  expect(it.seen).toEqual([`close ${Q1}`])
  await it.follow([asked(2)])
  await it.clock.pass(10_000)
  expect(it.seen).toEqual([`close ${Q1}`, '2 questions'])
})

test('a service that comes back shows what still waits', async () => {
  const it = await withQuestion()
  it.state.report = 'missing'
  it.told().onLost()
  it.told().onReport()
  await it.clock.pass(10_000)
  expect(it.seen).toEqual([])
  it.state.report = 'ready'
  it.told().onReport()
  await it.clock.pass(QUIET_MS)
  expect(it.seen.at(-1)).toBe(`show ${Q1}`)
})

test('a host that is away for a moment is asked again', async () => {
  const it = await setUp()
  await it.fail(new Error('away'))
  await it.clock.pass(250)
  await it.follow([asked(1)])
  await it.clock.pass(QUIET_MS + 100)
  expect(it.seen.at(-1)).toBe(`show ${Q1}`)
})

test('the start shows open questions after the window had time to show their session', async () => {
  const it = await setUp([...FIRST, asked(1)])
  expect(it.atStart).toEqual(['1 questions', `show ${Q1}`])
  await it.notifier.end()
  expect(it.seen).toEqual(['end'])
  await it.clock.pass(60_000)
  expect(it.seen).toEqual(['end'])
})
