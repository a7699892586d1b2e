import { expect, it } from 'vitest'
import { createWireChannel } from './wire-channel.ts'

function channel() {
  const sent: unknown[] = []
  let closes = 0
  const wire = createWireChannel({
    send: (message) => sent.push(message),
    close: () => {
      closes += 1
    },
  })
  return { wire, sent, closes: () => closes }
}

it('keeps what comes before somebody listens, in order', () => {
  const { wire } = channel()
  wire.receive(1)
  wire.receive(2)
  const heard: unknown[] = []
  wire.channel.onMessage((message) => heard.push(message))
  wire.receive(3)
  expect(heard).toEqual([1, 2, 3])
})

it('has one listener', () => {
  const { wire } = channel()
  wire.channel.onMessage(() => undefined)
  expect(() => wire.channel.onMessage(() => undefined)).toThrow('one listener')
})

it('sends until it is closed and tells its end once, also to whoever comes late', async () => {
  const { wire, sent, closes } = channel()
  let ends = 0
  wire.channel.onClose(() => {
    ends += 1
  })
  wire.channel.send('a')
  wire.channel.close()
  expect(closes()).toBe(1)
  wire.closed()
  wire.closed()
  wire.channel.send('b')
  expect(sent).toEqual(['a'])
  expect(ends).toBe(1)
  await new Promise<void>((resolve) => wire.channel.onClose(resolve))
})
