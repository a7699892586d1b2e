import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRouterClient, ORPCError } from '@orpc/server'
import { afterEach } from 'vitest'
import { Refusal } from '../../src-shared/refusal.ts'
import type { Runtime, RuntimeCapabilities } from '../../src-shared/runtimes.ts'
import { Settings } from '../../src-shared/settings.ts'
import { createCore } from '../create-core.ts'
import { keptFiles } from '../host/kept-files.ts'
import type { CorePorts, Demo, Ids, SettingsPort } from '../ports.ts'
import { createRouter } from '../router/router.ts'
import type { Storage } from '../storage/port.ts'
import { openSqliteDirect } from '../storage/sqlite/direct.ts'
import { FakeLauncher, type ProbeAnswer } from './fake-agent.ts'
import { HandClock } from './hand-clock.ts'

/** Ids that count, in the form of a UUIDv7. */
export function countingIds(seed = 0): Ids {
  let count = seed * 1_000_000
  const hex = (digits: number) => count.toString(16).padStart(digits, '0')
  return {
    uuid: () => {
      count += 1
      return `0193${hex(4).slice(-4)}-0000-7000-8000-${hex(12)}`
    },
    nonce: (bytes) => {
      count += 1
      return hex(bytes * 2)
    },
  }
}

function settingsInMemory(current: Settings): SettingsPort {
  const port = {
    current,
    change: async (differing: (current: Settings) => Partial<Settings>) => {
      port.current = Settings.parse({ ...port.current, ...differing(port.current) })
      return port.current
    },
  }
  return port
}

export type Logged = { level: string; message: string; fields: unknown }

const open: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

let starts = 0

/** The data key of every test. */
export const TEST_KEY = Buffer.alloc(32, 7).toString('base64')

export type TestCoreOptions = {
  agents?: number
  /** Of the fake agents' runtime. */
  capabilities?: RuntimeCapabilities
  /** Of the fake agents, from the start. */
  answer?: ProbeAnswer
  /** Runtimes that the fake agents drive besides it. */
  runtimes?: readonly Runtime[]
  dir?: string
  clock?: HandClock
  spool?: { name: string; content: unknown }[]
  demo?: Demo
  key?: CorePorts['key']
  /** Wraps the storage, to make it fail. */
  storage?: (real: Storage) => Storage
}

/** A Core over real SQLite in a folder of its own, with fake agents and a clock in hand. */
export async function startTestCore(options: TestCoreOptions = {}) {
  starts += 1
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'ballet-core-'))
  const clock = options.clock ?? new HandClock()
  const launcher = new FakeLauncher(clock)
  if (options.capabilities !== undefined) launcher.capabilities = options.capabilities
  if (options.answer !== undefined) launcher.answer = options.answer
  launcher.more = options.runtimes ?? []
  const logged: Logged[] = []
  const log = (level: string) => (message: string, fields?: unknown) => {
    logged.push({ level, message, fields })
  }
  const real = await openSqliteDirect(join(dir, 'ballet.sqlite'))
  const spool = options.spool ?? []
  const ports: CorePorts = {
    clock,
    ids: countingIds(starts),
    log: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    storage: options.storage?.(real) ?? real,
    launcher,
    settings: settingsInMemory(Settings.parse({ agents: options.agents ?? 3 })),
    paths: {
      dataDir: dir,
      mirror: (project) => join(dir, 'mirrors', `${project}.git`),
      workspace: (ticket, session) => join(dir, 'workspaces', `${ticket}-${session.slice(-6)}`),
      kept: (session) => join(dir, 'kept', session),
    },
    spool: {
      read: async () => [...spool],
      remove: async (name) => {
        spool.splice(
          spool.findIndex((file) => file.name === name),
          1,
        )
      },
    },
    host: { version: '0.1.0', kind: 'headless', pid: 1, freeBytes: async () => 10_000_000_000 },
    environment: { PATH: '/usr/bin' },
    texts: { skill: 'Ask well.', planner: 'Answer from the sources.' },
    key: options.key ?? (async () => TEST_KEY),
    exportKey: async () => ({ file: join(dir, 'key'), written: false }),
    kept: keptFiles({ kept: (session) => join(dir, 'kept', session) }),
    ...(options.demo === undefined ? {} : { demo: options.demo }),
  }
  const core = createCore(ports)
  await core.start()
  const client = createRouterClient(createRouter(core, ports.log))
  let closed = false
  /** As a host that dies: nothing is told to anybody. */
  const crash = async () => {
    if (closed) return
    closed = true
    await real.close()
  }
  const test = {
    core,
    client,
    clock,
    launcher,
    logged,
    dir,
    storage: real,
    spool,
    ids: ports.ids,
    crash,
    /** A new start on the same data folder, after a crash. */
    async restart(more: TestCoreOptions = {}) {
      await crash()
      return startTestCore({ ...options, ...more, dir, clock })
    },
  }
  open.push(async () => {
    await crash()
    rmSync(dir, { recursive: true, force: true })
  })
  return test
}

export type TestCore = Awaited<ReturnType<typeof startTestCore>>

/** A project named Shop, and a ticket of it that is started unless said otherwise. */
export async function withTicket(
  { client }: TestCore,
  ticket: { title?: string; body?: string; priority?: number; start?: boolean } = {},
) {
  const projects = await client.projects.list()
  if (projects.length === 0) {
    await client.projects.add({ name: 'Shop', repo: '/srv/shop.git' })
  }
  return client.tickets.add({
    project: 'Shop',
    title: ticket.title ?? 'Add a button',
    body: ticket.body ?? 'It says hello.',
    priority: ticket.priority ?? 3,
    start: ticket.start ?? true,
  })
}

/** The refusal that a call ends with; fails when it does not. */
export async function refusalOf(call: Promise<unknown>): Promise<Refusal> {
  try {
    await call
  } catch (error) {
    if (error instanceof ORPCError && error.code === 'REFUSED') return Refusal.parse(error.data)
    throw error
  }
  throw new Error('the call was not refused')
}
