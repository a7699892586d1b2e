import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RuntimeSession } from '../driver.ts'
import { createClaudeCodeDriver } from './index.ts'
import { deliveryOf, Scene, scripted, startModel } from './testing/real-runtime.ts'

// Real programs on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const driver = createClaudeCodeDriver()

describe('a session of the real Claude Code', () => {
  let model: Awaited<ReturnType<typeof startModel>>
  let scene: Scene
  let session: RuntimeSession

  beforeAll(async () => {
    model = await startModel()
  })
  afterAll(() => model.close())
  beforeEach(async () => {
    scene = await Scene.make(model.url)
  })
  afterEach(() => scene.close())

  const start = async () => {
    session = await driver.start(scene.spec, scene.onSignal)
  }

  it('runs a turn with tools and tells it in order', async () => {
    await start()
    expect(session.version).toMatch(/^2\.1\.\d+$/)
    const file = join(scene.cwd, 'notes.txt')
    await session.send(
      deliveryOf(
        scripted('Do it.', [
          { thinking: 'Let me see.', text: 'Going.', tool: 'Bash', input: { command: 'echo hi' } },
          { tool: 'Write', input: { file_path: file, content: 'a\nb\n' } },
          { tool: 'Edit', input: { file_path: file, old_string: 'b', new_string: 'c\nd' } },
          {
            tool: 'TodoWrite',
            input: { todos: [{ content: 'one', status: 'in_progress', activeForm: 'doing one' }] },
          },
          { text: 'Done.', chunks: 3 },
        ]),
      ),
    )
    const ended = await scene.waitForSignal('turn.ended')
    expect(scene.told().filter((line) => line !== 'delivered 1')).toEqual([
      'turn.started 1',
      'thinking: Let me see.',
      'text: Going.',
      'call execute Bash: echo hi',
      'result ok: hi',
      'call edit Write: notes.txt',
      expect.stringMatching(/^result ok: File created/),
      'call edit Edit: notes.txt',
      expect.stringMatching(/^result ok: The file/),
      'call other TodoWrite: 1 todos',
      'todo active one',
      expect.stringMatching(/^result ok: Todos have been modified/),
      'text: Done.',
      expect.stringMatching(/^cost 0\.0/),
      'turn.ended completed',
    ])
    const told = scene.told()
    expect(told.filter((line) => line === 'delivered 1')).toHaveLength(1)
    // Before what is said, unless the record takes longer than that may wait on a busy machine.
    expect(told.indexOf('delivered 1')).toBeLessThan(told.indexOf('turn.ended completed'))
    expect(ended.costUsd).toBeGreaterThan(0)
    expect(ended.usage.outputTokens).toBeGreaterThan(0)
    const diffs = scene.signals.flatMap((signal) =>
      signal.type === 'event' && signal.event.kind === 'tool.result'
        ? (signal.event.diff ?? [])
        : [],
    )
    expect(diffs).toEqual([
      { path: 'notes.txt', patch: '@@ -0,0 +1,2 @@\n+a\n+b', added: 2, removed: 0 },
      { path: 'notes.txt', patch: '@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d', added: 2, removed: 1 },
    ])
    expect(await readFile(file, 'utf8')).toBe('a\nc\nd\n')
    await session.stop()
    expect(scene.told().at(-1)).toBe('exited expected')
    expect(await session.processes()).toEqual([])
  })

  it('shows a text while it streams, masks secrets also where they are cut, and ends it whole', async () => {
    await start()
    await session.send(
      deliveryOf(
        scripted('Say it.', [
          { text: 'the key is scripted-key-4711, it is.', chunks: 12, delay: 5 },
        ]),
      ),
    )
    await scene.waitForSignal('turn.ended')
    const live = scene.signals.flatMap((signal) => (signal.type === 'live' ? signal : []))
    let shown = ''
    for (const signal of live) {
      expect(signal.offset).toBe(shown.length)
      shown += signal.block.text
    }
    expect(live.length).toBeGreaterThan(3)
    expect(shown).toBe('the key is [ANTHROPIC_API_KEY], it is.')
    expect(scene.told()).toContain('text: the key is [ANTHROPIC_API_KEY], it is.')
    const text = scene.signals.find(
      (signal) => signal.type === 'event' && signal.event.kind === 'assistant.text',
    )
    expect(text).toMatchObject({ event: { block: live[0]?.block.block } })
    await session.stop()
  })

  it('delivers a text that looks like a command as text, with its preface', async () => {
    await start()
    await session.send(deliveryOf(`/clear ${scripted('', [{ text: 'ok' }])}`))
    await scene.waitForSignal('turn.ended')
    await session.send(deliveryOf(scripted('again', [{ text: 'ok' }]), 'Your last turn was cut.'))
    await scene.waitForSignal('turn.ended', 2)
    const asked = JSON.stringify(model.requests().at(-1)?.messages)
    expect(asked).toContain('/clear')
    expect(asked).toContain('Your last turn was cut.\\n\\nagain')
    expect(session.conversation).toMatch(/^[0-9a-f-]{36}$/)
    await session.stop()
  })

  it('tells what a subagent does under its call', async () => {
    await start()
    const prompt = scripted('Look.', [
      { text: 'Looking.', tool: 'Bash', input: { command: 'echo deep' } },
      { text: 'Found.' },
    ])
    await session.send(
      deliveryOf(
        scripted('Delegate.', [
          {
            tool: 'Agent',
            input: { description: 'look around', subagent_type: 'general-purpose', prompt },
          },
          { text: 'Done.' },
        ]),
      ),
    )
    await scene.waitForSignal('turn.ended')
    expect(scene.told().filter((line) => !line.startsWith('delivered'))).toEqual([
      'turn.started 1',
      'call agent Agent: look around',
      '> text: Looking.',
      '> call execute Bash: echo deep',
      '> result ok: deep',
      '> text: Found.',
      expect.stringMatching(/^result ok/),
      'text: Done.',
      expect.stringMatching(/^cost/),
      'turn.ended completed',
    ])
    await session.stop()
  })

  it('interrupts a tool: its processes are gone when the interrupt is over, and the conversation goes on', async () => {
    await start()
    const [runtime] = await session.processes()
    const command = 'setsid sleep 300 & env -i setsid /bin/sleep 300 & sleep 300 & sleep 300'
    await session.send(deliveryOf(scripted('Wait.', [{ tool: 'Bash', input: { command } }])))
    await scene.waitFor(
      'four sleeps',
      async () => (await scene.tools(runtime?.pid ?? 0)).length >= 5,
    )
    await session.interrupt()
    expect(await scene.tools(runtime?.pid ?? 0)).toEqual([])
    expect(scene.lastTold()).toBe('turn.ended interrupted')
    expect(scene.told().find((line) => line.startsWith('result'))).toMatch(/^result cancelled/)
    await session.send(deliveryOf(scripted('Go on.', [{ text: 'Going on.' }])))
    await scene.waitForSignal('turn.ended', 2)
    expect(scene.told()).toContain('text: Going on.')
    expect(JSON.stringify(model.requests().at(-1)?.messages)).toContain('Wait.')
    await session.stop()
  })

  it('keeps what an interrupt cut off', async () => {
    await start()
    await session.send(
      deliveryOf(
        scripted('Talk.', [{ text: 'A long story that never ends.', chunks: 29, delay: 100 }]),
      ),
    )
    await scene.waitForSignal('live')
    await session.interrupt()
    const cut = scene.told().filter((line) => line.startsWith('text (cut)'))
    expect(cut).toEqual([expect.stringMatching(/^text \(cut\): A/)])
    expect(scene.lastTold()).toBe('turn.ended interrupted')
    await session.stop()
  })

  it('tells the death of the runtime in the middle of a tool, and leaves no process', async () => {
    await start()
    const [runtime] = await session.processes()
    await session.send(
      deliveryOf(scripted('Wait.', [{ tool: 'Bash', input: { command: 'sleep 300' } }])),
    )
    await scene.waitFor('the sleep', async () => (await scene.tools(runtime?.pid ?? 0)).length > 0)
    process.kill(runtime?.pid ?? 0, 'SIGKILL')
    await scene.waitForSignal('exited')
    expect(scene.toldOfTurns().slice(-4)).toEqual([
      'result unknown: ',
      expect.stringMatching(/^cost/),
      'turn.ended killed: Claude Code ended by SIGKILL',
      'exited unexpected',
    ])
    expect(await session.processes()).toEqual([])
    await expect(session.send(deliveryOf('late'))).rejects.toMatchObject({
      code: 'runtime.not-written',
    })
  })

  it('stops in the middle of a tool', async () => {
    await start()
    await session.send(
      deliveryOf(scripted('Wait.', [{ tool: 'Bash', input: { command: 'sleep 300' } }])),
    )
    await scene.waitFor('the call', () => scene.told().some((line) => line.startsWith('call')))
    await Promise.all([session.stop(), session.stop()])
    expect(scene.toldOfTurns().slice(-2)).toEqual(['turn.ended interrupted', 'exited expected'])
    expect(await session.processes()).toEqual([])
  })
})
