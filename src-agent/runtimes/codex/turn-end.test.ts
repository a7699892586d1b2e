import { expect, it } from 'vitest'
import { Turn } from './protocol.ts'
import { turnEndOf } from './turn-end.ts'

it('names the variable of a key that is missing, and where it belongs', () => {
  const message = 'Missing environment variable: `ACME_KEY`.'
  const turn = Turn.parse({
    id: 't1',
    status: 'failed',
    error: { message, codexErrorInfo: 'other' },
  })
  expect(turnEndOf(turn, null)).toEqual({
    reason: 'failed',
    detail: message,
    hint: expect.stringContaining('Set ACME_KEY in the environment of the project'),
  })
})
