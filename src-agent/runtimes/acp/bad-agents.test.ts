import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { RequestId } from '../../../src-shared/ids.ts'
import { deliveryOf } from '../claude-code/testing/real-runtime.ts'
import type { RuntimeSession } from '../driver.ts'
import { chunk, FakeScene, steps } from './testing/scene.ts'

// Processes on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 20_000, hookTimeout: 30_000 })

let fake: FakeScene

afterEach(() => fake.scene.close())

async function begin(args: readonly string[] = [], limits = {}): Promise<RuntimeSession> {
  fake = await FakeScene.make(args, limits)
  return fake.driver.start(fake.spec, fake.scene.onSignal)
}

/** What the agent was answered, as it says. */
function answers(): {
  result?: Record<string, unknown>
  error?: { code: number; message: string }
}[] {
  const said = fake.scene.signals.flatMap((signal) =>
    signal.type === 'event' && signal.event.kind === 'assistant.text' ? signal.event.text : [],
  )
  return JSON.parse(said.at(-1) ?? '[]')
}

const ended = (count = 1) => fake.scene.waitForSignal('turn.ended', count)

describe('files of the workspace', () => {
  it('are read and written, also in parts', async () => {
    const session = await begin()
    await writeFile(join(fake.scene.cwd, 'a.txt'), 'one\ntwo\nthree\n')
    const path = (name: string) => join(fake.scene.cwd, name)
    await session.send(
      deliveryOf(
        steps({
          ask: [
            ['fs/read_text_file', { path: path('a.txt') }],
            ['fs/read_text_file', { path: path('a.txt'), line: 2, limit: 1 }],
            ['fs/write_text_file', { path: path('new/b.txt'), content: 'made' }],
            ['fs/read_text_file', { path: path('none.txt') }],
          ],
        }),
      ),
    )
    await ended()
    const [whole, part, written, none] = answers()
    expect(whole?.result?.content).toBe('one\ntwo\nthree\n')
    expect(part?.result?.content).toBe('two')
    expect(written?.result).toEqual({})
    expect(none?.error?.code).toBe(-32_002)
    expect(await readFile(path('new/b.txt'), 'utf8')).toBe('made')
    await session.stop()
  })

  it('outside are refused, also through links, and told', async () => {
    const session = await begin()
    const { cwd, root } = fake.scene
    await writeFile(join(root, 'secret'), 'secret')
    await mkdir(join(root, 'elsewhere'))
    await symlink(join(root, 'secret'), join(cwd, 'link'))
    await symlink(join(root, 'elsewhere'), join(cwd, 'folder'))
    await symlink(join(root, 'not-there'), join(cwd, 'dangling'))
    await session.send(
      deliveryOf(
        steps({
          ask: [
            ['fs/read_text_file', { path: join(root, 'secret') }],
            ['fs/read_text_file', { path: join(cwd, '..', 'secret') }],
            ['fs/read_text_file', { path: join(cwd, 'link') }],
            ['fs/write_text_file', { path: join(cwd, 'folder', 'x'), content: 'x' }],
            ['fs/write_text_file', { path: join(cwd, 'dangling'), content: 'x' }],
            ['terminal/create', { command: 'pwd', cwd: root }],
          ],
        }),
      ),
    )
    await ended()
    expect(answers().map(({ error }) => error?.code)).toEqual(Array(6).fill(-32_602))
    const told = fake.scene.told().filter((line) => line.includes('acp.outside-workspace'))
    expect(told).toHaveLength(6)
    await expect(readFile(join(root, 'elsewhere', 'x'))).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(readFile(join(root, 'not-there'))).rejects.toMatchObject({ code: 'ENOENT' })
    await session.stop()
  })
})

describe('terminals', () => {
  it('run in the workspace with the marker, tell their output, and end with the turn', async () => {
    const session = await begin()
    const create = (command: string, args: string[] = []) => ['terminal/create', { command, args }]
    await session.send(
      deliveryOf(
        steps(
          { ask: [create('echo "hi $BALLET_SESSION"; exit 3'), create('sleep', ['300'])] },
          {
            update: {
              sessionUpdate: 'tool_call',
              toolCallId: 'c1',
              title: 'a command',
              kind: 'execute',
              status: 'in_progress',
              content: [{ type: 'terminal', terminalId: 'terminal-1' }],
            },
          },
          { ask: [['terminal/wait_for_exit', { terminalId: 'terminal-1' }]] },
          { ask: [['terminal/output', { terminalId: 'terminal-1' }]] },
          { update: { sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed' } },
          { ask: [['terminal/output', { terminalId: 'terminal-2' }]] },
        ),
      ),
    )
    await ended()
    const { marker } = fake.spec
    expect(fake.scene.told()).toContain(`result ok: hi ${marker.session}:${marker.nonce}`)
    const live = fake.scene.signals.filter(
      (signal) => signal.type === 'live' && signal.block.kind === 'tool.output',
    )
    expect(live.length).toBeGreaterThan(0)
    expect(answers()[0]?.result).toEqual({ output: '', truncated: false, exitStatus: null })
    await fake.scene.waitFor('the terminal to end', async () => {
      const [, ...others] = await session.processes()
      return others.length === 0
    })
    await session.stop()
  })

  it('are made only in a turn, and an unknown one is not found', async () => {
    const session = await begin()
    await session.send(deliveryOf(steps({ ask: [['terminal/output', { terminalId: 'nope' }]] })))
    await ended()
    expect(answers()[0]?.error?.code).toBe(-32_002)
    await session.stop()
  })
})

describe('permission prompts', () => {
  const options = [
    { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
    { optionId: 'always', name: 'Always', kind: 'allow_always' },
    { optionId: 'no', name: 'No', kind: 'reject_once' },
  ]
  const prompt = (id: string, kind: string, more = {}) => [
    'session/request_permission',
    { toolCall: { toolCallId: id, title: `do ${id}`, kind, rawInput: { id }, ...more }, options },
  ]
  const requests = (): RequestId[] =>
    fake.scene.signals.flatMap((signal) =>
      signal.type === 'event' && signal.event.kind === 'request.opened' ? signal.event.request : [],
    )
  const request = (n: number) => fake.scene.waitFor('a request', () => requests()[n - 1])
  const chosen = () => answers().map(({ result }) => result?.outcome)

  it('of one moment are answered each for itself, and a reason comes with the next message', async () => {
    const session = await begin(['--echo'])
    await session.send(
      deliveryOf(steps({ ask: [prompt('one', 'execute'), prompt('two', 'execute')] })),
    )
    const second = await request(2)
    await session.answerRequest(second, { outcome: 'deny', text: 'Not two.' })
    await session.answerRequest(await request(1), { outcome: 'allow' })
    await ended()
    expect(chosen()).toEqual([
      { outcome: 'selected', optionId: 'yes' },
      { outcome: 'selected', optionId: 'no' },
    ])
    await expect(session.answerRequest(second, { outcome: 'allow' })).rejects.toMatchObject({
      code: 'request.gone',
    })
    await session.send(deliveryOf('Next.'))
    await ended(2)
    expect(
      fake.scene
        .told()
        .filter((line) => line.startsWith('text:'))
        .at(-1),
    ).toContain('A person denied a call of your last turn: Not two.')
    await session.stop()
  })

  it('that nobody can allow are denied and told, also where everything is allowed', async () => {
    fake = await FakeScene.make()
    const session = await fake.driver.start(
      { ...fake.spec, permission: 'full' },
      fake.scene.onSignal,
    )
    const [method, params] = prompt('one', 'execute')
    const offered = options.filter(({ kind }) => kind === 'reject_once')
    const ask = [[method, { ...Object(params), options: offered }]]
    await session.send(deliveryOf(steps({ ask })))
    await ended()
    expect(chosen()).toEqual([{ outcome: 'selected', optionId: 'no' }])
    expect(requests()).toEqual([])
    expect(fake.scene.told()).toContainEqual(
      expect.stringContaining('The fake asked for permission and offered no way to give it'),
    )
    await session.stop()
  })

  it('are remembered for the session by kind, inside the workspace only', async () => {
    const session = await begin()
    await session.send(
      deliveryOf(
        steps(
          { ask: [prompt('one', 'edit', { locations: [{ path: 'a.txt' }] })] },
          { ask: [prompt('two', 'edit', { locations: [{ path: 'b.txt' }] })] },
          { ask: [prompt('three', 'edit', { locations: [{ path: '/etc/hosts' }] })] },
        ),
      ),
    )
    await session.answerRequest(await request(1), { outcome: 'allow-for-session' })
    await session.answerRequest(await request(2), { outcome: 'deny' })
    await ended()
    expect(chosen()).toEqual([{ outcome: 'selected', optionId: 'no' }])
    expect(requests()).toHaveLength(2)
    const facts = fake.scene.signals.flatMap((signal) =>
      signal.type === 'event' && signal.request !== undefined ? signal.request : [],
    )
    expect(facts.map(({ rules }) => rules)).toEqual([[{ allow: 'edit' }], []])
    await session.stop()
    // What a person allowed holds for the next process of the session.
    const again = await fake.driver.start(
      { ...fake.spec, grants: [{ digest: '0'.repeat(64), rules: [{ allow: 'edit' }] }] },
      fake.scene.onSignal,
    )
    const inside = { locations: [], content: [{ type: 'diff', path: 'c.txt', newText: 'c' }] }
    await again.send(
      deliveryOf(
        steps({ ask: [prompt('four', 'edit', inside)] }, { ask: [prompt('five', 'edit')] }),
      ),
    )
    // Of the last one nobody knows which file it is about.
    await again.answerRequest(await request(3), { outcome: 'deny' })
    await ended(2)
    expect(requests()).toHaveLength(3)
    await again.stop()
  })

  it('of tools named like Ballet’s own are shown, and those of Ballet’s own are not', async () => {
    fake = await FakeScene.make()
    const mcpServers = [{ name: 'ballet', url: 'http://127.0.0.1:1/mcp', token: 'token-of-mcp' }]
    const session = await fake.driver.start({ ...fake.spec, mcpServers }, fake.scene.onSignal)
    const titled = (title: string, kind: string) => prompt(title, kind, { title })
    await session.send(
      deliveryOf(
        steps(
          { ask: [titled('ballet_report_progress', 'other')] },
          { ask: [titled('mcp__github__delete_repo', 'other')] },
          { ask: [titled('ballet/deploy', 'execute')] },
        ),
      ),
    )
    await session.answerRequest(await request(1), { outcome: 'deny' })
    await session.answerRequest(await request(2), { outcome: 'deny' })
    await ended()
    expect(fake.scene.told().filter((line) => line.startsWith('request'))).toEqual([
      'request mcp github: delete repo',
      'request execute ballet/deploy',
    ])
    await session.stop()
  })

  it('are cancelled by an interrupt, and those of the end of a turn withdrawn', async () => {
    const session = await begin()
    await session.send(deliveryOf(steps({ ask: [prompt('one', 'execute')] }, { hang: true })))
    await request(1)
    await session.interrupt()
    expect(await ended()).toMatchObject({ reason: 'interrupted' })
    expect(fake.scene.told()).toContain('result cancelled: ')
    expect(fake.scene.told()).not.toContain('request.withdrawn')
    await session.stop()
  })
})

describe('an agent that misbehaves', () => {
  it('is told of once for each kind, and goes on', async () => {
    const session = await begin(['--garbage'])
    await session.send(
      deliveryOf(
        steps(
          { raw: 'not JSON\n' },
          { raw: '[1]\n' },
          { raw: '{"jsonrpc":"2.0","id":99,"result":{}}\n' },
          { raw: '{"jsonrpc":"2.0","method":"session/strange","params":{}}\n' },
          { update: { sessionUpdate: 'from_the_future', x: 1 } },
          { update: { sessionUpdate: 'from_the_future', x: 2 } },
          { update: { sessionUpdate: 'tool_call', title: 'without an id' } },
          { ask: [['client/unknown', {}]] },
        ),
      ),
    )
    expect(await ended()).toMatchObject({ reason: 'completed' })
    const notices = fake.scene.told().filter((line) => /^(info|warning|error) /.test(line))
    expect(notices.map((line) => line.split(':').slice(0, 1)[0])).toEqual([
      'warning runtime.garbage',
      'warning runtime.garbage',
      ...Array(6).fill('info runtime.unknown'),
    ])
    expect(answers()[0]?.error?.code).toBe(-32_601)
    await session.stop()
    expect(fake.scene.told().at(-1)).toBe('exited expected')
  })

  it('that ends in a turn with half a line has its turn killed', async () => {
    const session = await begin()
    await session.send(
      deliveryOf(steps(chunk('I beg'), { raw: '{"jsonrpc":"2.0","meth' }, { exit: 3 })),
    )
    const signal = await fake.scene.waitForSignal('exited')
    expect(signal).toMatchObject({ expected: false, detail: expect.stringContaining('code 3') })
    expect(fake.scene.told()).toEqual([
      'turn.started 1',
      'delivered 1',
      expect.stringMatching(/garbage/),
      'text (cut): I beg',
      expect.stringMatching(/^cost/),
      'turn.ended killed: The fake ended with exit code 3',
      'exited unexpected',
    ])
    await expect(session.send(deliveryOf('More.'))).rejects.toMatchObject({
      code: 'runtime.not-written',
    })
  })

  it('that ends between turns is told of', async () => {
    const session = await begin(['--die-idle'])
    await session.send(deliveryOf(steps(chunk('Bye.'))))
    await fake.scene.waitForSignal('exited')
    expect(fake.scene.told().slice(-2)).toEqual(['turn.ended completed', 'exited unexpected'])
    await session.stop()
  })

  it('that does not end its turn after an interrupt is ended', async () => {
    const session = await begin([], { interruptMs: 300 })
    await session.send(deliveryOf(steps(chunk('Hm.'), { deaf: true })))
    await fake.scene.waitForSignal('live')
    await session.interrupt()
    await fake.scene.waitForSignal('exited')
    expect(fake.scene.told()).toContain('turn.ended interrupted')
    expect(fake.scene.told().join('\n')).toContain('runtime.hung')
  })

  it('that reads nothing is ended by an interrupt, whatever waits to be written', async () => {
    const session = await begin([], { interruptMs: 300, stopMs: 200 })
    const [own] = await session.processes()
    process.kill(own?.pid ?? 0, 'SIGSTOP')
    await session.send(deliveryOf('long '.repeat(200_000)))
    await session.interrupt()
    await fake.scene.waitForSignal('exited')
    expect(fake.scene.told()).toContain('turn.ended interrupted')
    expect(await session.processes()).toEqual([])
  })

  it('that takes its time to end when it is stopped is not told to hang', async () => {
    const session = await begin(['--linger'], { stopMs: 5_000 })
    await session.stop()
    expect(fake.scene.told()).toEqual(['exited expected'])
  })

  it('that closes its output and goes on is ended', async () => {
    const session = await begin()
    await session.send(deliveryOf(steps(chunk('Hm.'), { close: 1, deaf: true })))
    await fake.scene.waitForSignal('exited')
    expect(fake.scene.told().join('\n')).toMatch(/runtime.hung.*closed its connection/)
    expect(fake.scene.told().at(-2)).toMatch(/^turn.ended killed/)
    expect(await session.processes()).toEqual([])
  })

  it.skipIf(process.platform === 'win32')(
    'that closes its input and still answers is ended, with what it said before',
    async () => {
      const session = await begin()
      const permission = {
        ...{ jsonrpc: '2.0', id: 'late', method: 'session/request_permission' },
        params: { sessionId: 'fake-1', toolCall: { toolCallId: 'x' }, options: [] },
      }
      await session.send(
        deliveryOf(
          steps(
            { close: 0 },
            // Their answers break the pipe, so that the library closes its side.
            { raw: `${JSON.stringify(permission)}\n` },
            { wait: 300 },
            { raw: `${JSON.stringify({ ...permission, id: 'later' })}\n` },
            chunk('Still here.', 'a1'),
          ),
        ),
      )
      await fake.scene.waitForSignal('exited')
      expect(fake.scene.told().join('\n')).toMatch(/runtime.hung.*closed its connection/)
      expect(fake.scene.told()).toContain('text (cut): Still here.')
    },
  )

  it('whose first message is refused for want of a login gets the instructions with the next', async () => {
    const session = await begin(['--login-first', '--echo'])
    await session.send(deliveryOf('First.'))
    expect(await ended()).toMatchObject({ reason: 'failed' })
    await session.send(deliveryOf('Second.'))
    await ended(2)
    await session.send(deliveryOf('Third.'))
    await ended(3)
    const said = fake.scene.told().filter((line) => line.startsWith('text:'))
    expect(said.map((line) => line.includes('You work for Ballet.'))).toEqual([true, false])
    await session.stop()
  })

  it('whose turn fails says why, and takes the next message', async () => {
    const session = await begin()
    await session.send(
      deliveryOf(
        steps({
          error: { code: -32603, message: 'Internal error', data: { details: '401 no key' } },
        }),
      ),
    )
    expect(await ended()).toMatchObject({
      reason: 'failed',
      detail: 'Internal error: 401 no key',
      hint: expect.stringContaining('fake login'),
    })
    await session.send(deliveryOf(steps(chunk('Cut.'), { stop: 'max_tokens' })))
    expect(await ended(2)).toMatchObject({ reason: 'limit' })
    await session.stop()
  })
})

describe('a start', () => {
  const refusedStart = async (args: readonly string[], limits = {}) => {
    fake = await FakeScene.make(args, limits)
    const started = fake.driver.start(fake.spec, fake.scene.onSignal)
    const error: unknown = await started.then(
      () => null,
      (why: unknown) => why,
    )
    expect(await fake.scene.tools(-1)).toEqual([])
    return error
  }

  it.each([
    ['of an agent that never answers', ['--mute'], 'runtime.start-failed', /within 3 s/],
    ['of a program of another kind', ['--no-protocol'], 'runtime.start-failed', /does not speak/],
    ['without a login', ['--auth'], 'runtime.not-logged-in', /Authentication required/],
  ])('%s is refused, and leaves nothing', async (_, args, code, message) => {
    const error = await refusedStart(args, { initializeMs: 3_000 })
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
  })

  it('of a program that ends at once says how', async () => {
    fake = await FakeScene.make()
    const started = fake.driver.start(
      { ...fake.spec, executable: '/bin/false' },
      fake.scene.onSignal,
    )
    await expect(started).rejects.toMatchObject({
      code: 'runtime.start-failed',
      message: expect.stringContaining('exit code 1'),
    })
  })

  it('without a way to Ballet’s tools says so, and goes on', async () => {
    fake = await FakeScene.make(['--no-http'])
    const mcpServers = [{ name: 'ballet', url: 'http://127.0.0.1:1/mcp', token: 'token-of-mcp' }]
    const session = await fake.driver.start({ ...fake.spec, mcpServers }, fake.scene.onSignal)
    expect(fake.scene.told().join('\n')).toContain('mcp.unreachable')
    await session.stop()
  })
})
