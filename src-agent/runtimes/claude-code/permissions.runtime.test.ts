import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RequestId } from '../../../src-shared/ids.ts'
import { createClaudeCodeDriver } from './index.ts'
import { deliveryOf, Scene, scripted, startModel } from './testing/real-runtime.ts'

// Real programs on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const driver = createClaudeCodeDriver()

describe('permission prompts of the real Claude Code', () => {
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

  const write = (name: string) => ({
    tool: 'Write',
    input: { file_path: join(scene.cwd, name), content: 'x\n' },
  })
  const bash = (command: string) => ({ tool: 'Bash', input: { command } })
  const requests = (): RequestId[] =>
    scene.signals.flatMap((signal) =>
      signal.type === 'event' && signal.event.kind === 'request.opened' ? signal.event.request : [],
    )
  const request = (n: number) => scene.waitFor('a request', () => requests()[n - 1])

  it('are asked, denied with a reason, allowed once, and allowed for the session', async () => {
    const session = await driver.start({ ...scene.spec, permission: 'ask' }, scene.onSignal)
    const steps = [write('a'), write('b'), write('c'), write('d'), { text: 'Done.' }]
    await session.send(deliveryOf(scripted('Write.', steps)))
    const denied = await request(1)
    await session.answerRequest(denied, { outcome: 'deny', text: 'Not this one.' })
    await session.answerRequest(await request(2), { outcome: 'allow' })
    await session.answerRequest(await request(3), { outcome: 'allow-for-session' })
    await scene.waitForSignal('turn.ended')
    expect(scene.told()).toContain('request edit a')
    expect(scene.told()).toContain('result error: Not this one.')
    expect(requests()).toHaveLength(3)
    expect(['a', 'b', 'c', 'd'].map((name) => existsSync(join(scene.cwd, name)))).toEqual([
      false,
      true,
      true,
      true,
    ])
    expect(existsSync(join(scene.cwd, '.claude'))).toBe(false)
    await expect(session.answerRequest(denied, { outcome: 'allow' })).rejects.toMatchObject({
      code: 'request.gone',
    })
    await session.stop()
  })

  it('are withdrawn by an interrupt, and by nothing when the runtime is stopped', async () => {
    const session = await driver.start({ ...scene.spec, permission: 'ask' }, scene.onSignal)
    await session.send(deliveryOf(scripted('Write.', [write('a'), { text: 'Done.' }])))
    const open = await request(1)
    await session.interrupt()
    expect(scene.signals).toContainEqual(
      expect.objectContaining({ type: 'request.withdrawn', request: open }),
    )
    expect(scene.lastTold()).toBe('turn.ended interrupted')
    await expect(session.answerRequest(open, { outcome: 'allow' })).rejects.toMatchObject({
      code: 'request.gone',
    })
    await session.send(deliveryOf(scripted('Write.', [write('a'), { text: 'Done.' }])))
    await request(2)
    await session.stop()
    expect(scene.signals.filter(({ type }) => type === 'request.withdrawn')).toHaveLength(1)
  })

  it('are not asked for edits where edits are allowed, but for the rest', async () => {
    const session = await driver.start({ ...scene.spec, permission: 'edits' }, scene.onSignal)
    const steps = [write('a'), bash('npm exec --offline asked'), { text: 'Done.' }]
    await session.send(deliveryOf(scripted('Write.', steps)))
    await session.answerRequest(await request(1), { outcome: 'deny' })
    await scene.waitForSignal('turn.ended')
    expect(existsSync(join(scene.cwd, 'a'))).toBe(true)
    expect(scene.told()).toContain('request execute npm exec --offline asked')
    expect(requests()).toHaveLength(1)
    await session.stop()
  })

  it('tell the identical call by its digest, and ask nothing any more that was allowed before', async () => {
    const commands = ['touch one', 'touch one', 'touch "(two)" > three', 'npm exec --offline four']
    const steps = [...commands.map(bash), write('five'), { text: 'Done.' }]
    const first = await driver.start({ ...scene.spec, permission: 'ask' }, scene.onSignal)
    await first.send(deliveryOf(scripted('Touch.', steps)))
    for (let n = 1; n <= steps.length - 1; n += 1) {
      await first.answerRequest(await request(n), { outcome: 'deny' })
    }
    await scene.waitForSignal('turn.ended')
    await first.stop()
    const facts = scene.signals.flatMap((signal) =>
      signal.type === 'event' && signal.request !== undefined ? signal.request : [],
    )
    const digests = facts.map(({ digest }) => digest)
    expect(digests[1]).toBe(digests[0])
    expect(new Set(digests).size).toBe(4)
    // A command does not bring every edit with it, which the runtime would offer.
    expect(facts.map(({ ruleTexts }) => ruleTexts.includes('every edit'))).toEqual([
      false,
      false,
      false,
      false,
      true,
    ])

    scene.signals.length = 0
    const second = await driver.start(
      { ...scene.spec, permission: 'ask', grants: facts },
      scene.onSignal,
    )
    await second.send(deliveryOf(scripted('Touch.', steps)))
    await scene.waitForSignal('turn.ended')
    expect(requests()).toEqual([])
    expect(
      ['one', '(two)', 'three', 'five'].map((name) => existsSync(join(scene.cwd, name))),
    ).toEqual([true, true, true, true])
    expect(existsSync(join(scene.cwd, '.claude'))).toBe(false)
    await second.stop()
  })
})
