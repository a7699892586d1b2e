import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RuntimeSession } from '../driver.ts'
import { createClaudeCodeDriver } from './index.ts'
import { deliveryOf, Scene, scripted, startModel } from './testing/real-runtime.ts'
import { slugOf } from './transcript.ts'

// Real programs on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const driver = createClaudeCodeDriver()

describe('moving a conversation of the real Claude Code', () => {
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

  const converse = async () => {
    const session = await driver.start(scene.spec, scene.onSignal)
    const steps = [
      { text: 'Much.', tool: 'Bash', input: { command: 'yes a line of output | head -c 120000' } },
      { text: 'A word that only this conversation holds: quagga.' },
    ]
    await session.send(deliveryOf(scripted('First words.', steps)))
    await scene.waitForSignal('turn.ended')
    await session.stop()
    return session.conversation
  }

  /** The next request to the model holds the earlier conversation. */
  const goOn = async (session: RuntimeSession) => {
    const ends = scene.signals.filter((signal) => signal.type === 'turn.ended').length
    await session.send(deliveryOf(scripted('Go on.', [{ text: 'Going on.' }])))
    await scene.waitForSignal('turn.ended', ends + 1)
    const request = JSON.stringify(model.requests().at(-1)?.messages)
    expect(request).toContain('First words.')
    expect(request).toContain('quagga')
    await session.stop()
  }
  const transcriptIn = (config: string, cwd: string, conversation: string) =>
    readFile(join(config, 'projects', slugOf(cwd), `${conversation}.jsonl`), 'utf8')

  it('to another configuration folder and another workspace', async () => {
    const conversation = await converse()
    const files = (await driver.state?.capture(conversation, scene.spec)) ?? []
    const names = files.map(({ name }) => name.replace(/[^/]+\.txt$/, '*.txt'))
    expect(names).toEqual([`${conversation}.jsonl`, `${conversation}/tool-results/*.txt`])

    const cwd = join(scene.root, 'other', 'place')
    const config = join(scene.root, 'other-config')
    for (const folder of [cwd, config]) await mkdir(folder, { recursive: true })
    const spec = { ...scene.spec, cwd, env: { ...scene.spec.env, CLAUDE_CONFIG_DIR: config } }
    await driver.state?.restore(conversation, files, spec)
    const facts = scene.facts(conversation, { turn: 1 })
    const { session, recovery } = await driver.resume(spec, facts, scene.onSignal)
    expect(session.conversation).toBe(conversation)
    expect(recovery.signals).toEqual([])
    await goOn(session)
    expect(await transcriptIn(config, cwd, conversation)).toContain('Going on.')
    expect(await transcriptIn(scene.configDir, scene.cwd, conversation)).not.toContain('Going on.')
    expect(await driver.state?.remove(conversation, spec)).toBe(2)
    const left = await readdir(config, { recursive: true })
    expect(left.filter((path) => path.includes(conversation))).toEqual([])
  })

  it('to another workspace of the same machine, where the old record still is', async () => {
    const conversation = await converse()
    const files = (await driver.state?.capture(conversation, scene.spec)) ?? []
    const cwd = join(scene.root, 'another')
    await mkdir(cwd)
    const spec = { ...scene.spec, cwd }
    const restored = (await driver.state?.restore(conversation, files, spec)) ?? []
    expect(restored.map(({ name }) => name).sort()).toEqual(files.map(({ name }) => name).sort())
    const facts = scene.facts(conversation, { turn: 1 })
    const { session } = await driver.resume(spec, facts, scene.onSignal)
    await goOn(session)
    expect(await transcriptIn(scene.configDir, cwd, conversation)).toContain('Going on.')
    const old = await transcriptIn(scene.configDir, scene.cwd, conversation)
    expect(old).not.toContain('Going on.')
    const again = await driver.state?.capture(conversation, spec)
    expect(again?.[0]?.path).toContain(slugOf(cwd))
  })
})
