import { expect, it } from 'vitest'
import { HandClock } from '../port/hand-clock.ts'
import { CrashLimit } from './crash-limit.ts'

it('takes three within a minute for too many', () => {
  const clock = new HandClock()
  const limit = new CrashLimit(clock)
  expect(limit.count(null)).toBe(false)
  clock.advance(30_000)
  expect(limit.count(null)).toBe(false)
  clock.advance(40_000)
  // The first is more than a minute ago.
  expect(limit.count(null)).toBe(false)
  expect(limit.count(null)).toBe(true)
})

it('takes three in a row that began no turn for too many, however slowly they come', () => {
  const clock = new HandClock()
  const limit = new CrashLimit(clock)
  const after = (turn: number | null) => {
    clock.advance(120_000)
    return limit.count(turn)
  }
  expect([after(4), after(4)]).toEqual([false, false])
  // Between turns there was nothing to begin one with.
  expect(after(null)).toBe(false)
  expect(after(5)).toBe(false)
  expect([after(5), after(5)]).toEqual([false, true])
})
