import { afterEach, beforeEach, expect, it } from 'vitest'
import { makeSample, type Sample } from '../workspace/sample-repository.ts'
import { LoopHarness, makeDelivery, makeSpec } from './loop-harness.ts'
import { RecordingDriver } from './recording-driver.ts'

let sample: Sample
beforeEach(async () => {
  sample = await makeSample()
})
afterEach(() => sample.remove())

/** A session whose first message is with its runtime. */
async function begun() {
  const driver = new RecordingDriver()
  const harness = await new LoopHarness(sample, { spec: makeSpec(sample), driver }).ready()
  const first = makeDelivery('first')
  harness.loop.deliver(first)
  await harness.untilAsked('send first')
  return { driver, harness, first }
}

it('a runtime that was lost twice before it recorded anything is begun anew, until it has', async () => {
  const { driver, harness, first } = await begun()
  driver.begin(first.id)
  driver.launches = [{ signals: [], fate: 'never' }]
  driver.die()
  expect(await harness.untilItem('undelivered')).toMatchObject({ fate: 'never' })

  // Core gives it again, and no turn has begun with it.
  harness.loop.deliver(first)
  await harness.untilAsked('send first', 2)
  driver.launches = [{ signals: [], fate: 'delivered' }]
  driver.die()
  await harness.untilItem('delivered')
  const told = () => driver.facts.map(({ turn, recorded }) => ({ turn, recorded }))
  expect(told()).toEqual([
    { turn: 1, recorded: false },
    { turn: 1, recorded: false },
  ])

  await harness.loop.release()
})

it('a runtime that has recorded one message is resumed, also with the next one in flight', async () => {
  const { driver, harness, first } = await begun()
  const second = makeDelivery('second')
  driver.take(first)
  driver.end()
  harness.loop.deliver(second)
  await harness.untilAsked('send second')
  driver.die()
  await harness.untilAsked('resume')
  const open = [{ id: second.id, inputs: second.inputs, steer: false }]
  expect(driver.facts).toMatchObject([{ turn: 1, recorded: true, openDeliveries: open }])
  await harness.loop.release()
})

it.each([
  ['ended in order', {} as const, true],
  ['was cut', { cut: true } as const, false],
])(
  'a turn that %s without a word of its message tells whether that is recorded',
  async (_how, how, recorded) => {
    const { driver, harness, first } = await begun()
    driver.begin(first.id)
    driver.end('failed', how)
    driver.die()
    await harness.untilAsked('resume')
    expect(driver.facts).toMatchObject([{ turn: 1, recorded }])
    await harness.loop.release()
  },
)
