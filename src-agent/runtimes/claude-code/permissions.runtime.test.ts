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

  it('are withdrawn by an interrupt', async () => {
    const session = await driver.start({ ...scene.spec, permission: 'ask' }, scene.onSignal)
    await session.send(deliveryOf(scripted('Write.', [write('a'), { text: 'Done.' }])))
    const open = await request(1)
    await session.interrupt()
    expect(scene.told()).toContainEqual(expect.stringMatching(/^info request.withdrawn/))
    expect(scene.told().at(-1)).toBe('turn.ended interrupted')
    await expect(session.answerRequest(open, { outcome: 'allow' })).rejects.toMatchObject({
      code: 'request.gone',
    })
    await session.stop()
  })

  it('are not asked for edits where edits are allowed', async () => {
    const session = await driver.start({ ...scene.spec, permission: 'edits' }, scene.onSignal)
    const ask = { tool: 'Bash', input: { command: 'touch asked' } }
    await session.send(deliveryOf(scripted('Write.', [write('a'), ask, { text: 'Done.' }])))
    await Promise.race([request(1), scene.waitForSignal('turn.ended')])
    expect(existsSync(join(scene.cwd, 'a'))).toBe(true)
    await session.stop()
  })
})
