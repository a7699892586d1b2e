import { afterEach, beforeEach, expect, test } from 'vitest'
import { HandClock } from '../port/hand-clock.ts'
import type { McpServerAddress } from '../runtimes/driver.ts'
import { makeSample, type Sample } from '../workspace/sample-repository.ts'
import { LoopHarness, makeDelivery, makeSpec, until } from './loop-harness.ts'
import { RecordingDriver } from './recording-driver.ts'

let sample: Sample
beforeEach(async () => {
  sample = await makeSample()
})
afterEach(() => sample.remove())

const open = () =>
  new LoopHarness(sample, { spec: makeSpec(sample), driver: new RecordingDriver() })

const serverOf = (harness: LoopHarness) =>
  harness.driver.specs.at(-1)?.mcpServers[0] as McpServerAddress

/** Calls a tool as the runtime would; gives what the model gets. */
async function call({ url, token }: McpServerAddress, name: string, args: object) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args },
    }),
  })
  const { result } = (await response.json()) as { result: { content: { text: string }[] } }
  return { ...result, text: result.content[0]?.text ?? '' }
}

test('a call becomes an item with its turn, and returns with what Core says', async () => {
  const harness = await open().ready()
  const delivery = makeDelivery('go')
  harness.loop.deliver(delivery)
  await harness.untilAsked('send go')
  harness.driver.take(delivery)
  const answer = call(serverOf(harness), 'ask_question', { question: 'Which?' })
  const item = await harness.untilItem('mcp.call')
  expect(item).toMatchObject({
    turn: 1,
    made: { tool: 'ask_question', question: expect.any(String), asked: { question: 'Which?' } },
  })
  harness.loop.answerCall('another', { isError: false, text: 'Not this one.' })
  harness.loop.answerCall(item.call, { isError: false, text: 'Recorded as SHOP-1-Q1.' })
  expect((await answer).text).toBe('Recorded as SHOP-1-Q1.')
  await harness.loop.release()
})

test('a call stands behind its message and what the turn told before it', async () => {
  const harness = await open().ready()
  const delivery = makeDelivery('go')
  harness.loop.deliver(delivery)
  await harness.untilAsked('send go')
  harness.driver.begin(delivery.id)
  harness.driver.tell({ kind: 'assistant.text', text: 'I ask.' })
  const answer = call(serverOf(harness), 'ask_question', { question: 'Which?' })
  // What is held back goes on without this after a moment.
  setTimeout(() => harness.driver.keep(delivery.id), 30)
  const item = await harness.untilItem('mcp.call')
  expect(item).toMatchObject({ turn: 1 })
  expect(harness.story().slice(-4)).toEqual([
    ...['turn.started', 'delivered', 'assistant.text', 'mcp.call'],
  ])
  harness.loop.answerCall(item.call, { isError: false, text: 'Recorded.' })
  expect((await answer).text).toBe('Recorded.')
  await harness.loop.release()
})

test('a call is answered soon though nothing says that its message is kept', async () => {
  const harness = await open().ready()
  const delivery = makeDelivery('go')
  harness.loop.deliver(delivery)
  await harness.untilAsked('send go')
  harness.driver.begin(delivery.id)
  harness.driver.tell({ kind: 'assistant.text', text: 'I ask.' })
  const answer = call(serverOf(harness), 'ask_question', { question: 'Which?' })
  const item = await harness.untilItem('mcp.call')
  harness.loop.answerCall(item.call, { isError: false, text: 'Recorded.' })
  await answer
  harness.driver.keep(delivery.id)
  await harness.untilItem('delivered')
  expect(harness.story().slice(-4)).toEqual([
    ...['turn.started', 'assistant.text', 'mcp.call', 'delivered'],
  ])
  await harness.loop.release()
})

test('the server outlives its runtime, and is gone with the lease', async () => {
  const harness = await open().ready()
  const server = serverOf(harness)
  harness.driver.die()
  harness.loop.deliver(makeDelivery('again'))
  await harness.untilAsked('send again')
  expect(serverOf(harness)).toEqual(server)
  const answer = call(server, 'report_progress', { summary: 'Half.' })
  const item = await harness.untilItem('mcp.call')
  expect(item).not.toHaveProperty('turn')
  harness.loop.answerCall(item.call, { isError: false, text: 'Noted.' })
  expect((await answer).text).toBe('Noted.')
  await harness.loop.release()
  await expect(fetch(server.url)).rejects.toThrow()
})

test('an interrupt leaves it and the calls that are open', async () => {
  const harness = await open().ready()
  const delivery = makeDelivery('go')
  harness.loop.deliver(delivery)
  await harness.untilAsked('send go')
  harness.driver.take(delivery)
  const answer = call(serverOf(harness), 'ask_question', { question: 'Which?' })
  const item = await harness.untilItem('mcp.call')
  harness.loop.interrupt()
  await until('the turn to end', () => harness.events('turn.ended').length === 1)
  harness.loop.answerCall(item.call, { isError: false, text: 'Recorded.' })
  expect((await answer).text).toBe('Recorded.')
  await harness.loop.release()
})

test('a call that nobody answers tells the model not to ask again', async () => {
  const clock = new HandClock()
  const harness = new LoopHarness(sample, { spec: makeSpec(sample), clock })
  await harness.ready()
  const answer = call(serverOf(harness), 'ask_question', { question: 'Which?' })
  await harness.untilItem('mcp.call')
  clock.advance(10_000)
  expect(await answer).toMatchObject({
    isError: true,
    text: expect.stringContaining('Do not ask again: end your turn now'),
  })
  await harness.loop.release()
})

test('a call that does not fit is answered at once and told to nobody', async () => {
  const harness = await open().ready()
  const answer = await call(serverOf(harness), 'ask_question', { question: ' ' })
  expect(answer).toMatchObject({
    isError: true,
    text: expect.stringContaining('must not be empty'),
  })
  expect(harness.story()).not.toContain('mcp.call')
  await harness.loop.release()
})

test('a host that is gone closes it too', async () => {
  const harness = await open().ready()
  const { url } = serverOf(harness)
  await harness.loop.handOver(1_000, () => undefined)
  await until('the server to be closed', () =>
    fetch(url).then(
      () => false,
      () => true,
    ),
  )
})
