import { expect, it } from 'vitest'
import { randomFrom } from './random.ts'

const take = (seed: string) => {
  const random = randomFrom(seed)
  return Array.from({ length: 20 }, () => random.whole(1, 6))
}

it('the same seed makes the same choices, another one makes others', () => {
  expect(take('a')).toEqual(take('a'))
  expect(take('a')).not.toEqual(take('b'))
  expect(new Set(take('a')).size).toBeGreaterThan(3)
})

it('what is forked does not depend on how much was taken before', () => {
  const [one, two] = [randomFrom('a'), randomFrom('a')]
  two.chance(0.5)
  expect(one.fork('x').between(0, 1)).toBe(two.fork('x').between(0, 1))
  expect(one.fork('x').between(0, 1)).not.toBe(one.fork('y').between(0, 1))
})

it('weights are kept, and what weighs nothing never comes', () => {
  const random = randomFrom('weights')
  const counts = { often: 0, seldom: 0, never: 0 }
  for (let index = 0; index < 1_000; index += 1) {
    counts[random.weighted({ often: 9, seldom: 1, never: 0 })] += 1
  }
  expect(counts.never).toBe(0)
  expect(counts.seldom).toBeGreaterThan(50)
  expect(counts.seldom).toBeLessThan(200)
})
