import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Delivery } from '../../../src-shared/agent-wire.ts'
import type { DriverSignal, RuntimeSession } from '../driver.ts'
import { createClaudeCodeDriver } from './index.ts'
import { deliveryOf, Scene, scripted, startModel } from './testing/real-runtime.ts'

// Real programs on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const driver = createClaudeCodeDriver()
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('a message in the middle of a turn of the real Claude Code', () => {
  let model: Awaited<ReturnType<typeof startModel>>
  let scene: Scene
  let session: RuntimeSession
  let first: Delivery

  beforeAll(async () => {
    model = await startModel()
  })
  afterAll(() => model.close())
  beforeEach(async () => {
    scene = await Scene.make(model.url)
    session = await driver.start(scene.spec, scene.onSignal)
  })
  afterEach(() => scene.close())

  const bash = (command: string) => ({ tool: 'Bash', input: { command } })
  const untilThere = (name: string) =>
    bash(`until [ -e ${scene.root}/${name} ]; do sleep 0.05; done`)
  const make = async (name: string) => {
    const { writeFile } = await import('node:fs/promises')
    await writeFile(`${scene.root}/${name}`, '')
  }
  const begin = async (...steps: Readonly<Record<string, unknown>>[]) => {
    first = deliveryOf(scripted('One.', steps))
    await session.send(first)
    await scene.waitForSignal('turn.started')
  }
  const callMade = () =>
    scene.waitFor('a call', () =>
      scene.signals.some((signal) => signal.type === 'event' && signal.event.kind === 'tool.call'),
    )
  const of = <T extends DriverSignal['type']>(type: T) =>
    scene.signals.filter(
      (signal): signal is Extract<DriverSignal, { type: T }> => signal.type === type,
    )
  const lastSeen = () => JSON.stringify(model.requests().at(-1)?.messages)

  it('is taken after the current tool call, and told so', async () => {
    await begin(untilThere('go'), { text: 'Done.' })
    await callMade()
    const steered = deliveryOf('turn left')
    await session.steer(steered)
    await expect(session.steer(deliveryOf('and again'))).rejects.toMatchObject({
      code: 'runtime.not-written',
    })
    await make('go')
    await scene.waitForSignal('turn.ended')
    expect(of('turn.joined').map(({ deliveries }) => deliveries)).toEqual([[steered.id]])
    expect(of('turn.started')).toHaveLength(1)
    expect(lastSeen()).toContain('turn left')
    await scene.waitFor('both to be kept', () => of('delivered').length === 2)
    expect(of('delivered').map(({ deliveries }) => deliveries[0])).toEqual([first.id, steered.id])
  })

  it('that comes while the last text streams begins the next turn', async () => {
    await begin({ text: 'a text in two pieces', chunks: 2, gate: 'text' })
    await scene.waitForSignal('live')
    const steered = deliveryOf('too late')
    await session.steer(steered)
    model.release('text')
    await scene.waitForSignal('turn.ended', 2)
    expect(of('turn.joined')).toEqual([])
    expect(of('turn.started').map(({ deliveries }) => deliveries)).toEqual([
      [first.id],
      [steered.id],
    ])
    await scene.waitFor('both to be kept', () => of('delivered').length === 2)
  })

  it('is given back when the turn is interrupted first', async () => {
    await begin(bash('sleep 60'), { text: 'Done.' })
    await callMade()
    const steered = deliveryOf('never mind')
    await session.steer(steered)
    await session.interrupt()
    await scene.waitForSignal('turn.ended')
    expect(of('withdrawn').map(({ deliveries }) => deliveries)).toEqual([[steered.id]])
    const next = deliveryOf(scripted('Next.', [{ text: 'Yes.' }]))
    await session.send(next)
    await scene.waitForSignal('turn.ended', 2)
    expect(lastSeen()).not.toContain('never mind')
    expect(of('delivered').flatMap(({ deliveries }) => deliveries)).not.toContain(steered.id)
  })

  it('needs a running turn', async () => {
    await expect(session.steer(deliveryOf('hello'))).rejects.toMatchObject({
      code: 'runtime.not-written',
    })
  })

  for (const taken of [true, false]) {
    it(`after a kill: its fate is in the record, ${taken ? 'taken' : 'not taken'}`, async () => {
      await begin(untilThere('go'), { text: 'an answer', chunks: 2, gate: `kill ${taken}` })
      await callMade()
      const steered = deliveryOf('which way')
      await session.steer(steered)
      if (taken) {
        await make('go')
        await scene.waitFor('both to be kept', () => of('delivered').length === 2)
      } else await scene.waitForSignal('delivered')
      const [own] = await session.processes()
      process.kill(own?.pid ?? 0, 'SIGKILL')
      await scene.waitForSignal('exited')
      model.release(`kill ${taken}`)
      const openDeliveries = [
        { id: first.id, inputs: first.inputs, steer: false },
        { id: steered.id, inputs: steered.inputs, steer: true },
      ]
      const facts = scene.facts(session.conversation, { openDeliveries, turnCut: true })
      const again = await driver.resume(scene.spec, facts, scene.onSignal)
      expect(again.recovery.fates).toEqual(
        new Map([
          [first.id, 'delivered'],
          [steered.id, taken ? 'joined' : 'never'],
        ]),
      )
      await again.session.send(deliveryOf(scripted('On.', [{ text: 'Yes.' }])))
      await scene.waitForSignal('turn.ended', 2)
      expect(lastSeen().split('which way').length - 1).toBe(taken ? 1 : 0)
    })
  }

  it('images reach the model, between turns and in one', async () => {
    const images = [{ mediaType: 'image/png' as const, data: PNG }]
    await session.send({
      ...deliveryOf(scripted('Look.', [untilThere('go'), { text: 'Seen.' }])),
      images,
    })
    await scene.waitForSignal('turn.started')
    await callMade()
    expect(lastSeen()).toContain(PNG)
    await session.steer({ ...deliveryOf(''), images })
    await make('go')
    await scene.waitForSignal('turn.ended')
    expect(lastSeen().split(PNG).length - 1).toBe(2)
  })
})
