import { expect, it } from 'vitest'
import { MessageStream } from './message-stream.ts'

const line = (message: object) => ({
  kind: 'line' as const,
  text: JSON.stringify({ jsonrpc: '2.0', ...message }),
})

it('goes on with updates when the library closed its side, and ends in order', async () => {
  const updates: unknown[] = []
  const messages = new MessageStream(() => Promise.resolve(), {
    onUpdate: (params) => updates.push(params),
    onStrange: () => undefined,
  })
  await messages.stream.readable.cancel()
  messages.push(line({ id: 1, method: 'terminal/output', params: {} }))
  messages.push(line({ method: 'session/update', params: 'first' }))
  await messages.end()
  messages.push(line({ method: 'session/update', params: 'second' }))
  await messages.end()
  expect(updates).toEqual(['first', 'second'])
})
