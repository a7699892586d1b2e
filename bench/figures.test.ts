import { expect, it } from 'vitest'
import { atMost, figure, median, percentile, spread } from './figures.ts'

const hundred = Array.from({ length: 100 }, (_, index) => 100 - index)

it('a percentile is the nearest rank, not something between two values', () => {
  expect(percentile(hundred, 0.95)).toBe(95)
  expect(percentile([3, 1, 2], 0.95)).toBe(3)
  expect(median([4, 1, 2, 3])).toBe(2)
  expect(() => percentile([], 0.5)).toThrow('Nothing was measured.')
})

it('a percentile that the number of samples does not bear is not told', () => {
  expect(spread([5, 7])).toEqual({ p50: 5, max: 7 })
  expect(spread(hundred)).toEqual({ p50: 50, p95: 95, p99: 99, max: 100 })
})

it('a goal whose statistic was not measured is missed', () => {
  const facts = { bench: 'x', what: 'y', unit: 'ms', samples: 2, values: { p50: 5 } } as const
  expect(figure(facts, atMost('p50', 5, 'p50 at most 5 ms')).met).toBe(true)
  expect(figure(facts, atMost('p99', 5, 'p99 at most 5 ms')).met).toBe(false)
  expect(figure(facts)).toMatchObject({ goal: null, met: null })
})
