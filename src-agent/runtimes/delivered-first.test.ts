import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { DeliveryId } from '../../src-shared/ids.ts'
import { DeliveredFirst } from './delivered-first.ts'
import type { DriverSignal } from './driver.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const at = '2026-11-29T00:00:00.000Z'
const first = DeliveryId.parse('01934b43-0000-7000-8000-0000004c4b43')
const second = DeliveryId.parse('01934b43-0000-7000-8000-0000004c4b44')
const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

const started = (deliveries = [first]): DriverSignal => ({ type: 'turn.started', at, deliveries })
const delivered = (id = first): DriverSignal => ({ type: 'delivered', at, deliveries: [id] })
const said = (text: string): DriverSignal => ({
  type: 'event',
  at,
  event: { kind: 'assistant.text', text },
})
const live: DriverSignal = {
  type: 'live',
  offset: 0,
  block: { block: 'b', kind: 'assistant.text', text: 'a' },
}
const ended = (reason: 'completed' | 'killed' = 'completed'): DriverSignal => ({
  type: 'turn.ended',
  at,
  reason,
  durationMs: 1,
  usage,
  costUsd: 0,
})
const exited: DriverSignal = { type: 'exited', at, expected: false, detail: 'gone' }

function open() {
  const told: string[] = []
  const order = new DeliveredFirst((signal) => {
    const isText = signal.type === 'event' && signal.event.kind === 'assistant.text'
    told.push(isText && 'text' in signal.event ? signal.event.text : signal.type)
  })
  return {
    told,
    call: () => order.call(() => told.push('call')),
    take: (...signals: DriverSignal[]) => {
      for (const signal of signals) order.take(signal)
      return told
    },
  }
}

it('holds back what is said until the message is known to be kept, but no live text', () => {
  const { take } = open()
  expect(take(started(), live, said('one'), said('two'))).toEqual(['turn.started', 'live'])
  expect(take(delivered(), said('three'))).toEqual([
    ...['turn.started', 'live', 'delivered', 'one', 'two', 'three'],
  ])
})

it('holds back nothing of a turn whose message was kept before it began', () => {
  const { take } = open()
  expect(take(delivered(), started(), said('one'))).toEqual(['delivered', 'turn.started', 'one'])
})

it('does not wait longer than 300 ms', () => {
  const { take, told } = open()
  take(started(), said('one'))
  vi.advanceTimersByTime(299)
  expect(told).toEqual(['turn.started'])
  vi.advanceTimersByTime(1)
  expect(told).toEqual(['turn.started', 'one'])
  take(ended(), delivered())
  expect(told.slice(2)).toEqual(['delivered', 'turn.ended'])
})

it('takes a turn that ended in order for proof, and says delivered once', () => {
  const { take, told } = open()
  take(started(), said('one'), ended(), delivered())
  expect(told).toEqual(['turn.started', 'delivered', 'one', 'turn.ended'])
  take(started([second]), said('two'), ended(), delivered(second))
  expect(told.slice(4)).toEqual(['turn.started', 'delivered', 'two', 'turn.ended'])
})

it('takes a turn that was killed for no proof, and keeps nothing back of a runtime that is gone', () => {
  const { take } = open()
  expect(take(started(), said('one'), ended('killed'), exited)).toEqual([
    ...['turn.started', 'one', 'turn.ended', 'exited'],
  ])
})

it('tells a call after what the turn told before it', () => {
  const { take, call, told } = open()
  take(started(), said('one'))
  call()
  expect(told).toEqual(['turn.started'])
  take(said('two'), delivered())
  expect(told).toEqual(['turn.started', 'delivered', 'one', 'call', 'two'])
  call()
  expect(told.at(-1)).toBe('call')
})

it('lets nobody wait longer than 60 ms for the answer to a call', () => {
  const { take, call, told } = open()
  take(started(), said('one'))
  call()
  vi.advanceTimersByTime(59)
  expect(told).toEqual(['turn.started'])
  vi.advanceTimersByTime(1)
  expect(told).toEqual(['turn.started', 'one', 'call'])
})

it('holds back what follows a message that a running turn took', () => {
  const { take } = open()
  const joined: DriverSignal = { type: 'turn.joined', at, deliveries: [second] }
  expect(
    take(started(), delivered(), joined, said('reply'), delivered(second), said('more')),
  ).toEqual(['turn.started', 'delivered', 'turn.joined', 'delivered', 'reply', 'more'])
})
