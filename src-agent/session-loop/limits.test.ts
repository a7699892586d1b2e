import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HandClock } from '../port/hand-clock.ts'
import { makeSample, type Sample } from '../workspace/sample-repository.ts'
import { LoopHarness, makeDelivery, makeSpec, until } from './loop-harness.ts'
import { ParkedScene } from './parked-scene.ts'
import { RecordingDriver } from './recording-driver.ts'
import { RUNTIME_LIMITS } from './runtime-keeper.ts'

let sample: Sample
let clock: HandClock
beforeEach(async () => {
  sample = await makeSample()
  clock = new HandClock()
})
afterEach(() => sample.remove())

const open = (driver = new RecordingDriver()) =>
  new LoopHarness(sample, { spec: makeSpec(sample), driver, clock })

describe('nothing waits for ever', () => {
  it('for a runtime that does not come up', async () => {
    const driver = new RecordingDriver()
    driver.launches = ['hang']
    const harness = open(driver).start()
    await harness.untilAsked('start')
    clock.advance(RUNTIME_LIMITS.start)
    expect(await harness.untilItem('ended')).toMatchObject({
      outcome: 'failed',
      refusal: { code: 'runtime.time-limit' },
    })
  })

  it('for preparing that does not yield: the session is not parked beside it, and goes on later', async () => {
    const scene = new ParkedScene(sample)
    const driver = scene.driver()
    let find: () => void = () => undefined
    const report = await driver.find()
    driver.find = () =>
      new Promise((resolve) => {
        find = () => resolve(report)
      })
    const harness = open(driver).start()
    await harness.untilItem('workspace')
    const parking = harness.loop.park(scene.order())
    await until('the limit', () => {
      clock.advance(1_000)
      return harness.items.at(-1)?.type === 'refused'
    })
    await parking
    expect(harness.items.at(-1)).toMatchObject({
      ...{ type: 'refused', what: 'park' },
      refusal: { code: 'session.not-yielded' },
    })
    // What ends late changes nothing.
    find()
    driver.find = async () => report
    harness.loop.deliver(makeDelivery('go on'))
    await harness.untilAsked('send go on')
    expect(driver.asked.filter((asked) => asked === 'start')).toHaveLength(1)
    await harness.loop.release()
  })

  it('for a runtime that does not take a message: it comes back, and its fate is asked', async () => {
    const harness = await open().ready()
    const delivery = makeDelivery('hello?')
    harness.driver.sends = ['hang']
    harness.driver.launches = [{ signals: [], fate: 'never' }]
    harness.loop.deliver(delivery)
    await harness.untilAsked('send hello?')
    clock.advance(RUNTIME_LIMITS.send)
    expect(await harness.untilItem('undelivered')).toMatchObject({
      delivery: delivery.id,
      fate: 'never',
    })
    expect(harness.driver.asked.slice(-2)).toEqual(['stop', 'resume'])
    await harness.loop.release()
  })

  it('for a turn that a message should begin', async () => {
    const harness = await open().ready()
    harness.driver.launches = [{ signals: [], fate: 'delivered' }]
    harness.loop.deliver(makeDelivery('hello?'))
    await harness.untilAsked('send hello?')
    clock.advance(RUNTIME_LIMITS.turnStart)
    await harness.untilItem('delivered')
    await harness.loop.release()
  })

  it('for a turn that does not stop: it is ended as interrupted, and the conversation goes on', async () => {
    const harness = await open().ready()
    const [first, next] = [makeDelivery('first'), makeDelivery('next')]
    harness.loop.deliver(first)
    await harness.untilAsked('send first')
    harness.driver.take(first)
    harness.driver.obeysInterrupts = false
    harness.loop.interrupt()
    harness.loop.deliver(next)
    clock.advance(RUNTIME_LIMITS.interrupt)
    await harness.untilAsked('send next')
    expect(harness.events('turn.ended')).toMatchObject([{ reason: 'interrupted', turn: 1 }])
    expect(harness.driver.facts[0]).toMatchObject({ turnCut: true, turn: 1 })
    await harness.loop.release()
  })

  it('for a host that does not store the push: the workspace is kept', async () => {
    const spec = makeSpec(sample)
    const harness = new LoopHarness(sample, { spec, clock, stores: false })
    await harness.ready()
    await sample.sh(spec.workspaceDir, 'commit', '--quiet', '--allow-empty', '--message=Work')
    const finished = harness.loop.finish('Done')
    await until('the push', () => harness.story().includes('finished'))
    clock.advance(60_000)
    await finished
    expect(await harness.untilItem('ended')).toMatchObject({ outcome: 'finished', kept: true })
    expect(harness.events('notice').map(({ code }) => code)).toContain('finish.kept')
  })
})
