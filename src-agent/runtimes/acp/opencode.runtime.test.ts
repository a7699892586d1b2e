import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { ACP_PRESETS } from '../../../src-shared/runtimes.ts'
import { openMcpServer } from '../../mcp/http-server.ts'
import { deliveryOf, Scene, scripted, startModel } from '../claude-code/testing/real-runtime.ts'
import type { DriverSpec } from '../driver.ts'
import { createAcpDriver } from './index.ts'
import { OPENCODE, openCodeSpec } from './testing/real-agent.ts'

// Real programs on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

const preset = ACP_PRESETS.opencode
if (preset === undefined) throw new Error('there is no preset of opencode')
const driver = createAcpDriver('acp:opencode', preset)

describe('the real opencode over the Agent Client Protocol', () => {
  let model: Awaited<ReturnType<typeof startModel>>
  let scene: Scene
  let spec: DriverSpec

  beforeAll(async () => {
    model = await startModel()
  })
  afterAll(() => model.close())
  beforeEach(async () => {
    scene = await Scene.make(model.url)
    spec = await openCodeSpec(scene, model.url)
  })
  afterEach(() => scene.close())

  it('is found with its version', async () => {
    const report = await driver.find({ path: OPENCODE, env: spec.env })
    expect(report).toMatchObject({ version: '1.18.33', problem: null, notice: null })
    const none = await driver.find({ path: join(scene.root, 'none'), env: spec.env })
    expect(none.problem).toMatchObject({
      code: 'runtime.not-found',
      hint: expect.stringContaining('npm install -g opencode-ai'),
    })
  })

  it('runs turns with tools, tells them in order, is interrupted, and goes on in another process', async () => {
    await writeFile(join(scene.cwd, 'AGENTS.md'), 'Write short commits.')
    const session = await driver.start(spec, scene.onSignal)
    expect(session.version).toBe('1.18.33')
    const file = join(scene.cwd, 'notes.txt')
    await session.send(
      deliveryOf(
        scripted('Do it.', [
          {
            thinking: 'Let me see.',
            text: 'Going.',
            tool: 'bash',
            input: { command: 'echo hi', description: 'x' },
          },
          { tool: 'write', input: { filePath: file, content: 'a\nb\n' } },
          { tool: 'edit', input: { filePath: file, oldString: 'b', newString: 'c\nd' } },
          {
            tool: 'todowrite',
            input: { todos: [{ content: 'one', status: 'in_progress', priority: 'high' }] },
          },
          { text: 'Done: the key is scripted-key-4711.', chunks: 7 },
        ]),
      ),
    )
    const ended = await scene.waitForSignal('turn.ended', 1)
    expect(scene.told()).toEqual([
      'turn.started 1',
      'delivered 1',
      'thinking: Let me see.',
      'text: Going.',
      'call execute bash: echo hi',
      'result ok: hi',
      'call edit write: notes.txt',
      'result ok: Wrote file successfully.',
      'call edit edit: notes.txt',
      'result ok: Edit applied successfully.',
      'call other todowrite: 1 todos',
      'todo active one',
      expect.stringMatching(/^result ok/),
      'text: Done: the key is [ANTHROPIC_API_KEY].',
      expect.stringMatching(/^cost 0\.00/),
      'turn.ended completed',
    ])
    expect(ended.costUsd).toBeGreaterThan(0)
    expect(await readFile(file, 'utf8')).toBe('a\nc\nd\n')
    const diffs = scene.signals.flatMap((signal) =>
      signal.type === 'event' && signal.event.kind === 'tool.result'
        ? (signal.event.diff ?? [])
        : [],
    )
    expect(diffs).toEqual([
      { path: 'notes.txt', patch: '@@ -0,0 +1,2 @@\n+a\n+b', added: 2, removed: 0 },
      { path: 'notes.txt', patch: '@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d', added: 2, removed: 1 },
    ])
    // The prompt has no place of its own in the protocol.
    const first = JSON.stringify(model.requests().at(-1)?.messages)
    expect(first).toContain('You work for Ballet.')
    expect(first).toContain('Write short commits.')

    await session.send(
      deliveryOf(
        scripted('Wait.', [{ tool: 'bash', input: { command: 'sleep 300', description: 'x' } }]),
      ),
    )
    await scene.waitFor('the sleep', () => scene.told().includes('call execute bash: sleep 300'))
    await session.interrupt()
    expect(await scene.waitForSignal('turn.ended', 2)).toMatchObject({ reason: 'interrupted' })
    expect(scene.told().some((line) => line.startsWith('result cancelled'))).toBe(true)
    const [own] = await session.processes()
    const sleeping = await scene.tools(own?.pid ?? -1)
    // The program itself is started by a small one of npm.
    expect(sleeping.length).toBeLessThanOrEqual(1)
    await session.stop()
    expect(await session.processes()).toEqual([])

    const cost = scene.signals.flatMap((signal) =>
      signal.type === 'event' && signal.event.kind === 'cost' ? (signal.event.ref ?? []) : [],
    )
    const { session: again, recovery } = await driver.resume(
      spec,
      scene.facts(session.conversation, { turn: 2, storedRefs: cost.slice(-1) }),
      scene.onSignal,
    )
    expect(recovery.signals).toEqual([])
    await again.send(deliveryOf(`/clear ${scripted('Again.', [{ text: 'Back.' }])}`))
    const third = await scene.waitForSignal('turn.ended', 3)
    expect(third.reason).toBe('completed')
    expect(third.costUsd).toBeLessThan(ended.costUsd)
    expect(scene.told()).toContain('text: Back.')
    const asked = JSON.stringify(model.requests().at(-1)?.messages)
    expect(asked).toContain('Do it.')
    expect(asked).toContain('Wait.')
    expect(asked.split('You work for Ballet.')).toHaveLength(2)
    await again.stop()
    await expect(
      driver.resume(spec, scene.facts('ses_nope', { turn: 2 }), scene.onSignal),
    ).rejects.toMatchObject({ code: 'runtime.conversation-lost' })
  })

  it('asks but for Ballet’s tools, is denied and allowed, and tells what the model provider refuses', async () => {
    const calls: string[] = []
    const server = await openMcpServer(async (name) => {
      calls.push(name)
      return { isError: false, text: 'Noted.' }
    })
    const session = await driver.start(
      { ...spec, permission: 'ask', mcpServers: [server] },
      scene.onSignal,
    )
    const request = (n: number) =>
      scene.waitFor('a request', () => {
        const all = scene.signals.flatMap((signal) =>
          signal.type === 'event' && signal.event.kind === 'request.opened'
            ? signal.event.request
            : [],
        )
        return all[n - 1]
      })
    const write = (name: string) => ({
      tool: 'write',
      input: { filePath: join(scene.cwd, name), content: 'x\n' },
    })
    const progress = { tool: 'ballet_report_progress', input: { summary: 'Begun.' } }
    await session.send(
      deliveryOf(scripted('Write.', [progress, write('a'), write('b'), { text: 'Done.' }])),
    )
    await session.answerRequest(await request(1), { outcome: 'allow-for-session' })
    await scene.waitForSignal('turn.ended', 1)
    expect(calls).toEqual(['report_progress'])
    expect(scene.told()).toContain('call mcp mcp__ballet__report_progress: ballet: report progress')
    expect(scene.told()).toContain('result ok: Noted.')
    expect(scene.told().filter((line) => line.startsWith('request'))).toEqual(['request edit a'])
    expect(['a', 'b'].map((name) => existsSync(join(scene.cwd, name)))).toEqual([true, true])
    await session.send(
      deliveryOf(
        scripted('Run.', [{ tool: 'bash', input: { command: 'touch c', description: 'x' } }]),
      ),
    )
    await session.answerRequest(await request(2), { outcome: 'deny' })
    await scene.waitForSignal('turn.ended', 2)
    expect(scene.told()).toContain('request execute touch c')
    expect(existsSync(join(scene.cwd, 'c'))).toBe(false)
    await session.send(deliveryOf(scripted('Fail.', [{ fail: [{ status: 401 }] }])))
    expect(await scene.waitForSignal('turn.ended', 3)).toMatchObject({
      reason: 'failed',
      hint: expect.stringContaining('opencode auth login'),
    })
    await session.stop()
    await server.close()
  })

  it('refuses a model that it does not have, and leaves nothing', async () => {
    const started = driver.start({ ...spec, model: 'scripted/none' }, scene.onSignal)
    await expect(started).rejects.toMatchObject({
      code: 'runtime.start-failed',
      hint: expect.stringContaining('scripted/m1'),
    })
    expect(await scene.tools(-1)).toEqual([])
  })
})
