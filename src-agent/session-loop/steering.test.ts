import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Delivery } from '../../src-shared/agent-wire.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { makeSample, type Sample } from '../workspace/sample-repository.ts'
import { LoopHarness, makeDelivery, makeSpec, until } from './loop-harness.ts'
import { RecordingDriver } from './recording-driver.ts'

let sample: Sample
beforeEach(async () => {
  sample = await makeSample()
})
afterEach(() => sample.remove())

const steered = (text: string): Delivery => ({ ...makeDelivery(text), steer: true })

/** A session in the middle of its first turn. */
async function inTurn(): Promise<{ harness: LoopHarness; first: Delivery }> {
  const driver = new RecordingDriver()
  const harness = await new LoopHarness(sample, { spec: makeSpec(sample), driver }).ready()
  const first = makeDelivery('work')
  harness.loop.deliver(first)
  await harness.untilAsked('send work')
  harness.driver.take(first)
  return { harness, first }
}

const delivered = ({ items }: LoopHarness) =>
  items.flatMap((item) =>
    item.type === 'delivered' ? [{ delivery: item.delivery, steer: item.steer === true }] : [],
  )

test('messages for the running turn go to the runtime one at a time, and are told as such', async () => {
  const { harness, first } = await inTurn()
  const [left, right] = [steered('left'), steered('right')]
  harness.loop.deliver(left)
  harness.loop.deliver(right)
  await harness.untilAsked('steer left')
  expect(harness.driver.asked).not.toContain('steer right')
  harness.driver.join(left.id)
  await harness.untilAsked('steer right')
  harness.driver.join(right.id)
  harness.driver.end()
  await until('all to be told', () => delivered(harness).length === 3)
  expect(delivered(harness)).toEqual([
    { delivery: first.id, steer: false },
    { delivery: left.id, steer: true },
    { delivery: right.id, steer: true },
  ])
  await harness.loop.release()
})

test('a message for the running turn stands before the reply to it', async () => {
  const { harness } = await inTurn()
  const left = steered('left')
  harness.loop.deliver(left)
  await harness.untilAsked('steer left')
  harness.driver.beginJoin(left.id)
  harness.driver.tell({ kind: 'assistant.text', text: 'Left, then.' })
  harness.driver.keep(left.id)
  await until('the reply', () => harness.events('assistant.text').length === 1)
  expect(harness.story().slice(-2)).toEqual(['delivered', 'assistant.text'])
  await harness.loop.release()
})

test('what a turn did not take any more begins the next one; others wait for it', async () => {
  const { harness, first } = await inTurn()
  const [late, later] = [steered('late'), makeDelivery('later')]
  harness.loop.deliver(late)
  await harness.untilAsked('steer late')
  harness.driver.end()
  harness.loop.deliver(later)
  harness.driver.take(late)
  harness.driver.end()
  await harness.untilAsked('send later')
  expect(harness.driver.asked.slice(-2)).toEqual(['steer late', 'send later'])
  await until('the turns to be told', () => harness.events('turn.ended').length === 2)
  expect(harness.events('turn.started').map(({ inputs }) => inputs)).toEqual([
    first.inputs,
    late.inputs,
  ])
  expect(delivered(harness)).toContainEqual({ delivery: late.id, steer: false })
  await harness.loop.release()
})

test('where no turn runs it begins one', async () => {
  const driver = new RecordingDriver()
  const harness = await new LoopHarness(sample, { spec: makeSpec(sample), driver }).ready()
  harness.loop.deliver(steered('hello'))
  await harness.untilAsked('send hello')
  await harness.loop.release()
})

test('what came before its turn began waits for it', async () => {
  const driver = new RecordingDriver()
  const harness = await new LoopHarness(sample, { spec: makeSpec(sample), driver }).ready()
  const first = makeDelivery('work')
  harness.loop.deliver(first)
  await harness.untilAsked('send work')
  harness.loop.deliver(steered('left'))
  expect(harness.driver.asked).not.toContain('steer left')
  harness.driver.take(first)
  await harness.untilAsked('steer left')
  await harness.loop.release()
})

test('what the runtime does not take, or gives back, was never delivered', async () => {
  const { harness } = await inTurn()
  const [refused, withdrawn] = [steered('refused'), steered('withdrawn')]
  harness.driver.sends = [new BalletError({ code: 'runtime.not-written', message: 'no turn' })]
  harness.loop.deliver(refused)
  const undelivered = () =>
    harness.items.flatMap((item) =>
      item.type === 'undelivered' ? [`${item.delivery} ${item.fate}`] : [],
    )
  await until('the first', () => undelivered().length === 1)
  harness.loop.deliver(withdrawn)
  await harness.untilAsked('steer withdrawn')
  harness.driver.withdraw(withdrawn.id)
  await until('the second', () => undelivered().length === 2)
  expect(undelivered()).toEqual([`${refused.id} never`, `${withdrawn.id} never`])
  harness.driver.end()
  harness.loop.deliver(makeDelivery('next'))
  await harness.untilAsked('send next')
  await harness.loop.release()
})

for (const fate of ['joined', 'never'] as const) {
  test(`after the death of the runtime its fate is asked: ${fate}`, async () => {
    const { harness } = await inTurn()
    const left = steered('left')
    harness.loop.deliver(left)
    await harness.untilAsked('steer left')
    harness.driver.launches = [{ signals: [], fate }]
    harness.driver.die()
    await harness.untilAsked('resume')
    expect(harness.driver.facts[0]?.openDeliveries).toEqual([
      { id: left.id, inputs: left.inputs, steer: true },
    ])
    if (fate === 'never') {
      expect(await harness.untilItem('undelivered')).toMatchObject({ delivery: left.id, fate })
    } else {
      await until('it to be delivered', () => delivered(harness).length === 2)
      expect(delivered(harness)[1]).toEqual({ delivery: left.id, steer: true })
    }
    await harness.loop.release()
  })
}

test('a message that waits comes again where the runtime has to be told with it what it did not record', async () => {
  const { harness } = await inTurn()
  harness.driver.end()
  const notice = { kind: 'notice' as const, level: 'warning' as const, code: 'record.behind' }
  const event = { ...notice, text: 'It lacks the end.' }
  harness.driver.launches = [{ signals: [{ type: 'event', at: new Date().toISOString(), event }] }]
  harness.driver.die()
  const waits = makeDelivery('waits')
  harness.loop.deliver(waits)
  const told = await harness.untilItem('undelivered')
  expect(told).toMatchObject({ delivery: waits.id, fate: 'never' })
  expect(harness.items.indexOf(told)).toBeGreaterThan(
    harness.items.findIndex(
      (item) =>
        item.type === 'event' &&
        item.event.kind === 'notice' &&
        item.event.code === 'record.behind',
    ),
  )
  expect(harness.driver.asked).not.toContain('send waits')
  harness.loop.deliver(waits)
  await harness.untilAsked('send waits')
  await harness.loop.release()
})
