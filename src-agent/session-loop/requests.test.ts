import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { RequestId } from '../../src-shared/ids.ts'
import { makeSample, type Sample } from '../workspace/sample-repository.ts'
import { LoopHarness, makeDelivery, makeSpec } from './loop-harness.ts'
import { RecordingDriver } from './recording-driver.ts'

let sample: Sample
beforeEach(async () => {
  sample = await makeSample()
})
afterEach(() => sample.remove())

const open = () =>
  new LoopHarness(sample, { spec: makeSpec(sample), driver: new RecordingDriver() })

test('tells whether the runtime got the answer to a request', async () => {
  const harness = await open().ready()
  const [asked, late] = [RequestId.parse(randomUUID()), RequestId.parse(randomUUID())]
  harness.loop.answerRequest(asked, { outcome: 'allow' })
  expect(await harness.untilItem('request.answered')).toMatchObject({ request: asked })
  harness.driver.die()
  harness.loop.answerRequest(late, { outcome: 'deny', text: 'no' })
  expect(await harness.untilItem('request.unanswered')).toMatchObject({
    request: late,
    reason: expect.stringContaining('does not run'),
  })
  await harness.loop.release()
})

test('tells of requests with what Core keeps of them, and of those that are withdrawn', async () => {
  const harness = await open().ready()
  const delivery = makeDelivery('go')
  harness.loop.deliver(delivery)
  await harness.untilAsked('send go')
  harness.driver.take(delivery)
  const request = RequestId.parse(randomUUID())
  const facts = { digest: 'a'.repeat(64), rules: [{ type: 'x' }], ruleTexts: ['every x'] }
  const event = { kind: 'request.opened', request, callId: 'c', toolKind: 'edit' } as const
  harness.driver.ask({ ...event, title: 'a.txt', input: '{}' }, facts)
  harness.driver.unask(request)
  expect(await harness.untilItem('request.withdrawn')).toMatchObject({ request })
  expect(harness.items.find((item) => item.type === 'event' && item.request)).toMatchObject({
    event: { ...event, turn: 1 },
    request: facts,
  })
  await harness.loop.release()
})

test('starts a runtime again with what was allowed for the session', async () => {
  const harness = await open().ready()
  expect(harness.driver.specs[0]?.grants).toEqual([])
  const grants = [{ digest: 'b'.repeat(64), rules: [{ type: 'addRules' }] }]
  harness.loop.answerRequest(
    RequestId.parse(randomUUID()),
    { outcome: 'allow-for-session' },
    grants,
  )
  harness.driver.die()
  harness.loop.deliver(makeDelivery('again'))
  await harness.untilAsked('send again')
  expect(harness.driver.specs.at(-1)?.grants).toEqual(grants)
  await harness.loop.release()
})
