import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type McpServer, openMcpServer } from '../../mcp/http-server.ts'
import { readCall } from '../../mcp/tools.ts'
import type { McpServerAddress } from '../driver.ts'
import { createClaudeCodeDriver } from './index.ts'
import { deliveryOf, Scene, scripted, startModel } from './testing/real-runtime.ts'

// Real programs on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const driver = createClaudeCodeDriver()

const TOOLS = ['ask_question', 'complete_stage', 'record_assumption', 'report_progress'].map(
  (name) => `mcp__ballet__${name}`,
)

describe("Ballet's tools in the real Claude Code", () => {
  let model: Awaited<ReturnType<typeof startModel>>
  let scene: Scene
  let server: McpServer
  const calls: { name: string; args: unknown }[] = []

  beforeAll(async () => {
    model = await startModel()
  })
  afterAll(() => model.close())
  beforeEach(async () => {
    calls.length = 0
    scene = await Scene.make(model.url)
    server = await openMcpServer(async (name, args) => {
      calls.push({ name, args })
      const read = readCall(name, args, () => '0190c0de-0000-7000-8000-000000000001')
      return 'refusal' in read
        ? { isError: true, text: read.refusal }
        : { isError: false, text: 'Recorded as SHOP-1-Q1.' }
    })
  })
  afterEach(async () => {
    await server.close()
    await scene.close()
  })

  const spec = (mcpServers: readonly McpServerAddress[], permission: 'ask' | 'edits' | 'full') => ({
    ...scene.spec,
    permission,
    mcpServers,
  })
  const ask = (input: object) => ({ tool: 'mcp__ballet__ask_question', input })
  const notices = () =>
    scene.signals.flatMap((signal) =>
      signal.type === 'event' && signal.event.kind === 'notice' ? signal.event : [],
    )

  it.each(['ask', 'edits', 'full'] as const)(
    'are offered up front and called without a prompt in the mode %s',
    async (permission) => {
      const session = await driver.start(spec([server], permission), scene.onSignal)
      const steps = [ask({ question: 'Which database?' }), { text: 'I asked.' }]
      await session.send(deliveryOf(scripted('Ask.', steps)))
      await scene.waitForSignal('turn.ended')
      const offered = model.requests().at(-1)?.tools ?? []
      expect(offered.filter((name) => name.startsWith('mcp__')).sort()).toEqual(TOOLS)
      expect(offered).not.toContain('AskUserQuestion')
      expect(calls).toEqual([{ name: 'ask_question', args: { question: 'Which database?' } }])
      const told = scene.told().filter((entry) => !/^(?:cost|delivered) /.test(entry))
      expect(told).toEqual([
        'turn.started 1',
        'call mcp mcp__ballet__ask_question: ballet: ask question: Which database?',
        'result ok: Recorded as SHOP-1-Q1.',
        'text: I asked.',
        'turn.ended completed',
      ])
      expect(notices()).toEqual([])
      await session.stop()
    },
  )

  it('tell the model what is wrong with a call, and go on', async () => {
    const session = await driver.start(spec([server], 'full'), scene.onSignal)
    const steps = [
      ask({}),
      ask({ question: ' ' }),
      ask({ question: 'x'.repeat(100_000) }),
      ask({ question: 'Which?', options: 'none' }),
      { text: 'I give up.' },
    ]
    await session.send(deliveryOf(scripted('Ask.', steps)))
    await scene.waitForSignal('turn.ended')
    const results = scene.told().filter((told) => told.startsWith('result'))
    expect(results).toHaveLength(4)
    for (const result of results) expect(result).toMatch(/^result error: /)
    expect(scene.lastTold()).toBe('turn.ended completed')
    await session.stop()
  })

  it('stay when the conversation goes on in another process', async () => {
    const first = await driver.start(spec([server], 'full'), scene.onSignal)
    await first.send(deliveryOf(scripted('Go.', [{ text: 'Gone.' }])))
    await scene.waitForSignal('delivered')
    await scene.waitForSignal('turn.ended')
    await first.stop()
    const facts = scene.facts(first.conversation, {})
    const { session } = await driver.resume(spec([server], 'full'), facts, scene.onSignal)
    const steps = [ask({ question: 'Again?' }), { text: 'Asked.' }]
    await session.send(deliveryOf(scripted('Ask.', steps)))
    await scene.waitForSignal('turn.ended', 2)
    expect(calls).toEqual([{ name: 'ask_question', args: { question: 'Again?' } }])
    await session.stop()
  })

  it('that cannot be reached are told of, and the session goes on without them', async () => {
    const { name, url, token } = server
    await server.close()
    for (const address of [
      { name, url, token },
      { name, url: 'http://127.0.0.1:1/mcp', token },
    ]) {
      scene.signals.length = 0
      const session = await driver.start(spec([address], 'full'), scene.onSignal)
      await scene.waitFor('a notice', () => notices().length > 0)
      expect(notices()).toMatchObject([
        { level: 'error', code: 'mcp.unreachable', text: expect.stringContaining('ballet') },
      ])
      await session.send(deliveryOf(scripted('Go.', [{ text: 'Without.' }])))
      await scene.waitForSignal('turn.ended')
      expect(scene.told()).toContain('text: Without.')
      await session.stop()
    }
  })

  it('that never answer hold the session up only so long', async () => {
    const silent = createServer(() => undefined)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/mcp`
    try {
      const session = await driver.start(
        spec([{ name: 'ballet', url, token: 'a-token-of-nobody' }], 'full'),
        scene.onSignal,
      )
      await session.send(deliveryOf(scripted('Go.', [{ text: 'Without.' }])))
      await scene.waitForSignal('turn.ended')
      await scene.waitFor('a notice', () => notices().length > 0)
      expect(notices()).toMatchObject([{ code: 'mcp.unreachable' }])
      await session.stop()
    } finally {
      silent.closeAllConnections()
      silent.close()
    }
  })
})
