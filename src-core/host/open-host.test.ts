import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { AgentProcess, Log } from '../ports.ts'
import { buildStorageWorker } from '../storage/test-worker.ts'
import { type Host, openHost } from './open-host.ts'
import { createWireChannel } from './wire-channel.ts'

let worker: Awaited<ReturnType<typeof buildStorageWorker>>
beforeAll(async () => {
  worker = await buildStorageWorker()
})
afterAll(() => worker.remove())

let dataDir: string
let hosts: Host[]
let agents: { killed: boolean; told: unknown[] }[]
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'bh-'))
  hosts = []
  agents = []
})
afterEach(async () => {
  for (const host of hosts) await host.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const log: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** An agent that says nothing and ends when it is told to, or is killed. */
function launchMute(): AgentProcess {
  const agent = { killed: false, told: [] as unknown[] }
  agents.push(agent)
  const exits: ((exit: { code: number | null; reason: string }) => void)[] = []
  let ended = false
  const end = (reason: string) => {
    if (ended) return
    ended = true
    wire.closed()
    for (const exit of exits) exit({ code: 0, reason })
  }
  const wire = createWireChannel({
    send: (message) => {
      agent.told.push(message)
      if ((message as { type: string }).type === 'shutdown') queueMicrotask(() => end('told to'))
    },
    close: () => end('closed'),
  })
  return {
    channel: wire.channel,
    pid: () => 1,
    onExit: (listener) => exits.push(listener),
    kill: () => {
      agent.killed = true
      end('killed')
    },
  }
}

async function open(
  changes: { agents?: number; worker?: string; resources?: string } = {},
): Promise<Host> {
  const { worker: storageWorker = worker.file, resources = 'resources', ...others } = changes
  const host = await openHost({
    kind: 'headless',
    version: '1.2.3',
    dataDir,
    log,
    launcher: { launch: launchMute },
    programs: { storageWorker, modelServer: '/nowhere', resources },
    ...others,
  })
  hosts.push(host)
  return host
}

it('runs on a new data folder and says what it is', async () => {
  const host = await open({ agents: 2 })
  expect(host.info).toMatchObject({ version: '1.2.3', kind: 'headless', agents: 2, dataDir })
  expect(host.socket).toBe(join(dataDir, 'ballet.sock'))
  expect(existsSync(host.socket)).toBe(true)
  expect(agents).toHaveLength(2)
})

it('is alone on its folder until it is closed', async () => {
  const first = await open()
  await expect(open()).rejects.toMatchObject({ code: 'host.running' })
  await first.close()
  expect(existsSync(first.socket)).toBe(false)
  const second = await open()
  expect(second.info.dataDir).toBe(dataDir)
})

it('lets go of everything when a step fails', async () => {
  writeFileSync(join(dataDir, 'settings.json'), '{ "agents": "many" }')
  await expect(open()).rejects.toMatchObject({ code: 'settings.malformed' })
  rmSync(join(dataDir, 'settings.json'))
  await open()
})

it('does not start without the texts that runtimes are told', async () => {
  await expect(open({ resources: '/nowhere' })).rejects.toMatchObject({ code: 'host.incomplete' })
  await open()
})

it('leaves a file that is no database as it is', async () => {
  const file = join(dataDir, 'ballet.sqlite')
  const letter = 'Dear database, you are none. '.repeat(300)
  writeFileSync(file, letter)
  await expect(open()).rejects.toMatchObject({ code: 'storage.corrupt' })
  expect(readFileSync(file, 'utf8')).toBe(letter)
  expect(agents).toEqual([])
})

it('tells its agents to end, and kills them where that is asked for', async () => {
  const host = await open({ agents: 1 })
  await host.close()
  expect(agents[0]?.told).toContainEqual({ type: 'shutdown' })
  expect(agents[0]?.killed).toBe(false)

  const other = await open({ agents: 1 })
  other.kill()
  expect(agents[1]?.killed).toBe(true)
})

it('is closed once, however often that is asked for', async () => {
  const host = await open()
  await Promise.all([host.close(), host.close()])
  await open()
})

it('tells when its database is gone, and lets its agents end before it lets go of the folder', async () => {
  const mortal = join(dataDir, 'worker.mjs')
  writeFileSync(
    mortal,
    `await import(${JSON.stringify(pathToFileURL(worker.file).href)})
    setInterval(() => process.exit(7), 500)`,
  )
  const host = await open({ agents: 1, worker: mortal })
  expect(await host.failed).toMatchObject({ code: 'storage.failed' })
  await host.close()
  expect(agents[0]?.told).toContainEqual({ type: 'shutdown' })
  expect(agents[0]?.killed).toBe(false)
  await open()
})
