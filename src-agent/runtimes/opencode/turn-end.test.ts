import { expect, it } from 'vitest'
import { turnEndOf } from './turn-end.ts'

it('says what is wrong with a model that is not there, and not where in the program that was found', () => {
  const message = [
    'ProviderModelNotFoundError: Model not found: scripted/nope. Did you mean: m1?',
    '    at <anonymous> (/$bunfs/root/chunk-dn9bw1yz.js:439:94601)',
    '    at SessionPrompt.getModel (definition) (/$bunfs/root/chunk-p1c43e92.js:1142:908)',
  ].join('\n')
  expect(turnEndOf({ name: 'UnknownError', data: { message } })).toEqual({
    reason: 'failed',
    detail: 'Model not found: scripted/nope. Did you mean: m1?',
    hint: 'Choose a model in the project as `provider/model`: `opencode models` lists them.',
  })
})

it('leaves what a provider says as it is', () => {
  const message = 'Invalid request\n  at least one message is needed (see 3:14)'
  expect(turnEndOf({ name: 'APIError', data: { message, statusCode: 400 } }).detail).toBe(
    `${message} (400)`,
  )
})
