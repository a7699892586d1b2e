import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  deliveryOf,
  type Scene,
  scripted,
  startModel,
} from '../claude-code/testing/real-runtime.ts'
import type { DriverSpec, RuntimeSession } from '../driver.ts'
import { createOpencodeDriver } from './index.ts'
import { makeScene } from './testing/real-opencode.ts'

// Real programs on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 400_000, hookTimeout: 60_000 })

const driver = createOpencodeDriver()

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('a session of the real opencode', () => {
  let model: Awaited<ReturnType<typeof startModel>>
  let scene: Scene
  let spec: DriverSpec
  let session: RuntimeSession
  /** Stands for npm's; tells what was asked of it. */
  let registry: Server
  const asked: string[] = []

  beforeAll(async () => {
    model = await startModel()
    registry = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`)
      response.writeHead(404).end('{}')
    })
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    registry.closeAllConnections()
    registry.close()
    await model.close()
  })
  beforeEach(async () => {
    asked.length = 0
    ;({ scene, spec } = await makeScene(model.url))
    const { port } = registry.address() as AddressInfo
    spec = { ...spec, env: { ...spec.env, npm_config_registry: `http://127.0.0.1:${port}/` } }
  })
  afterEach(() => scene.close())

  const resultOf = (index: number) => {
    const results = scene.signals.flatMap((signal) =>
      signal.type === 'event' && signal.event.kind === 'tool.result' ? signal.event : [],
    )
    return results[index]
  }

  it('runs turns with tools, is steered and interrupted, shows no secret to its tools, and moves on', async () => {
    session = await driver.start(spec, scene.onSignal)
    expect(session.version).toBe('1.18.33')
    const file = join(scene.cwd, 'notes.txt')
    const command =
      'echo "offline=$npm_config_offline"; env; cat /proc/$PPID/environ | tr "\\0" "\\n"'
    await session.send(
      deliveryOf(
        scripted('Do it.', [
          { thinking: 'Let me see.', text: 'Going.', tool: 'Bash', input: { command } },
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
    expect(scene.told().map((line) => line.split('\n')[0])).toEqual([
      'turn.started 1',
      'delivered 1',
      'thinking: Let me see.',
      'text: Going.',
      `call execute bash: ${command}`,
      expect.stringMatching(/^result ok: /),
      'call edit write: notes.txt',
      expect.stringMatching(/^result ok: Wrote file/),
      'call edit edit: notes.txt',
      expect.stringMatching(/^result ok: /),
      'call other todowrite: 1 todos',
      'todo active one',
      expect.stringMatching(/^result ok/),
      'text: Done.',
      expect.stringMatching(/^cost 0\.0/),
      'turn.ended completed',
    ])
    const environment = resultOf(0)?.output ?? ''
    expect(environment).toContain('OPENCODE_DISABLE_PROJECT_CONFIG=1')
    expect(environment).not.toMatch(/OPENCODE_SERVER_PASSWORD=(?!x+$)/m)
    expect(environment).not.toContain('key-of-the-configuration')
    expect(environment).not.toMatch(/OPENCODE_CONFIG=\//)
    expect(environment).toMatch(/^offline=$/m)
    expect(ended.costUsd).toBeGreaterThan(0)
    expect(ended.usage.outputTokens).toBeGreaterThan(0)
    expect(resultOf(1)?.diff).toEqual([
      { path: 'notes.txt', patch: '@@ -0,0 +1,2 @@\n+a\n+b', added: 2, removed: 0 },
    ])
    expect(resultOf(2)?.diff).toMatchObject([{ path: 'notes.txt', added: 2, removed: 1 }])
    expect(await readFile(file, 'utf8')).toBe('a\nc\nd\n')

    // A message for the running turn is taken after the tool call.
    await session.send(
      deliveryOf(
        scripted('Wait a little.', [
          { tool: 'Bash', input: { command: 'sleep 3' } },
          { text: 'Waited.' },
        ]),
      ),
    )
    await scene.waitFor('the call', () => scene.told().some((line) => line.includes('sleep 3')))
    await session.steer(deliveryOf('And this.'))
    await scene.waitForSignal('turn.ended', 2)
    expect(scene.told().filter((line) => line.startsWith('turn.'))).toEqual([
      'turn.started 1',
      'turn.ended completed',
      'turn.started 1',
      'turn.joined 1',
      'turn.ended completed',
    ])
    expect(scene.told().filter((line) => line === 'delivered 1')).toHaveLength(3)
    expect(JSON.stringify(model.requests().at(-1)?.messages)).toContain('And this.')
    expect(scene.told()).toContain('text: Waited.')

    // An interrupt ends what the tool started, also what left its group.
    const [server] = await session.processes()
    const wait = 'setsid sleep 300 & sleep 300'
    await session.send(deliveryOf(scripted('Wait.', [{ tool: 'Bash', input: { command: wait } }])))
    await scene.waitFor(
      'both sleeps',
      async () => (await scene.tools(server?.pid ?? 0)).length >= 3,
    )
    await session.interrupt()
    expect(await scene.tools(server?.pid ?? 0)).toEqual([])
    expect(scene.told().at(-1)).toBe('turn.ended interrupted')
    expect(
      scene
        .told()
        .filter((line) => line.startsWith('result'))
        .at(-1),
    ).toMatch(/^result cancelled/)

    // It is killed in a turn; the same conversation goes on in the same workspace.
    await session.send(
      deliveryOf(
        scripted('Die.', [{ text: 'Now.', tool: 'Bash', input: { command: 'sleep 300' } }]),
      ),
    )
    await scene.waitFor('the text', () => scene.told().includes('text: Now.'))
    await scene.waitFor('the call', () => scene.told().at(-1)?.includes('sleep 300'))
    process.kill(server?.pid ?? 0, 'SIGKILL')
    await scene.waitForSignal('exited')
    expect(scene.told().slice(-4)).toEqual([
      'result unknown: ',
      expect.stringMatching(/^cost/),
      expect.stringMatching(/^turn\.ended killed: opencode ended by SIGKILL/),
      'exited unexpected',
    ])
    expect(await session.processes()).toEqual([])
    const { conversation } = session
    const open = deliveryOf('lost')
    const resumed = await driver.resume(
      spec,
      scene.facts(conversation, {
        turn: 4,
        turnCut: true,
        openDeliveries: [{ id: open.id, inputs: open.inputs, steer: false }],
      }),
      scene.onSignal,
    )
    session = resumed.session
    expect(session.conversation).toBe(conversation)
    expect(resumed.recovery.fates.get(open.id)).toBe('never')
    const images = [{ mediaType: 'image/png' as const, data: PIXEL }]
    await session.send({ ...deliveryOf(scripted('Go on.', [{ text: 'Going on.' }])), images })
    await scene.waitForSignal('turn.ended', 5)
    const said = JSON.stringify(model.requests().at(-1)?.messages)
    for (const text of [PIXEL, 'Do it.', 'And this.', 'Tool execution was interrupted']) {
      expect(said).toContain(text)
    }
    await session.stop()
    // Its own background install would put 60 MB there: it is not tried once the agent's npm may go online.
    expect(asked).toEqual([])
    expect(await readdir(join(scene.root, 'config', 'opencode'))).not.toContain('node_modules')
    expect(scene.told().at(-1)).toBe('exited expected')
    expect(await session.processes()).toEqual([])
  })

  it('edits without asking, but nothing that git goes by', async () => {
    const path = (name: string) => join(scene.cwd, name)
    const write = (name: string) => ({
      ...{ tool: 'Write', input: { file_path: path(name), content: 'x' } },
    })
    const author = ['-c', 'user.name=A', '-c', 'user.email=a@example.com']
    for (const args of [
      ['init', '--quiet'],
      [...author, 'commit', '--quiet', '--allow-empty', '--message', 'Begin'],
    ]) {
      await promisify(execFile)('git', args, { cwd: scene.cwd })
    }
    session = await driver.start({ ...spec, permission: 'edits' }, scene.onSignal)
    const steps = [write('a.txt'), write('.git/hooks/pre-commit'), { text: 'Tried.' }]
    await session.send(deliveryOf(scripted('Write.', steps)))
    const request = await scene.waitFor(
      'a request',
      () =>
        scene.signals.flatMap((signal) =>
          signal.type === 'event' && signal.event.kind === 'request.opened'
            ? { ...signal.event, facts: signal.request }
            : [],
        )[0],
    )
    expect(request).toMatchObject({
      title: '.git/hooks/pre-commit',
      facts: { ruleTexts: ['edit(.git/hooks/pre-commit)'] },
    })
    await session.answerRequest(request.request, { outcome: 'deny', text: 'Not that.' })
    await scene.waitForSignal('turn.ended')
    expect(await readFile(path('a.txt'), 'utf8')).toBe('x')
    await expect(readFile(path('.git/hooks/pre-commit'))).rejects.toThrow()
    await session.stop()
  })
})
