import { expect, it } from 'vitest'
import { readMessagesRequest } from './messages.ts'

const result = (content: string) => ({ type: 'tool_result', tool_use_id: 't', content })
const text = { type: 'text', text: 'and this' }

function midTurn(content: object[], tool = 'bash'): unknown {
  const messages = [{ role: 'user', content }]
  const read = readMessagesRequest({ model: 'm', messages, tools: [{ name: tool }] })
  return typeof read === 'string' ? read : read.messages[0]?.midTurn
}

it('takes what stands behind a tool’s result of opencode as said in the turn', () => {
  expect(midTurn([result('out'), text])).toBe(true)
  expect(midTurn([text])).toBeUndefined()
  expect(midTurn([result('out')])).toBeUndefined()
  expect(midTurn([result('out'), text], 'Bash')).toBeUndefined()
})

it('takes it as said afterwards where the turn was cut', () => {
  expect(midTurn([result('[Tool execution was interrupted]'), text])).toBeUndefined()
})
