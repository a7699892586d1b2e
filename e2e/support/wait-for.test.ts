import { expect, it } from 'vitest'
import { waitFor } from './wait-for.ts'

it('gives what the check found, once it found it', async () => {
  let looks = 0
  const found = await waitFor('the third look', () => ++looks === 3 && 'found', { everyMs: 1 })
  expect([found, looks]).toEqual(['found', 3])
})

it('counts zero and the empty text as found', async () => {
  expect(await waitFor('a number', () => 0)).toBe(0)
  expect(await waitFor('a text', () => '')).toBe('')
})

it('bears a check that fails at first', async () => {
  let looks = 0
  const check = (): string => {
    looks += 1
    if (looks < 3) throw new Error('not there')
    return 'there'
  }
  expect(await waitFor('it', check, { everyMs: 1 })).toBe('there')
})

it('says at the limit what it waited for, the last problem and the state', async () => {
  const check = (): never => {
    throw new Error('file is missing')
  }
  const waiting = waitFor('the file', check, { timeoutMs: 10, everyMs: 1, state: () => ({ n: 1 }) })
  await expect(waiting).rejects.toThrow(
    /in vain for: the file\n.*file is missing\nState: .*"n": 1/su,
  )
})
