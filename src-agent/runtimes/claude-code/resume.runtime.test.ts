import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { DriverSignal, RuntimeSession } from '../driver.ts'
import { createClaudeCodeDriver } from './index.ts'
import { deliveryOf, Scene, scripted, startModel } from './testing/real-runtime.ts'
import { tell } from './testing/replay.ts'
import { slugOf } from './transcript.ts'

// Real programs on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const driver = createClaudeCodeDriver()

describe('resuming a conversation of the real Claude Code', () => {
  let model: Awaited<ReturnType<typeof startModel>>
  let scene: Scene

  beforeAll(async () => {
    model = await startModel()
  })
  afterAll(() => model.close())
  beforeEach(async () => {
    scene = await Scene.make(model.url)
  })
  afterEach(() => scene.close())

  const kill = async (session: RuntimeSession) => {
    const [runtime] = await session.processes()
    process.kill(runtime?.pid ?? 0, 'SIGKILL')
    await scene.waitForSignal('exited')
  }

  const transcript = (session: { conversation: string }) =>
    join(scene.configDir, 'projects', slugOf(scene.cwd), `${session.conversation}.jsonl`)

  /** `ref`s of what was told, as the timeline stores them. */
  const refs = (signals: readonly DriverSignal[]) =>
    signals.flatMap((signal) =>
      signal.type === 'event' && signal.event.ref !== undefined ? [signal.event.ref] : [],
    )

  const goOn = async (session: RuntimeSession, earlier: string) => {
    const ends = scene.signals.filter((signal) => signal.type === 'turn.ended').length
    await session.send(deliveryOf(scripted('Go on.', [{ text: 'Going on.' }])))
    await scene.waitForSignal('turn.ended', ends + 1)
    expect(scene.told()).toContain('text: Going on.')
    expect(JSON.stringify(model.requests().at(-1)?.messages)).toContain(earlier)
    await session.stop()
  }

  it('after kill -9 in the middle of a tool: recovers what was not stored, once', async () => {
    const session = await driver.start(scene.spec, scene.onSignal)
    const delivery = deliveryOf(
      scripted('First words.', [
        { text: 'Looking.', tool: 'Bash', input: { command: 'echo seen' } },
        { text: 'Waiting.', tool: 'Bash', input: { command: 'sleep 300' } },
      ]),
    )
    await session.send(delivery)
    await scene.waitFor('the second call', () =>
      scene.told().some((line) => line.endsWith('Bash: sleep 300')),
    )
    await scene.waitFor('its row', async () =>
      (await readFile(transcript(session), 'utf8').catch(() => '')).includes('sleep 300"}'),
    )
    await kill(session)
    const stored = refs(scene.signals)
    expect(new Set(stored).size).toBe(stored.length)

    // Nothing was lost: nothing is recovered.
    const facts = scene.facts(session.conversation, { turnCut: true, storedRefs: stored })
    const again = await driver.resume(scene.spec, facts, scene.onSignal)
    expect(again.recovery).toEqual({ signals: [], fates: new Map() })
    expect(again.session.conversation).toBe(session.conversation)
    await again.session.stop()

    // What the timeline tells and the record holds is not missed; what comes after it was not recorded any more.
    const told = stored.map((ref) => ({ ref, text: `said: ${ref}` }))
    const whole = await driver.resume(scene.spec, { ...facts, told }, scene.onSignal)
    expect(whole.recovery.signals).toEqual([])
    await whole.session.stop()
    const more = { ...facts, told: [...told, { ref: 'never-recorded', text: 'said: Gone.' }] }
    const behind = await driver.resume(scene.spec, more, scene.onSignal)
    expect(behind.recovery.signals).toMatchObject([
      {
        type: 'event',
        event: {
          ...{ kind: 'notice', level: 'warning', code: 'record.behind' },
          text: expect.stringMatching(/ended before it had recorded .*\n- said: Gone\.$/su),
        },
      },
    ])
    await behind.session.stop()
    // Of another conversation nothing is missed.
    const other = { ...facts, told: [{ ref: 'of-another', text: 'said: Elsewhere.' }] }
    const elsewhere = await driver.resume(scene.spec, other, scene.onSignal)
    expect(elsewhere.recovery.signals).toEqual([])
    await elsewhere.session.stop()

    // The last three entries were lost with the agent.
    const lossy = { ...facts, storedRefs: stored.slice(0, -3) }
    const { session: resumed, recovery } = await driver.resume(scene.spec, lossy, scene.onSignal)
    expect(tell(recovery.signals)).toEqual([
      'result ok: seen',
      'text: Waiting.',
      'call execute Bash: sleep 300',
      'result unknown: ',
    ])
    await goOn(resumed, 'First words.')
  })

  it('after kill -9 in the middle of a stream, with an open delivery that the runtime holds', async () => {
    const session = await driver.start(scene.spec, scene.onSignal)
    await session.send(deliveryOf(scripted('Before.', [{ text: 'Done before.' }])))
    await scene.waitForSignal('turn.ended')
    const delivery = deliveryOf(
      scripted('Tell.', [{ text: 'A long story.', chunks: 12, delay: 300 }]),
    )
    await session.send(delivery)
    await scene.waitForSignal('live', 2)
    await scene.waitForSignal('delivered', 2)
    await kill(session)
    expect(scene.told().filter((line) => line.startsWith('text (cut)'))).toHaveLength(1)
    const openDeliveries = [{ id: delivery.id, inputs: delivery.inputs, steer: false }]
    const facts = scene.facts(session.conversation, { openDeliveries, turnCut: true, turn: 2 })
    const { session: resumed, recovery } = await driver.resume(scene.spec, facts, scene.onSignal)
    expect(recovery).toEqual({ signals: [], fates: new Map([[delivery.id, 'delivered']]) })
    await goOn(resumed, 'Before.')
  })

  it('the only message without an answer is still proven', async () => {
    const session = await driver.start(scene.spec, scene.onSignal)
    const delivery = deliveryOf(scripted('Think.', [{ wait: 60_000, text: 'Late.' }]))
    await session.send(delivery)
    await scene.waitForSignal('delivered')
    await kill(session)
    const openDeliveries = [{ id: delivery.id, inputs: delivery.inputs, steer: false }]
    // The turn never reached the timeline: it is told whole.
    const facts = scene.facts(session.conversation, { openDeliveries, turn: 0 })
    const { session: resumed, recovery } = await driver.resume(scene.spec, facts, scene.onSignal)
    expect(recovery.fates.get(delivery.id)).toBe('delivered')
    expect(tell(recovery.signals)).toEqual([
      'turn.started 1',
      expect.stringMatching(/^turn.ended killed/),
    ])
    await goOn(resumed, 'Think.')
  })

  it('a message that died with the runtime was never delivered, and is not in the next request', async () => {
    const session = await driver.start(scene.spec, scene.onSignal)
    await session.send(deliveryOf(scripted('Kept.', [{ text: 'Yes.' }])))
    await scene.waitForSignal('turn.ended')
    await scene.waitForSignal('delivered')
    await kill(session)
    const lost = deliveryOf('Lost words.')
    const openDeliveries = [{ id: lost.id, inputs: lost.inputs, steer: false }]
    const facts = scene.facts(session.conversation, { openDeliveries, turnCut: true, turn: 2 })
    const { session: resumed, recovery } = await driver.resume(scene.spec, facts, scene.onSignal)
    expect(recovery).toEqual({ signals: [], fates: new Map([[lost.id, 'never']]) })
    await goOn(resumed, 'Kept.')
    expect(JSON.stringify(model.requests().at(-1)?.messages)).not.toContain('Lost words.')
  })

  it('a conversation that never got a message begins anew under the same id', async () => {
    const session = await driver.start(scene.spec, scene.onSignal)
    await kill(session)
    const facts = scene.facts(session.conversation, { turn: 0 })
    const { session: resumed, recovery } = await driver.resume(scene.spec, facts, scene.onSignal)
    expect(resumed.conversation).toBe(session.conversation)
    expect(recovery).toEqual({ signals: [], fates: new Map() })
    await resumed.send(deliveryOf(scripted('Hello.', [{ text: 'Hi.' }])))
    await scene.waitForSignal('turn.ended')
    await resumed.stop()
  })

  it('a file without a message: begins anew under another id', async () => {
    const session = await driver.start(scene.spec, scene.onSignal)
    await session.send(deliveryOf(scripted('Hello.', [{ text: 'Hi.' }])))
    await scene.waitForSignal('delivered')
    await session.stop()
    await writeFile(transcript(session), '{"type":"queue-operation"}\n{"type":"us')
    const facts = scene.facts(session.conversation, { turn: 0 })
    const { session: resumed } = await driver.resume(scene.spec, facts, scene.onSignal)
    expect(resumed.conversation).not.toBe(session.conversation)
    await resumed.stop()
  })

  it('says so when the record is gone, and leaves nothing running', async () => {
    const session = await driver.start(scene.spec, scene.onSignal)
    await session.send(deliveryOf(scripted('Hello.', [{ text: 'Hi.' }])))
    await scene.waitForSignal('delivered')
    await session.stop()
    const lost = { code: 'runtime.conversation-lost', hint: expect.any(String) }
    await rm(transcript(session))
    await expect(
      driver.resume(scene.spec, scene.facts(session.conversation, {}), scene.onSignal),
    ).rejects.toMatchObject(lost)
    expect(await scene.tools(0)).toEqual([])
    expect(await readdir(scene.configDir)).toContain('projects')
  })
})
