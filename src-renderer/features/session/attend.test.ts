import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { attending } from './attend.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('who writes is told of at once and every 30 s, until they stop', () => {
  const tell = vi.fn()
  const end = attending(tell)
  expect(tell).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(29_999)
  expect(tell).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(60_001)
  expect(tell).toHaveBeenCalledTimes(4)
  end()
  vi.advanceTimersByTime(600_000)
  expect(tell).toHaveBeenCalledTimes(4)
})
