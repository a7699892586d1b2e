import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openDatabase } from '../storage/sqlite/database.ts'
import { FakeLauncher } from '../testing/fake-agent.ts'
import { HandClock } from '../testing/hand-clock.ts'
import { layOut } from './data-folder.ts'
import { examine } from './examine.ts'
import { takeHostLock } from './host-lock.ts'
import { machineNotes } from './machine-notes.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'ballet-examine-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const look = (dataDir: string, change: (launcher: FakeLauncher) => void = () => undefined) => {
  const launcher = new FakeLauncher(new HandClock())
  change(launcher)
  const env = { PATH: '/usr/bin:/bin', HOME: home, SHELL: '/bin/sh' }
  return examine({ dataDir, version: '0.1.0', launcher, env })
}

it('tells of git, the runtimes and the database of a folder on which no host runs, and changes nothing', async () => {
  openDatabase(join(home, 'ballet.sqlite')).close()
  const before = readdirSync(home)
  const report = await look(home)
  expect(report).toMatchObject({
    host: null,
    version: '0.1.0',
    dataDir: home,
    git: { version: '2.39.5' },
    runtimes: [{ runtime: 'claude-code', version: '2.1.332' }],
    storage: { file: join(home, 'ballet.sqlite'), schemaVersion: expect.any(Number) },
    problems: [],
  })
  expect(report.storage?.bytes).toBeGreaterThan(4_000)
  expect(readdirSync(home).filter((name) => name !== 'host.lock')).toEqual(before)
})

it('takes a folder that is not there yet for one that will be made', async () => {
  const dataDir = join(home, 'later')
  expect(await look(dataDir)).toMatchObject({ dataDir, storage: null, problems: [] })
  expect(readdirSync(home)).toEqual([])
})

it('tells everything that is wrong, each with its next step', async () => {
  mkdirSync(join(home, 'logs'))
  writeFileSync(join(home, 'ballet.sqlite'), 'this is no database')
  writeFileSync(join(home, 'settings.json'), '{')
  const { problems, runtimes } = await look(home, (launcher) => {
    launcher.answer = () => ({ code: 'probe.time-limit', message: 'too slow', hint: 'Try again.' })
  })
  expect(problems.map(({ code }) => code).sort()).toEqual([
    'probe.time-limit',
    'settings.malformed',
    'storage.corrupt',
  ])
  for (const { hint } of problems) expect(hint).toMatch(/\S/)
  expect(runtimes).toEqual([])
})

it('says so when an agent cannot be started', async () => {
  const { problems } = await look(home, (launcher) => {
    launcher.answer = () => undefined
    const launch = launcher.launch.bind(launcher)
    launcher.launch = (agent) => {
      const started = launch(agent)
      launcher.agent(agent).die('it exited with 1')
      return started
    }
  })
  expect(problems).toMatchObject([{ code: 'agent.failed', message: expect.stringContaining('1') }])
})

it('tells of a host that holds the folder and does not answer', async () => {
  openDatabase(join(home, 'ballet.sqlite')).close()
  const lock = takeHostLock(layOut(home), { kind: 'headless', pid: 7, startedAt: 'then' })
  try {
    expect((await look(home)).problems).toMatchObject([{ code: 'host.running' }])
  } finally {
    lock.release()
  }
})

it('notes that callers cannot be told without ss', async () => {
  expect(await machineNotes({ PATH: home }, 'linux')).toMatchObject([
    { code: 'host.callers-unknown', hint: expect.stringContaining('iproute2') },
  ])
  writeFileSync(join(home, 'ss'), '#!/bin/sh\n', { mode: 0o755 })
  expect(await machineNotes({ PATH: `:${home}` }, 'linux')).toEqual([])
  expect(await machineNotes({ PATH: '' }, 'darwin')).toEqual([])
})
