import { expect, test } from 'vitest'
import type { Question } from '../../src-shared/questions.ts'
import type { Request, Session } from '../../src-shared/records.ts'
import { allowName, denyName, optionName } from './action.ts'
import type { Followed } from './followed.ts'
import {
  questionId,
  requestId,
  sampleProject,
  sampleQuestion,
  sampleRecords,
  sampleRequest,
  sampleSession,
  sessionId,
} from './testing/samples.ts'
import { thingsOf } from './wanted.ts'

const notices = (followed: Followed) =>
  [...thingsOf(followed).values()].flatMap((thing) => (thing === null ? [] : [thing.notice()]))

const questionNotice = (fields: Partial<Question>) =>
  notices(sampleRecords({ questions: [sampleQuestion(1, fields)] }))[0]

const requestNotice = (fields: Partial<Request>) =>
  notices(sampleRecords({ requests: [sampleRequest(1, fields)] }))[0]

const endedNotice = (fields: Partial<Session>) =>
  notices(sampleRecords({ sessions: [sampleSession(1, fields)] }))[0]

test('a question that a person has shows what is asked, its options and a reply', () => {
  expect(questionNotice({})).toEqual({
    key: `question ${questionId()}`,
    kind: 'question',
    session: sessionId(1),
    asks: questionId(),
    title: 'SHOP-1-Q1 asks · shop',
    body: 'Which limiter?',
    buttons: [
      { name: optionName(questionId(), 1), label: 'Sliding window (recommended)' },
      { name: optionName(questionId(), 2), label: 'Token bucket' },
    ],
    reply: true,
    urgency: 'normal',
    waits: true,
  })
})

test('a question that the planner has, or that is answered, is known and wants nothing', () => {
  for (const fields of [{ heldBy: 'planner' }, { state: 'answered' }] as const) {
    const records = sampleRecords({ questions: [sampleQuestion(1, fields)] })
    expect([...thingsOf(records)]).toEqual([[`question ${questionId()}`, null]])
  }
})

test('options that do not all fit are listed, and there is no button for any', () => {
  const four = ['a', 'b', 'c', 'd'].map((label) => ({ label, recommended: false }))
  expect(questionNotice({ options: four })).toMatchObject({
    body: 'Which limiter? 1. a · 2. b · 3. c · 4. d',
    buttons: [],
    reply: true,
  })
  const long = [{ label: 'x'.repeat(60), recommended: false }]
  expect(questionNotice({ options: long })?.buttons).toEqual([])
  const hidden = [{ label: 'yes\u202e', recommended: false }]
  expect(questionNotice({ options: hidden })?.buttons).toEqual([])
  expect(questionNotice({ multiple: true })?.buttons).toEqual([])
})

test('a question that cannot be read whole in a notification is not answered in it', () => {
  const notice = questionNotice({ question: `Delete ${'it all '.repeat(100)}?` })
  expect(notice).toMatchObject({ buttons: [], reply: false })
  expect([...(notice?.body ?? '')].length).toBeLessThanOrEqual(300)
  expect(questionNotice({ question: 'Which\u0007 limiter?\u202e' })).toMatchObject({
    body: expect.stringContaining('Which limiter?'),
    buttons: [],
    reply: false,
  })
})

test('a command that is shown whole can be allowed', () => {
  expect(requestNotice({})).toMatchObject({
    kind: 'request',
    asks: requestId(),
    title: 'SHOP-1 asks to use Bash · shop',
    body: 'npm publish',
    buttons: [
      { name: allowName(requestId()), label: 'Allow once' },
      { name: denyName(requestId()), label: 'Deny' },
    ],
    reply: false,
    waits: true,
  })
})

test.each<[string, Partial<Request>]>([
  ['its title is not the whole command', { input: '{"command":"npm publish\\nrm -rf ~"}' }],
  ['it is an edit', { toolKind: 'edit', title: 'a.ts', input: '{"file_path":"a.ts"}' }],
  ['it is a tool of somebody', { toolKind: 'mcp' }],
  ['its arguments are cut', { input: '{"command":"npm publish","x":"' }],
  ['its arguments are in a blob', { inputBlob: 'a'.repeat(64) as Request['inputBlob'] }],
  ['it holds invisible letters', { title: 'a\u200bb', input: '{"command":"a\\u200bb"}' }],
  ['it is long', { title: 'x'.repeat(400), input: `{"command":"${'x'.repeat(400)}"}` }],
])('a request is only denied in a notification where %s', (_why, fields) => {
  expect(requestNotice(fields)?.buttons.map(({ label }) => label)).toEqual(['Deny'])
})

test('ends are told in words', () => {
  expect(endedNotice({ state: 'finished' })).toMatchObject({
    kind: 'ended',
    title: 'SHOP-1 is finished · shop',
    body: 'Rate limit for the API',
    buttons: [],
    waits: false,
  })
  expect(
    endedNotice({ state: 'failed', reason: 'The remote is away.', hint: 'Try again.' }),
  ).toMatchObject({
    title: 'SHOP-1 failed · shop',
    body: 'Rate limit for the API: The remote is away. Try again.',
  })
  expect(endedNotice({ state: 'parked', outcome: 'needs_review' })?.title).toBe(
    'SHOP-1 wants a review · shop',
  )
  expect(endedNotice({ outcome: 'failed', reason: 'No tests here.' })).toMatchObject({
    title: 'SHOP-1 gave up · shop',
    body: 'Rate limit for the API: No tests here.',
  })
})

test.each<[string, Partial<Session>]>([
  ['waits', {}],
  ['was stopped by a person', { state: 'parked' }],
  [
    'works',
    { state: 'working', outcome: 'needs_review', turnStartedAt: sampleSession().createdAt },
  ],
  ['said that it is done, and is about to be finished', { outcome: 'done' }],
  ['was cancelled', { state: 'cancelled' }],
])('a session that %s makes no notification', (_why, fields) => {
  expect(endedNotice(fields)).toBeUndefined()
})

test('a stage that ended is one thing, also while its session parks and comes back', () => {
  const keys = (['waiting', 'parking', 'parked', 'resuming', 'waiting'] as const).map(
    (state) => endedNotice({ state, outcome: 'needs_review' })?.key,
  )
  expect(new Set(keys)).toEqual(new Set([`ended ${sessionId(1)} review 1`]))
})

test('each failure of a session is another thing', () => {
  const keyAt = (stateSince: string) => endedNotice({ state: 'failed', stateSince })?.key
  expect(keyAt('2026-11-29T10:00:00.000Z')).not.toBe(keyAt('2026-11-29T11:00:00.000Z'))
})

test('a kind that is switched off, in the settings or in the project, makes none', () => {
  const all = {
    sessions: [sampleSession(1), sampleSession(2, { state: 'failed' })],
    questions: [sampleQuestion()],
    requests: [sampleRequest()],
  }
  const kinds = (followed: Followed) => notices(followed).map(({ kind }) => kind)
  expect(kinds(sampleRecords(all))).toEqual(['question', 'request', 'ended'])
  expect(kinds(sampleRecords({ ...all, settings: { notify: ['ended'] } }))).toEqual(['ended'])
  const projects = [sampleProject({ notify: ['question'] })]
  expect(kinds(sampleRecords({ ...all, projects }))).toEqual(['question'])
  expect(kinds({ ...sampleRecords(all), settings: undefined })).toEqual([])
})
