import { expect, test } from 'vitest'
import { QuestionId, RequestId } from '../../src-shared/ids.ts'
import { allowName, commandOf, denyName, optionName, readAction } from './action.ts'

const question = QuestionId.parse('01930000-0000-7000-8000-000000000001')
const request = RequestId.parse('01930000-0000-7000-8000-000000000002')

test('the name of a button carries what it is about', () => {
  expect(readAction(optionName(question, 2))).toEqual({ do: 'option', question, option: 2 })
  expect(readAction(allowName(request))).toEqual({ do: 'allow', request })
  expect(readAction(denyName(request))).toEqual({ do: 'deny', request })
})

test.each([
  ...['default', 'inline-reply', '', ':', 'option-2', `option-0:${question}`, 'allow:1'],
  ...[`option-2:${question}x`, `option-100:${question}`, `open:${question}`, `:${question}`],
])('%j is no button of Ballet’s', (name) => {
  expect(readAction(name)).toBeUndefined()
})

test('the same action is the same command, and another one is another', () => {
  const first = commandOf({ do: 'option', question, option: 1 })
  expect(commandOf({ do: 'option', question, option: 1 })).toBe(first)
  const others = [
    commandOf({ do: 'option', question, option: 2 }),
    commandOf({ do: 'reply', question, text: '1' }),
    commandOf({ do: 'reply', question, text: '2' }),
    commandOf({ do: 'allow', request }),
    commandOf({ do: 'deny', request }),
  ]
  expect(new Set([first, ...others]).size).toBe(6)
})
