import { execFile } from 'node:child_process'
import { chmod, lstat, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { removeWorkspace } from '../workspace/folders.ts'
import { type Sample, writeFiles } from '../workspace/sample-repository.ts'
import { readSnapshot } from './manifest.ts'
import { restoreFiles } from './restore-files.ts'
import { makeParkingScene, type ParkingScene } from './testing/parking-scene.ts'

vi.setConfig({ testTimeout: 60_000 })

let scene: ParkingScene
let sample: Sample
let work: string
const sh = (...args: string[]) => scene.sh(...args)
const settingsOf = async (cwd: string) =>
  (await sample.sh(cwd, 'config', '--local', '--list')).split('\n')

beforeEach(async () => {
  scene = await makeParkingScene({
    'a.txt': 'a\n',
    'run.sh': '#!/bin/sh\n',
    '.gitignore': '*.log\n',
  })
  sample = scene.sample
  work = scene.work
})
afterEach(() => sample.remove())

async function restoredElsewhere() {
  const parked = await scene.park({ keep: true })
  await removeWorkspace(sample.dataDir, work)
  const plan = await scene.elsewhere(parked)
  await scene.restore(plan, parked.work)
  return plan.workspaceDir
}

const told = () =>
  sample.told.flatMap((each) =>
    'code' in each && each.code === 'snapshot.not-kept' ? [each.text] : [],
  )

describe('settings', () => {
  it('of other remotes and of branches come back, with every value, also beside commits alone', async () => {
    await sh('remote', 'add', 'Up.stream', 'https://example.org/up.git')
    await sh('config', '--add', 'remote.Up.stream.fetch', '+refs/pull/*/head:refs/pull/*')
    await sh('config', 'branch.side/x.merge', 'refs/heads/main')
    await sh('config', 'branch.side/x.description', 'two\nlines')
    const before = await settingsOf(work)
    const after = await settingsOf(await restoredElsewhere())
    const own = (all: string[]) =>
      all.filter((line) => /^(remote\.Up|branch|lines)/.test(line)).sort()
    expect(own(after)).toEqual(own(before))
    expect(own(after)).toHaveLength(6)
    expect(told()).toEqual([])
  })

  it('that may be a secret or run a program are not kept, which is said by their names alone', async () => {
    await sh('remote', 'add', 'mine', 'https://me:hush@example.org/up.git')
    await sh('config', 'http.extraHeader', 'Authorization: hush')
    await sh('config', 'core.hooksPath', '.husky')
    await writeFiles(work, { 'a.txt': 'changed\n', '.git/hooks/pre-commit': '#!/bin/sh\n' })
    const cwd = await restoredElsewhere()
    expect(told()).toHaveLength(1)
    const [text] = told()
    for (const part of [
      'the remote mine (its address has a password)',
      'the setting http.extraheader',
      'the setting core.hookspath',
      'the hook pre-commit',
    ]) {
      expect(text).toContain(part)
    }
    expect(text).not.toContain('hush')
    expect((await settingsOf(cwd)).join('\n')).not.toMatch(/mine|hush|husky/)
  })

  it('of a manifest that somebody else made run nothing', async () => {
    await writeFiles(work, { 'new.txt': 'new\n' })
    const { snapshot } = await scene.park({ keep: true })
    const found = await readSnapshot(sample.git, work, snapshot.commit ?? '')
    if (found === null) throw new Error('no snapshot')
    const config: [string, string][] = [
      ['core.sshCommand', 'touch /tmp/x'],
      ['user.name', 'Robo'],
    ]
    const forged = { ...found, manifest: { ...found.manifest, config } }
    const options = { aside: null, isPartial: false }
    await restoreFiles(sample.git, work, forged, options, new AbortController().signal)
    const after = (await settingsOf(work)).join('\n')
    expect(after).toContain('user.name=Robo')
    expect(after).not.toContain('sshcommand')
  })
})

it('permissions beyond those of a program come back, of committed files too', async () => {
  await writeFiles(work, { 'new.txt': 'new\n' })
  await chmod(join(work, 'a.txt'), 0o600)
  await chmod(join(work, 'new.txt'), 0o444)
  await chmod(join(work, 'run.sh'), 0o700)
  const cwd = await restoredElsewhere()
  const modes = await Promise.all(
    ['a.txt', 'new.txt', 'run.sh'].map(
      async (name) => (await lstat(join(cwd, name))).mode & 0o7777,
    ),
  )
  expect(modes).toEqual([0o600, 0o444, 0o700])
  expect(await sample.sh(cwd, 'status', '--short')).toBe('M run.sh\n?? new.txt')
})

it('what is no file is not kept, nor a setuid bit, which is said', async () => {
  await promisify(execFile)('mkfifo', [join(work, 'pipe')])
  await mkdir(join(work, 'd'))
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(join(work, 'd', 's'), resolve))
  await chmod(join(work, 'run.sh'), 0o4755)
  try {
    await scene.park({ keep: true })
  } finally {
    server.close()
  }
  expect(told()[0]?.split(': ')[1]?.split(', ').sort()).toEqual([
    'd/s (a socket)',
    'pipe (a pipe)',
    'run.sh (its setuid or setgid bit).',
  ])
})

it('what git ignores is named, secrets first', async () => {
  await writeFile(join(work, '.gitignore'), '*.log\n.env\nbuild/\n')
  await writeFiles(work, { 'a.log': 'x', '.env': 'KEY=1\n', 'build/x': 'x' })
  const { ignored } = await scene.take()
  expect(ignored).toBe('.env, a.log, build/')
  expect(await readFile(join(work, '.env'), 'utf8')).toBe('KEY=1\n')
})
