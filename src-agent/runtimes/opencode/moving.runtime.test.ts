import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { newMarker } from '../../process-tree/testing/new-marker.ts'
import {
  deliveryOf,
  type Scene,
  scripted,
  startModel,
} from '../claude-code/testing/real-runtime.ts'
import type { DriverSpec, RuntimePlace, StateFile } from '../driver.ts'
import { createOpencodeDriver } from './index.ts'
import { makeScene } from './testing/real-opencode.ts'

// Real programs on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 400_000, hookTimeout: 60_000 })

const driver = createOpencodeDriver()
const state = driver.state

describe('a conversation of the real opencode that moves', () => {
  let model: Awaited<ReturnType<typeof startModel>>
  let scene: Scene
  let spec: DriverSpec

  beforeAll(async () => {
    model = await startModel()
  })
  afterAll(() => model.close())
  beforeEach(async () => {
    ;({ scene, spec } = await makeScene(model.url))
  })
  afterEach(() => scene.close())

  it('asks before it acts, delegates, and goes on with everything under another path', async () => {
    if (state === undefined) throw new Error('it has no state')
    const asking = { ...spec, permission: 'ask' as const }
    const session = await driver.start(asking, scene.onSignal)
    const requests = () =>
      scene.signals.flatMap((signal) =>
        signal.type === 'event' && signal.event.kind === 'request.opened'
          ? { ...signal.event, facts: signal.request }
          : [],
      )
    const deep = scripted('Look.', [
      { tool: 'Bash', input: { command: 'echo deep' } },
      { text: 'Found.' },
    ])
    await session.send(
      deliveryOf(
        scripted('Begin.', [
          { tool: 'Bash', input: { command: 'echo one' } },
          { tool: 'Bash', input: { command: 'echo two' } },
          { tool: 'Bash', input: { command: 'ls' } },
          {
            tool: 'task',
            input: { description: 'look around', subagent_type: 'general', prompt: deep },
          },
          { text: 'All done.' },
        ]),
      ),
    )
    const first = await scene.waitFor('a request', () => requests()[0])
    expect(first).toMatchObject({
      ...{ name: 'bash', toolKind: 'execute', title: 'echo one' },
      facts: { ruleTexts: ['bash(echo *)'] },
    })
    await session.answerRequest(first.request, { outcome: 'allow-for-session' })
    const second = await scene.waitFor('a second request', () => requests()[1])
    expect(second.title).toBe('ls')
    await session.answerRequest(second.request, { outcome: 'deny', text: 'Not now.' })
    await scene.waitForSignal('turn.ended')
    expect(scene.told().map((line) => line.split('\n')[0])).toEqual([
      'turn.started 1',
      'delivered 1',
      'call execute bash: echo one',
      expect.stringMatching(/^request/),
      'result ok: one',
      'call execute bash: echo two',
      'result ok: two',
      'call execute bash: ls',
      expect.stringMatching(/^request/),
      expect.stringMatching(/^result cancelled: .*/),
      'call agent task: look around',
      '> call execute bash: echo deep',
      '> result ok: deep',
      '> text: Found.',
      expect.stringMatching(/^result ok/),
      'text: All done.',
      expect.stringMatching(/^cost/),
      'turn.ended completed',
    ])
    const { conversation } = session
    await session.stop()

    const place = (spec: DriverSpec, name: string): RuntimePlace => ({
      ...{ cwd: spec.cwd, env: spec.env, executable: spec.executable },
      marker: newMarker(),
      scratchDir: join(scene.root, name),
    })
    const captured = await state.capture(conversation, place(spec, 'capture'))
    expect(captured.map(({ name }) => name)).toEqual([
      `${conversation}.json`,
      expect.stringMatching(new RegExp(`^${conversation}/ses_\\w+\\.json$`)),
    ])
    const kept = await state.list({ ...place(spec, 'list'), cwd: scene.root })
    expect(kept).toMatchObject([{ conversation, ran: spec.cwd }])

    // An older copy stands there, for the folder that is gone.
    const moved = { ...spec, cwd: join(scene.root, 'moved') }
    await mkdir(moved.cwd)
    const files = await copies(captured, join(scene.root, 'state'))
    await state.restore(conversation, files, place(moved, 'restore'))
    const facts = scene.facts(conversation, {
      storedRefs: scene.signals.flatMap((signal) =>
        signal.type === 'event' && signal.event.parent === undefined && signal.event.ref
          ? signal.event.ref
          : [],
      ),
    })
    const resumed = await driver.resume(moved, facts, scene.onSignal)
    expect(resumed.recovery.signals).toEqual([])
    await resumed.session.send(
      deliveryOf(
        scripted('Where?', [{ tool: 'Bash', input: { command: 'pwd' } }, { text: 'There.' }]),
      ),
    )
    await scene.waitForSignal('turn.ended', 2)
    await resumed.session.stop()
    expect(scene.told()).toContain(`result ok: ${moved.cwd}`)
    const asked = JSON.stringify(model.requests().at(-1)?.messages)
    for (const text of ['Begin.', 'echo one', 'Not now.', 'Found.', 'All done.']) {
      expect(asked).toContain(text)
    }

    expect(await state.remove(conversation, { ...place(spec, 'remove'), cwd: '/nowhere' })).toBe(0)
    const root = { ...place(spec, 'remove'), cwd: scene.root }
    expect(await state.remove(conversation, root)).toBe(2)
    await expect(
      driver.resume(spec, scene.facts(conversation, { turn: 2 }), scene.onSignal),
    ).rejects.toMatchObject({ code: 'runtime.conversation-lost' })
  })
})

async function copies(files: readonly StateFile[], folder: string): Promise<StateFile[]> {
  const made: StateFile[] = []
  for (const { path, name } of files) {
    const to = join(folder, name)
    await mkdir(join(to, '..'), { recursive: true })
    await copyFile(path, to)
    made.push({ path: to, name })
  }
  return made
}
