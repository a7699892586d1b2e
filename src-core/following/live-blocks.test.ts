import { expect, test } from 'vitest'
import { SessionId } from '../../src-shared/ids.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import { LiveBlocks } from './live-blocks.ts'

const session = SessionId.parse('01930000-0000-7000-8000-000000000001')
const head = { session, seq: 1, at: '2026-11-29T12:00:00.000Z' }

const piece = (block: string, offset: number, text: string) => ({
  block,
  kind: 'assistant.text' as const,
  offset,
  text,
})

const shown = (live: LiveBlocks) => live.of(session).map(({ block, text }) => `${block}: ${text}`)

test('pieces follow each other; what is there is passed over, what is missing is not made up', () => {
  const live = new LiveBlocks()
  expect(live.append(session, piece('a', 0, 'one '))).toBe(true)
  expect(live.append(session, piece('a', 4, 'two '))).toBe(true)
  expect(live.append(session, piece('a', 0, 'one '))).toBe(true)
  expect(live.append(session, piece('a', 4, 'two three'))).toBe(true)
  expect(live.append(session, piece('a', 99, 'lost'))).toBe(false)
  expect(live.append(session, piece('b', 3, 'lost'))).toBe(false)
  expect(shown(live)).toEqual(['a: one two three'])
})

test('the event of a block ends it for good, and no other', () => {
  const live = new LiveBlocks()
  live.append(session, piece('a', 0, 'text'))
  live.append(session, piece('b', 0, 'other'))
  const event: TimelineEvent = { ...head, kind: 'assistant.text', text: 'text.', block: 'a' }
  live.stored(event)
  live.append(session, piece('a', 0, 'late'))
  expect(shown(live)).toEqual(['b: other'])
})

test('the result of a call ends its output', () => {
  const live = new LiveBlocks()
  live.append(session, { ...piece('out', 0, 'line'), kind: 'tool.output', callId: 'c1' })
  live.append(session, { ...piece('out2', 0, 'line'), kind: 'tool.output', callId: 'c2' })
  live.stored({ ...head, kind: 'tool.result', callId: 'c1', status: 'ok', output: 'line' })
  expect(shown(live)).toEqual(['out2: line'])
})

test('a client gets what it lacks, and the whole of a block that is another than it has', () => {
  const live = new LiveBlocks()
  live.append(session, piece('a', 0, 'hello'))
  expect(live.news(session, {})).toMatchObject([{ offset: 0, text: 'hello' }])
  expect(live.news(session, { a: 2 })).toMatchObject([{ offset: 2, text: 'llo' }])
  expect(live.news(session, { a: 5 })).toEqual([])
  expect(live.news(session, { a: 9 })).toMatchObject([{ offset: 0, text: 'hello' }])
  live.append(session, piece('constructor', 0, ''))
  expect(live.news(session, { a: 5 })).toMatchObject([{ block: 'constructor', text: '' }])
})

test('a block that goes without an event is told of', () => {
  const live = new LiveBlocks()
  live.append(session, piece('a', 0, 'x'))
  expect(live.anyGone(session, { a: 1 })).toBe(false)
  live.drop(session, 'a')
  expect(live.anyGone(session, { a: 1 })).toBe(true)
  expect(live.anyGone(session, {})).toBe(false)
  live.append(session, piece('a', 0, 'y'))
  live.clear(session)
  expect(live.of(session)).toEqual([])
})
