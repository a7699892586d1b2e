import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { openMcpServer } from '../../mcp/http-server.ts'
import {
  deliveryOf,
  type Scene,
  scripted,
  startModel,
} from '../claude-code/testing/real-runtime.ts'
import type { McpServerAddress } from '../driver.ts'
import { findCodex } from './find.ts'
import { createCodexDriver } from './index.ts'
import { makeScene } from './testing/scene.ts'

// Real programs on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const FAKE = fileURLToPath(new URL('./testing/fake-codex.mjs', import.meta.url))
const driver = createCodexDriver({ handshakeLimitMs: 2_000 })
let model: Awaited<ReturnType<typeof startModel>>
let scene: Scene

beforeAll(async () => {
  model = await startModel()
})
afterAll(() => model.close())
afterEach(() => scene.close())

const notices = () =>
  scene.signals.flatMap((signal) =>
    signal.type === 'event' && signal.event.kind === 'notice' ? signal.event : [],
  )

const opened = () =>
  scene.waitFor('the request', () =>
    scene.signals
      .flatMap((each) => (each.type === 'event' ? each.event : []))
      .find((event) => event.kind === 'request.opened'),
  )

describe('failures of the model', () => {
  it('end the turn with what to do, and the same server takes the next message', async () => {
    ;({ scene } = await makeScene(model.url))
    const session = await createCodexDriver().start(scene.spec, scene.onSignal)
    const failing = async (count: number, fail: object) => {
      await session.send(deliveryOf(scripted('Do it.', [{ fail: [fail], text: 'never' }])))
      return scene.waitForSignal('turn.ended', count)
    }
    const refused = await failing(1, { status: 401 })
    expect(refused).toMatchObject({ reason: 'failed', hint: expect.stringContaining('login') })
    expect(refused.detail).toContain('401')
    expect(await failing(2, { status: 429 })).toMatchObject({
      reason: 'failed',
      detail: expect.stringContaining('429'),
    })
    const usedUp = { status: 429, type: 'usage_limit_reached' }
    expect(await failing(3, usedUp)).toMatchObject({ reason: 'limit' })
    const tooLong = { status: 400, type: 'context_length_exceeded' }
    expect(await failing(4, tooLong)).toMatchObject({
      reason: 'failed',
      hint: expect.stringContaining('too long'),
    })
    const passing = [{ fail: [{ status: 500, times: 1 }], text: 'Fine.' }]
    await session.send(deliveryOf(scripted('Again.', passing)))
    expect(await scene.waitForSignal('turn.ended', 5)).toMatchObject({ reason: 'completed' })
    const cut = [{ text: 'abcdef', chunks: 6, cut: 1 }]
    await session.send(deliveryOf(scripted('Cut.', cut)))
    expect(await scene.waitForSignal('turn.ended', 6)).toMatchObject({ reason: 'completed' })
    expect(notices().filter(({ code }) => code === 'model.retry').length).toBeGreaterThan(1)
    expect(scene.told()).toContain('text: abcdef')
    await session.stop()
    expect(scene.lastTold()).toBe('exited expected')
  })
})

describe("Ballet's tools in Codex", () => {
  it('are called without a question also where everything else asks; what is not reached is told', async () => {
    ;({ scene } = await makeScene(model.url, 'ask'))
    const calls: unknown[] = []
    const server = await openMcpServer(async (name, args) => {
      calls.push({ name, args })
      return { isError: false, text: 'Recorded.' }
    })
    const deaf = createServer((_request, response) => response.writeHead(500).end())
    await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve))
    const { port } = deaf.address() as AddressInfo
    const gone: McpServerAddress = { name: 'gone', url: `http://127.0.0.1:${port}/`, token: 't' }
    const spec = { ...scene.spec, mcpServers: [server, gone] }
    const session = await driver.start(spec, scene.onSignal)
    const steps = [
      { tool: 'mcp__ballet__ask_question', input: { question: 'Which port?' } },
      { text: 'I wait.' },
    ]
    await session.send(deliveryOf(scripted('ask', steps)))
    await scene.waitForSignal('turn.ended')
    expect(calls).toEqual([{ name: 'ask_question', args: { question: 'Which port?' } }])
    expect(scene.told()).toContain(
      'call mcp mcp__ballet__ask_question: ballet: ask question: Which port?',
    )
    expect(scene.told()).toContain('result ok: Recorded.')
    const unreachable = await scene.waitFor('the notice', () =>
      notices().find(({ code }) => code === 'mcp.unreachable'),
    )
    expect(unreachable.text).toContain('`gone`')
    const env = [{ tool: 'Bash', input: { command: 'env' } }, { text: 'no' }]
    await session.send(deliveryOf(scripted('env', env)))
    const asked = await scene.waitFor(
      'the request',
      () =>
        scene.signals.flatMap((each) =>
          each.type === 'event' && each.event.kind === 'request.opened' ? [each.event] : [],
        )[0],
    )
    await session.answerRequest(asked.request, { outcome: 'allow' })
    await scene.waitForSignal('turn.ended', 2)
    const told = JSON.stringify(model.requests().at(-1)?.messages)
    expect(told).toContain('BALLET_SESSION=')
    expect(told).not.toContain(server.token)
    await session.stop()
    await server.close()
    deaf.close()
  })

  it('edits in the workspace need no question in the mode for edits, others do', async () => {
    ;({ scene } = await makeScene(model.url, 'edits'))
    const session = await driver.start(scene.spec, scene.onSignal)
    const write = (path: string) => ({ tool: 'Write', input: { file_path: path, content: 'x\n' } })
    const outside = join(scene.root, 'outside.txt')
    const steps = [write(join(scene.cwd, 'in.txt')), write(outside), { text: 'end' }]
    await session.send(deliveryOf(scripted('write', steps)))
    await scene.waitFor('the request', () =>
      scene.told().find((line) => line.startsWith('request')),
    )
    expect(scene.told()).toContain('result ok: add in.txt')
    expect(scene.told().filter((line) => line.startsWith('request'))).toEqual([
      `request edit ${outside}`,
    ])
    await session.interrupt()
    expect(await scene.waitForSignal('turn.ended')).toMatchObject({ reason: 'interrupted' })
    await session.stop()
  })

  it('an edit that moves a file out of the workspace is asked about, one that stays in it is not', async () => {
    ;({ scene } = await makeScene(model.url, 'edits'))
    const session = await driver.start(scene.spec, scene.onSignal)
    const outside = join(scene.root, 'outside.txt')
    await writeFile(join(scene.cwd, 'a.txt'), 'one\n')
    const move = (from: string, to: string) => {
      const head = ['*** Begin Patch', `*** Update File: ${from}`, `*** Move to: ${to}`]
      const patch = [...head, '@@', '-one', '+one', '*** End Patch'].join('\n')
      return { tool: 'Bash', input: { command: `apply_patch <<'END'\n${patch}\nEND` } }
    }
    const steps = [move('a.txt', 'b.txt'), move('b.txt', outside), { text: 'end' }]
    await session.send(deliveryOf(scripted('move', steps)))
    const request = await opened()
    expect(scene.told()).toContain('result ok: update a.txt → b.txt')
    expect(request).toMatchObject({ title: `b.txt → ${outside}`, toolKind: 'edit' })
    await session.answerRequest(request.request, { outcome: 'deny' })
    await scene.waitForSignal('turn.ended')
    expect(await readFile(join(scene.cwd, 'b.txt'), 'utf8')).toBe('one\n')
    await expect(readFile(outside)).rejects.toThrow()
    await session.stop()
  })
})

describe('a server that misbehaves', () => {
  const fake = async (how: string) => {
    ;({ scene } = await makeScene(model.url))
    return { ...scene.spec, executable: FAKE, args: [how] }
  }

  it.each([
    ['silent', 'runtime.start-failed'],
    ['dies', 'runtime.start-failed'],
    ['logged-out', 'runtime.not-logged-in'],
  ])('that is %s is told as %s, and nothing is left of it', async (how, code) => {
    const spec = await fake(how)
    await expect(driver.start(spec, scene.onSignal)).rejects.toMatchObject({ code })
    expect(await scene.tools(-1)).toEqual([])
  })

  it('that is killed while it is written to is told as killed, in its start and in a turn', async () => {
    const spec = await fake('well')
    const killed = async (name: string, ...lines: readonly string[]) => {
      const executable = join(scene.root, name)
      const deaf = ['exec 0<&-', 'sleep 0.2', 'kill -9 $$']
      await writeFile(executable, ['#!/bin/sh', ...lines, ...deaf, ''].join('\n'), { mode: 0o755 })
      return { ...spec, executable, args: [] }
    }
    const answer = (id: number, result: object) => [
      'read -r line',
      `echo '${JSON.stringify({ id, result })}'`,
    ]
    const inStart = await killed('in-start', ...answer(1, {}))
    await expect(driver.start(inStart, scene.onSignal)).rejects.toMatchObject({
      code: 'runtime.start-killed',
    })
    const thread = { thread: { id: '01a229ae-2452-7770-a704-00e7009862e6', path: null } }
    const userAgent = 'ballet/0.171.0 (fake)'
    const inTurn = await killed(
      'in-turn',
      ...[...answer(1, { userAgent }), 'read -r line'],
      ...[...answer(2, { account: null, requiresOpenaiAuth: false }), ...answer(3, thread)],
    )
    const session = await driver.start(inTurn, scene.onSignal)
    await session.send(deliveryOf('anything'))
    await scene.waitForSignal('exited')
    expect(notices()).toEqual([])
  })

  it('that is not there is told', async () => {
    const spec = { ...(await fake('silent')), executable: '/nowhere/codex' }
    await expect(driver.start(spec, scene.onSignal)).rejects.toMatchObject({
      code: 'runtime.not-found',
    })
  })

  it('that sends what nobody knows goes on, and each kind is told once', async () => {
    const session = await driver.start(await fake('well'), scene.onSignal)
    await session.send(deliveryOf('strange'))
    await scene.waitForSignal('turn.ended')
    await scene.waitFor('the refusal', () => scene.told().join().includes('does not serve'))
    expect(notices().map(({ code }) => code)).toEqual([
      'runtime.unknown',
      'runtime.unknown',
      'runtime.unknown',
      'runtime.unknown',
      'runtime.garbage',
      'runtime.garbage',
      'runtime.oversized',
      'model.retry',
    ])
    expect(scene.told()).toContain('text: still here')
    await session.stop()
  })

  it('that dies in the middle of a line ends its turn as killed', async () => {
    const session = await driver.start(await fake('well'), scene.onSignal)
    await session.send(deliveryOf('half-line'))
    const ended = await scene.waitForSignal('turn.ended')
    expect(ended).toMatchObject({ reason: 'killed', detail: expect.stringContaining('code 3') })
    expect(scene.told()).toContain('result unknown: ')
    expect((await scene.waitForSignal('exited')).expected).toBe(false)
    await expect(session.send(deliveryOf('more'))).rejects.toMatchObject({
      code: 'runtime.not-written',
    })
  })

  it('that dies between turns is told, and so is one that ends no turn', async () => {
    const session = await driver.start(await fake('well'), scene.onSignal)
    await session.send(deliveryOf('dies-later'))
    expect(await scene.waitForSignal('turn.ended')).toMatchObject({ reason: 'completed' })
    expect(await scene.waitForSignal('exited')).toMatchObject({ expected: false })
    scene.signals.length = 0
    const other = await driver.start({ ...scene.spec, executable: FAKE }, scene.onSignal)
    await other.send(deliveryOf('never-ends'))
    await scene.waitForSignal('turn.started')
    await other.interrupt()
    expect(await scene.waitForSignal('turn.ended')).toMatchObject({ reason: 'interrupted' })
    expect(notices().map(({ code }) => code)).toContain('runtime.hung')
    await scene.waitForSignal('exited')
  })
})

describe('an answer to a permission', () => {
  it('that may still get through ends the server; one that nobody waits for is refused', async () => {
    ;({ scene } = await makeScene(model.url, 'ask'))
    const spec = { ...scene.spec, executable: FAKE, args: ['well'] }
    const hasty = createCodexDriver({ answerLimitMs: 200 })
    const asked = async () => {
      const session = await hasty.start(spec, scene.onSignal)
      await session.send(deliveryOf('asks-and-reads-nothing'))
      const { request } = await opened()
      return { session, request }
    }
    const unread = await asked()
    // More than a pipe holds, so that the answer waits behind it.
    const text = 'no '.repeat(200_000)
    await unread.session.answerRequest(unread.request, { outcome: 'deny', text })
    expect(notices().map(({ code }) => code)).toContain('runtime.hung')
    expect(await scene.waitForSignal('turn.ended')).toMatchObject({ reason: 'killed' })
    expect(await scene.waitForSignal('exited')).toMatchObject({ expected: false })
    expect(await unread.session.processes()).toEqual([])
    scene.signals.length = 0
    const gone = await asked()
    const [server] = await gone.session.processes()
    process.kill(server?.pid ?? expect.unreachable(), 'SIGKILL')
    await scene.waitForSignal('exited')
    const answered = gone.session.answerRequest(gone.request, { outcome: 'allow' })
    await expect(answered).rejects.toMatchObject({ code: 'request.gone' })
  })
})

describe('looking for Codex', () => {
  it('tells its version and its login, and what is not there', async () => {
    ;({ scene } = await makeScene(model.url))
    const { executable, env } = scene.spec
    const found = await findCodex({ path: executable, env })
    expect(found).toMatchObject({ version: '0.171.0', problem: null, login: 'provider scripted' })
    const loggedOut = { ...env, CODEX_HOME: join(scene.root, 'home') }
    expect(await findCodex({ path: executable, env: loggedOut })).toMatchObject({
      loggedIn: false,
      problem: { code: 'runtime.not-logged-in' },
    })
    expect(await findCodex({ path: '/nowhere/codex', env })).toMatchObject({
      problem: { code: 'runtime.not-found' },
    })
    expect(await findCodex({ path: '/bin/true', env })).toMatchObject({
      problem: { code: 'runtime.not-working' },
    })
  })
})
