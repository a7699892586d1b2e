import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  AGENT_WIRE_VERSION,
  type AgentItem,
  FromAgent,
  ItemBatch,
  type ToAgent,
} from '../src-shared/agent-wire.ts'
import { processesWith } from './process-tree/index.ts'
import { makeSpec, until } from './session-loop/loop-harness.ts'
import { makeSample, type Sample } from './workspace/sample-repository.ts'

// The agent as a process of its own, with the test as its host.

let folder: string
let sample: Sample
const agents: AgentUnderTest[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ballet-entry-'))
  await build({
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true },
    build: {
      ssr: fileURLToPath(new URL('./entry.ts', import.meta.url)),
      outDir: folder,
      target: 'node20',
      rollupOptions: { output: { format: 'es', entryFileNames: 'agent.mjs' } },
    },
  })
}, 60_000)
afterAll(() => rm(folder, { recursive: true, force: true }))
beforeEach(async () => {
  sample = await makeSample()
  const claude = join(sample.folder, 'claude')
  await writeFile(
    claude,
    `#!/bin/sh\ncase "$1" in --version) echo '2.1.332 (Claude Code)' ;; auth) echo '{"loggedIn":true}' ;; *) sleep 300 ;; esac\n`,
  )
  await chmod(claude, 0o755)
})
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.kill()
  await sample.remove()
})

class AgentUnderTest {
  readonly said: FromAgent[] = []
  readonly exited: Promise<number | null>
  readonly #child: ChildProcess

  constructor(stores = true) {
    this.#child = fork(join(folder, 'agent.mjs'), {
      env: { PATH: process.env.PATH, BALLET_AGENT: 'agent-2' },
      serialization: 'advanced',
    })
    this.exited = new Promise((resolve) => this.#child.once('exit', (code) => resolve(code)))
    this.#child.on('message', (message) => {
      const said = FromAgent.parse(message)
      this.said.push(said)
      if (said.type === 'items' && stores) {
        const n = said.from + said.items.length - 1
        this.send({ type: 'items.ack', lease: said.lease, n })
      }
    })
    agents.push(this)
  }

  get pid(): number {
    return this.#child.pid ?? -1
  }

  send(message: ToAgent | Record<string, unknown>): void {
    if (this.#child.connected) this.#child.send(message)
  }

  init(env: Readonly<Record<string, string>> = sample.env): this {
    this.send({
      type: 'init',
      wire: AGENT_WIRE_VERSION,
      agent: 'agent-2',
      dataDir: sample.dataDir,
      heartbeatMs: 100,
      env,
    })
    return this
  }

  say<T extends FromAgent['type']>(type: T): Promise<FromAgent & { type: T }> {
    return until(`the agent to say ${type}`, () =>
      this.said.find((said): said is FromAgent & { type: T } => said.type === type),
    )
  }

  items(): AgentItem[] {
    return this.said.flatMap((said) => (said.type === 'items' ? said.items : []))
  }

  disconnect(): void {
    this.#child.disconnect()
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.#child.kill(signal)
  }
}

const longSetup = () =>
  makeSpec(sample, {
    runtimePath: join(sample.folder, 'claude'),
    setup: { command: 'echo working; setsid sleep 300 & sleep 300', limitMs: null },
  })

const untilSetupRuns = (agent: AgentUnderTest, spec: ReturnType<typeof longSetup>) =>
  until('the setup to run', async () => {
    const shown = agent.said.some((said) => said.type === 'live' && said.text.includes('working'))
    return shown && (await processesWith([spec])).length >= 2
  })

async function spooled(lease: string): Promise<ItemBatch> {
  const text = await readFile(join(sample.dataDir, 'spool', `${lease}.json`), 'utf8')
  return ItemBatch.parse(JSON.parse(text))
}

const words = (items: readonly AgentItem[]) =>
  items.map((item) => (item.type === 'event' ? item.event.kind : item.type))

describe('an agent', () => {
  it('says who it is, lives visibly, answers probes, and refuses what it does not understand', async () => {
    const agent = new AgentUnderTest()
    expect(await agent.say('hello')).toMatchObject({
      wire: AGENT_WIRE_VERSION,
      process: { pid: agent.pid },
    })
    agent.send({ type: 'what is this' })
    expect(await agent.say('log')).toMatchObject({ level: 'error' })
    agent.init()
    expect(await agent.say('heartbeat')).toMatchObject({ lease: null, runtime: [] })
    const beats = () => agent.said.filter(({ type }) => type === 'heartbeat').length
    await until('more heartbeats', () => beats() > 3)
    expect((await agent.say('heartbeat')).memoryBytes).toBeGreaterThan(10_000_000)
    const probe = { kind: 'remote' as const, repo: sample.remote }
    agent.send({ type: 'probe', id: 'p1', limitMs: 10_000, probe })
    expect(await agent.say('probe.found')).toMatchObject({
      id: 'p1',
      finding: { kind: 'remote', branch: 'main' },
    })
    agent.send({ type: 'shutdown' })
    expect(await agent.exited).toBe(0)
  })

  it('answers nothing that its own end cut, so that another one is asked', async () => {
    const ssh = join(sample.folder, 'hanging-ssh')
    const started = join(sample.folder, 'started')
    await writeFile(ssh, `#!/bin/sh\necho > '${started}'\nsleep 60\n`, { mode: 0o755 })
    const env = { ...sample.env, GIT_SSH_COMMAND: ssh, GIT_SSH_VARIANT: 'simple' }
    const agent = new AgentUnderTest().init(env)
    const probe = { kind: 'remote' as const, repo: 'host:repository' }
    agent.send({ type: 'probe', id: 'p1', limitMs: 30_000, probe })
    await until('the probe to be under way', () => existsSync(started))
    agent.send({ type: 'shutdown' })
    expect(await agent.exited).toBe(0)
    expect(agent.said.filter(({ type }) => type === 'probe.found')).toEqual([])
  })

  it('shows what runs for its session', async () => {
    const agent = new AgentUnderTest().init()
    const spec = longSetup()
    agent.send({ type: 'session.start', spec })
    await untilSetupRuns(agent, spec)
    const beat = await until('a heartbeat with processes', () =>
      agent.said.find(
        (said) =>
          said.type === 'heartbeat' && said.runtime.length > 1 && said.runtimeMemoryBytes > 0,
      ),
    )
    expect(beat).toMatchObject({ lease: spec.lease })
    agent.send({ type: 'session.release', lease: spec.lease })
    await until('the end', () => words(agent.items()).includes('ended'))
    expect(await processesWith([spec])).toEqual([])
    // And it is free for the next one.
    const next = makeSpec(sample, { repo: '/nowhere', mirrorDir: join(sample.dataDir, 'm.git') })
    agent.send({ type: 'session.start', spec: { ...next, workspaceDir: `${next.workspaceDir}x` } })
    await until(
      'its end',
      () => words(agent.items()).filter((word) => word === 'ended').length === 2,
    )
  })

  it.each([
    ['the host is gone', (agent: AgentUnderTest) => agent.disconnect()],
    ['it is told to end', (agent: AgentUnderTest) => agent.kill('SIGTERM')],
  ])('leaves what is not stored, and no process, when %s', async (_, end) => {
    const agent = new AgentUnderTest(false).init()
    const spec = longSetup()
    agent.send({ type: 'session.start', spec })
    await untilSetupRuns(agent, spec)
    end(agent)
    expect(await agent.exited).toBe(0)
    expect(await processesWith([spec])).toEqual([])
    const batch = await spooled(spec.lease)
    expect(batch.from).toBe(1)
    expect(words(batch.items)).toEqual(['notice', 'workspace', 'tool.call', 'tool.result'])
    expect(batch.items.at(-1)).toMatchObject({
      event: { status: 'unknown', output: expect.stringContaining('working') },
    })
  })

  it('leaves nothing when everything is stored at a shutdown', async () => {
    const agent = new AgentUnderTest().init()
    const spec = longSetup()
    agent.send({ type: 'session.start', spec })
    await untilSetupRuns(agent, spec)
    agent.send({ type: 'shutdown' })
    expect(await agent.exited).toBe(0)
    expect(words(agent.items()).at(-1)).toBe('tool.result')
    expect(await readdir(join(sample.dataDir, 'spool')).catch(() => [])).toEqual([])
    expect(await processesWith([spec])).toEqual([])
  })

  it('that was killed in the middle of a clone leaves no half mirror to the next one', async () => {
    const ssh = join(sample.folder, 'slow-ssh')
    const started = join(sample.folder, 'started')
    await writeFile(
      ssh,
      `#!/bin/sh\nfor last; do :; done\nif [ -e '${started}' ]; then eval "$last"; exit; fi\n` +
        `eval "$last" | { dd bs=1 count=5000 2>/dev/null; echo > '${started}'; sleep 60; }\n`,
    )
    await sample.commit('main', { 'large.bin': randomBytes(200_000).toString('base64') })
    await chmod(ssh, 0o755)
    const changes = {
      repo: `host:${sample.remote}`,
      runtimePath: join(sample.folder, 'claude'),
      env: { GIT_SSH_COMMAND: ssh, GIT_SSH_VARIANT: 'simple' },
    }
    const first = new AgentUnderTest().init()
    first.send({ type: 'session.start', spec: makeSpec(sample, changes) })
    await until('the transfer to begin', () =>
      readFile(started).then(
        () => true,
        () => false,
      ),
    )
    first.kill('SIGKILL')
    await first.exited
    const mirrors = join(sample.dataDir, 'mirrors')
    expect(await readdir(mirrors)).not.toContain('p.git')
    const second = new AgentUnderTest().init()
    const setup = { command: 'echo working; sleep 300', limitMs: null }
    const spec = makeSpec(sample, { ...changes, setup })
    second.send({ type: 'session.start', spec })
    await until('the workspace', () => words(second.items()).includes('workspace'))
    expect(await readdir(mirrors)).toEqual(['p.git'])
    second.send({ type: 'session.release', lease: spec.lease })
    await until('the end', () => words(second.items()).includes('ended'))
  })

  it('takes a session only once it knows its folder, and one at a time', async () => {
    const agent = new AgentUnderTest()
    const spec = longSetup()
    agent.send({ type: 'session.start', spec })
    expect(await agent.say('log')).toMatchObject({ level: 'error' })
    agent.init()
    agent.send({ type: 'session.start', spec })
    const other = makeSpec(sample, { lease: randomUUID() })
    agent.send({ type: 'session.start', spec: other })
    const ended = await until('the refusal', () =>
      agent.items().find((item) => item.type === 'ended'),
    )
    expect(ended).toMatchObject({ outcome: 'failed', refusal: { code: 'agent.busy' } })
    agent.send({ type: 'session.stop', lease: spec.lease })
    await until(
      'the end',
      () => words(agent.items()).filter((word) => word === 'ended').length === 2,
    )
  })
})
