import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  deliveryOf,
  type Scene,
  scripted,
  startModel,
} from '../claude-code/testing/real-runtime.ts'
import type { RuntimeSession } from '../driver.ts'
import { createCodexDriver } from './index.ts'
import { makeScene } from './testing/scene.ts'

// Real programs on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const driver = createCodexDriver()
let model: Awaited<ReturnType<typeof startModel>>
let scene: Scene
let home: string
let session: RuntimeSession

beforeAll(async () => {
  model = await startModel()
})
afterAll(() => model.close())
afterEach(async () => {
  await session?.stop()
  await scene.close()
})

async function begin(permission: 'full' | 'ask' | 'edits' = 'full'): Promise<void> {
  ;({ scene, home } = await makeScene(model.url, permission))
  session = await driver.start(scene.spec, scene.onSignal)
}

describe('a session of Codex', () => {
  it('tells a turn with its tools, keeps the message, and changes nothing of the user', async () => {
    ;({ scene, home } = await makeScene(model.url))
    const before = await readFile(join(home, 'config.toml'), 'utf8')
    await writeFile(join(scene.cwd, 'AGENTS.md'), 'Always be brief. NOTES-4711')
    await mkdir(join(scene.cwd, '.codex'))
    const evil = '[mcp_servers.evil]\ncommand = "touch"\nargs = ["was-run"]\n'
    await writeFile(join(scene.cwd, '.codex', 'config.toml'), evil)
    session = await driver.start(scene.spec, scene.onSignal)
    const steps = [
      {
        thinking: 'Let me see',
        tool: 'Bash',
        input: { command: 'echo hi; echo $SCRIPTED_API_KEY' },
      },
      { tool: 'Write', input: { file_path: `${scene.cwd}/note.txt`, content: 'one\ntwo\n' } },
      {
        tool: 'Edit',
        input: { file_path: `${scene.cwd}/note.txt`, old_string: 'two', new_string: 'three' },
      },
      { tool: 'Read', input: { file_path: `${scene.cwd}/note.txt` } },
      { tool: 'Bash', input: { command: 'exit 3' } },
      { text: 'All done', chunks: 2 },
    ]
    await session.send(deliveryOf(scripted('go', steps)))
    const ended = await scene.waitForSignal('turn.ended')
    await scene.waitForSignal('delivered')
    expect(scene.told().filter((line) => !/^(delivered|cost|info)/.test(line))).toEqual([
      'turn.started 1',
      'thinking: Let me see',
      'call execute shell: echo hi; echo $SCRIPTED_API_KEY',
      'result ok: hi',
      'call edit apply_patch: note.txt',
      'result ok: add note.txt',
      'call edit apply_patch: note.txt',
      'result ok: update note.txt',
      'call read shell: note.txt',
      'result ok: one',
      'call execute shell: exit 3',
      'result error: [exit code 3]',
      'text: All done',
      'turn.ended completed',
    ])
    const outputs = scene.signals.flatMap((signal) =>
      signal.type === 'event' && signal.event.kind === 'tool.result' ? [signal.event] : [],
    )
    expect(outputs[0]?.output).toBe('hi\n[SCRIPTED_API_KEY]\n')
    expect(outputs[1]?.diff).toMatchObject([{ path: 'note.txt', added: 2, removed: 0 }])
    expect(outputs[2]?.diff).toMatchObject([{ path: 'note.txt', added: 1, removed: 1 }])
    expect(ended.usage.outputTokens).toBeGreaterThan(0)
    const [request] = model.requests().slice(-1)
    expect(JSON.stringify(request?.system)).toContain('NOTES-4711')
    expect(JSON.stringify(request?.system)).toContain('You work for Ballet.')
    expect(await readFile(join(home, 'config.toml'), 'utf8')).toBe(before)
    expect(await readFile(join(scene.cwd, 'was-run')).catch(() => null)).toBeNull()
  })

  it('ends the command of an interrupted turn, and goes on', async () => {
    await begin()
    // The program and the wrapper of its package; at its start it runs some more for a moment.
    const own = await scene.waitFor('the runtime alone', async () => {
      const found = await session.processes()
      return found.length === 2 && found
    })
    const command = 'echo begun; (setsid sleep 300 &); sleep 0.5; echo more; sleep 300'
    const steps = [{ tool: 'Bash', input: { command } }, { text: 'never' }]
    await session.send(deliveryOf(scripted('slow', steps)))
    await scene.waitFor('the command', () =>
      scene.signals.some((each) => each.type === 'live' && each.block.text.includes('more')),
    )
    expect((await session.processes()).length).toBeGreaterThan(own.length + 1)
    await session.interrupt()
    expect(await session.processes()).toEqual(own)
    expect(await scene.waitForSignal('turn.ended')).toMatchObject({ reason: 'interrupted' })
    expect(scene.told()).toContain('result cancelled: begun')
    await session.send(deliveryOf('and now'))
    await scene.waitForSignal('turn.ended', 2)
    expect(scene.told().join('\n')).toContain('text: ok: and now')
  })

  it('lets a message join the running turn, and gives one back that an interrupt cut', async () => {
    await begin()
    const steps = [{ tool: 'Bash', input: { command: 'sleep 1' } }, { text: 'went on' }]
    await session.send(deliveryOf(scripted('slow', steps)))
    await scene.waitFor('the call', () => scene.told().some((line) => line.startsWith('call')))
    const steered = deliveryOf('hurry')
    await session.steer(steered)
    const joined = await scene.waitForSignal('turn.joined')
    expect(joined.deliveries).toEqual([steered.id])
    await scene.waitForSignal('turn.ended')
    await scene.waitForSignal('delivered', 2)
    await expect(session.steer(deliveryOf('late'))).rejects.toMatchObject({
      code: 'runtime.not-written',
    })
    await session.send(
      deliveryOf(scripted('slow', [{ tool: 'Bash', input: { command: 'sleep 9' } }])),
    )
    await scene.waitFor('the call', () => scene.told().join().includes('sleep 9'))
    await session.steer(deliveryOf('too late'))
    await session.interrupt()
    await scene.waitForSignal('withdrawn')
    await session.send(deliveryOf('after'))
    await scene.waitForSignal('turn.ended', 3)
    expect(JSON.stringify(model.requests().at(-1)?.messages)).not.toContain('too late')
  })

  it('asks, allows once, for the session and the identical call, and denies with a reason', async () => {
    await begin('ask')
    const steps = ['a', 'b', 'b', 'c'].map((name) => ({
      tool: 'Bash',
      input: { command: `touch ${name}` },
    }))
    await session.send(deliveryOf(scripted('touch', [...steps, { text: 'end' }])))
    const asked = async (count: number) => {
      const found = await scene.waitFor('a request', () => {
        const all = scene.signals.flatMap((each) =>
          each.type === 'event' && each.event.kind === 'request.opened' ? [each] : [],
        )
        return all[count - 1]
      })
      if (found.event.kind !== 'request.opened') throw new Error('no request')
      return { ...found, id: found.event.request }
    }
    const first = await asked(1)
    expect(first.event).toMatchObject({ title: 'touch a', toolKind: 'execute' })
    await session.answerRequest(first.id, { outcome: 'allow' })
    await session.answerRequest((await asked(2)).id, { outcome: 'allow-for-session' })
    const third = await asked(3)
    expect(third.event).toMatchObject({ title: 'touch c' })
    await session.answerRequest(third.id, { outcome: 'deny', text: 'c is forbidden' })
    await scene.waitForSignal('turn.ended')
    expect(scene.told()).toContain('result cancelled: ')
    expect(JSON.stringify(model.requests().at(-1)?.messages)).toContain('c is forbidden')
    await expect(session.answerRequest(third.id, { outcome: 'allow' })).rejects.toMatchObject({
      code: 'request.gone',
    })
    expect(await readFile(join(scene.cwd, 'b'), 'utf8')).toBe('')
    expect(await readFile(join(scene.cwd, 'c'), 'utf8').catch(() => null)).toBeNull()
  })
})
