import { expect, it } from 'vitest'
import { progressCount, shareOf } from './progress.tsx'

it('progress is told as far as the agent told it', () => {
  expect(progressCount({ done: 3, total: 8 })).toBe('3 of 8')
  expect(progressCount({ done: 3 })).toBe('3 done')
  expect(progressCount({ total: 8 })).toBe('')
  expect(shareOf({ done: 2, total: 8 })).toBe(0.25)
  expect(shareOf({ done: 0, total: 0 })).toBeUndefined()
  expect(shareOf({ done: 3 })).toBeUndefined()
})
