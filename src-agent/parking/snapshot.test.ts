import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openWorkspace } from '../workspace/clone.ts'
import { removeWorkspace } from '../workspace/folders.ts'
import { makeSample, never, type Sample, writeFiles } from '../workspace/sample-repository.ts'
import { type Fingerprint, fingerprintOf } from './fingerprint.ts'
import { absolutePath } from './path-bytes.ts'
import { pushParked } from './push.ts'
import { type ParkedWork, type RestoredWork, restoreWorkspace } from './restore.ts'
import { type Snapshot, takeSnapshot } from './snapshot.ts'

const key = Buffer.alloc(32, 9)
const FILES = {
  'README.md': '# Sample\n',
  'a.txt': 'a\n',
  'b.txt': 'b\n',
  'c.txt': 'c\n',
  'd/one.txt': '1\n',
  'd/two.txt': '2\n',
  'run.sh': '#!/bin/sh\n',
  link: '-> a.txt',
  '.gitignore': '*.log\nbuild/\n',
}

let sample: Sample
let work: string
const sh = (...args: string[]) => sample.sh(work, ...args)
const at = (name: string) => join(work, name)
const write = (files: Record<string, string | null>) => writeFiles(work, files)
const seen = (folder = work): Promise<Fingerprint> => fingerprintOf(folder, sample.env)

beforeEach(async () => {
  sample = await makeSample()
  await sample.commit('main', FILES)
  await openWorkspace(sample.git, sample.plan(), sample.report, never)
  work = sample.plan().workspaceDir
})
afterEach(() => sample.remove())

const target = () => ({ folder: join(sample.folder, 'kept'), key })
const take = () => takeSnapshot(sample.git, sample.plan(), target(), sample.report, never)

type Parked = { snapshot: Snapshot; work: ParkedWork; pushed: boolean }

/** Takes the snapshot, pushes it, and removes the workspace. */
async function park(options: { push?: boolean } = {}): Promise<Parked> {
  const before = await seen()
  const snapshot = await take()
  expect(await seen()).toEqual(before)
  let pushBundle: string | null = null
  let pushed = false
  if (snapshot.commit !== null && snapshot.needsPush) {
    const limitMs = options.push === false ? 0 : 60_000
    const push = await pushParked(
      sample.git,
      sample.plan(),
      snapshot.commit,
      { ...target(), limitMs },
      never,
    )
    pushed = push.pushed
    if (!push.pushed) pushBundle = push.bundle?.file ?? null
  }
  expect(await seen()).toEqual(before)
  await removeWorkspace(sample.dataDir, work)
  const file = (sealed: { file: string } | null) => sealed?.file ?? null
  return {
    snapshot,
    pushed,
    work: {
      ...snapshot,
      ...{ key, pushBundle },
      asideArchive: file(snapshot.asideArchive),
      refsBundle: file(snapshot.refsBundle),
      archive: file(snapshot.archive),
    },
  }
}

/** Restores into a data folder at another path, that knows nothing of this one. */
async function restoreElsewhere(
  parked: Parked,
  folder = 'elsewhere',
): Promise<RestoredWork & { cwd: string }> {
  const dataDir = join(sample.folder, folder, 'deeper', 'data')
  await mkdir(dataDir, { recursive: true })
  const plan = sample.plan({
    dataDir,
    mirrorDir: join(dataDir, 'mirrors', 'p.git'),
    workspaceDir: join(dataDir, 'workspaces', 'SHOP-1-other1'),
    pushedCommit: parked.pushed ? parked.snapshot.commit : null,
  })
  const restored = await restoreWorkspace(sample.git, plan, parked.work, sample.report, never)
  return { ...restored, cwd: plan.workspaceDir }
}

/** Parks, restores elsewhere, and compares everything. */
async function roundTrip(): Promise<Parked & { cwd: string; restored: RestoredWork }> {
  const before = await seen()
  const parked = await park()
  const restored = await restoreElsewhere(parked)
  const after = await seen(restored.cwd)
  expect(after).toEqual(before)
  return { ...parked, cwd: restored.cwd, restored }
}

describe('a snapshot', () => {
  it('brings everything back, in another folder and by hash', async () => {
    await sh('commit', '--quiet', '--allow-empty', '-m', 'A commit of the agent')
    await write({
      'a.txt': 'staged\n',
      'staged-new.txt': 'new and staged\n',
      'b.txt': null,
    })
    await sh('add', 'a.txt', 'staged-new.txt')
    await sh('mv', 'c.txt', 'renamed.txt')
    await write({
      'a.txt': 'staged, and then changed again\n',
      'staged-new.txt': null,
      'untracked/deep/x.txt': 'x\n',
      'odd "name"\n.txt': 'odd\n',
      'tab\there ü 🩰': 'tab\n',
      empty: '',
      'ignored.log': 'not this\n',
      'build/out': 'nor this\n',
    })
    await writeFile(absolutePath(work, 'no-utf8-\xff\xfe'), 'bytes\n')
    await writeFile(at('binary'), Buffer.from([0, 255, 13, 10, 0, 13]))
    await chmod(at('run.sh'), 0o755)
    await rm(at('d'), { recursive: true })
    await writeFile(at('d'), 'a file where a folder was\n')
    await rm(at('link'))
    await symlink('nowhere/at all', at('link'))
    await symlink(Buffer.from('\xff', 'latin1'), at('odd link'))
    await mkdir(at('empty folder/deep/er'), { recursive: true })
    const { snapshot, cwd, pushed } = await roundTrip()
    expect(pushed).toBe(true)
    expect(snapshot).toMatchObject({ workInProgress: true, aside: [], archive: null, reasons: [] })
    expect(await sample.sh(cwd, 'show', ':a.txt')).toBe('staged')
    expect(await readFile(join(cwd, 'a.txt'), 'utf8')).toBe('staged, and then changed again\n')
    expect(await sample.sh(cwd, 'log', '-1', '--format=%s')).toBe('A commit of the agent')
    await expect(lstat(join(cwd, 'ignored.log'))).rejects.toThrow()
  })

  it('is two commits on the branch, in plain sight', async () => {
    await write({ 'a.txt': 'staged\n' })
    await sh('add', 'a.txt')
    await write({ 'a.txt': 'more\n', 'new.txt': 'new\n' })
    const head = await sh('rev-parse', 'HEAD')
    const { snapshot } = await park()
    const show = (...args: string[]) => sample.sh(sample.remote, ...args)
    const branch = sample.plan().branch
    expect(await show('rev-parse', branch)).toBe(snapshot.commit)
    expect((await show('log', '-2', '--format=%s', branch)).split('\n')).toEqual([
      'Work in progress on SHOP-1',
      'Work in progress on SHOP-1: what was staged',
    ])
    expect(await show('rev-parse', `${branch}~2`)).toBe(head)
    expect(await show('show', `${branch}~1:a.txt`)).toBe('staged')
    expect(await show('show', `${branch}:new.txt`)).toBe('new')
  })

  it('of a clean workspace is its last commit; without one nothing is pushed', async () => {
    const untouched = await roundTrip()
    expect(untouched.snapshot).toMatchObject({ workInProgress: false, needsPush: false })
    work = untouched.cwd
    await sample.sh(work, 'commit', '--quiet', '--allow-empty', '-m', 'Agent')
    const plan = sample.plan({ workspaceDir: work, dataDir: join(work, '..', '..') })
    const snapshot = await takeSnapshot(sample.git, plan, target(), sample.report, never)
    expect(snapshot).toMatchObject({ workInProgress: false, needsPush: true })
    expect(snapshot.commit).toBe(await sh('rev-parse', 'HEAD'))
  })

  it('taken twice gives the same commits, and takes nothing of an earlier one for its own', async () => {
    await write({ 'a.txt': 'changed\n' })
    const first = await take()
    expect((await take()).commit).toBe(first.commit)
    await write({ 'a.txt': 'changed again\n' })
    const second = await take()
    expect(second.commit).not.toBe(first.commit)
    expect(await sh('show', `${second.commit}:a.txt`)).toBe('changed again')
  })

  it('keeps what is intended to be added, flags, and files behind them', async () => {
    await write({ 'intended.txt': 'soon\n', 'intended-gone.txt': 'x\n', 'intended-empty': '' })
    await sh('add', '--intent-to-add', 'intended.txt', 'intended-gone.txt', 'intended-empty')
    await write({ 'intended-gone.txt': null, 'really-empty': '' })
    await sh('add', 'really-empty')
    await sh('update-index', '--assume-unchanged', 'a.txt', 'd/one.txt')
    await sh('update-index', '--skip-worktree', 'b.txt', 'c.txt')
    await write({ 'a.txt': 'hidden change\n', 'b.txt': 'skipped change\n', 'c.txt': null })
    const before = await seen()
    expect(before.index.filter((line) => line.startsWith('h'))).toHaveLength(2)
    expect(before.index.filter((line) => line.startsWith('S'))).toHaveLength(2)
    const { cwd } = await roundTrip()
    expect(await readFile(join(cwd, 'a.txt'), 'utf8')).toBe('hidden change\n')
  })

  it.each(['detached', 'another branch', 'a branch without a commit', 'behind its own branch'])(
    'keeps where HEAD stands: %s',
    async (where) => {
      await sh('commit', '--quiet', '--allow-empty', '-m', 'On the branch')
      if (where === 'detached') await sh('checkout', '--quiet', '--detach', 'HEAD~1')
      if (where === 'another branch') await sh('checkout', '--quiet', '-b', 'other', 'HEAD~1')
      if (where === 'behind its own branch') await sh('checkout', '--quiet', '--detach', 'HEAD~1')
      if (where === 'a branch without a commit')
        await sh('checkout', '--quiet', '--orphan', 'fresh')
      else await sh('commit', '--quiet', '--allow-empty', '-m', 'Elsewhere')
      await write({ 'a.txt': 'changed\n' })
      await roundTrip()
    },
  )

  it('keeps other branches, tags that are only here, stashes and notes', async () => {
    await sh('checkout', '--quiet', '-b', 'side')
    await sh('commit', '--quiet', '--allow-empty', '-m', 'Only here')
    await sh('tag', 'light')
    await sh('tag', '-a', '-m', 'words', 'heavy', 'HEAD~1')
    await sh('notes', 'add', '-m', 'a note')
    await sh('checkout', '--quiet', sample.plan().branch)
    await write({ 'a.txt': 'first stash\n', 'untracked.txt': 'u\n' })
    await sh('stash', 'push', '--quiet', '--include-untracked', '-m', 'first: with words')
    await write({ 'b.txt': 'second stash\n' })
    await sh('stash', 'push', '--quiet')
    const before = await seen()
    expect(before.stashes).toHaveLength(2)
    const { snapshot, cwd } = await roundTrip()
    expect(snapshot.refsBundle).not.toBeNull()
    await sample.sh(cwd, 'stash', 'pop', '--quiet')
    expect(await readFile(join(cwd, 'b.txt'), 'utf8')).toBe('second stash\n')
  })

  it('puts secrets and very large files aside, sealed and not on the remote', async () => {
    await write({
      '.env': 'TOKEN=hunter2\n',
      'keys/id_rsa': 'PRIVATE\n',
      '.env.example': 'TOKEN=\n',
    })
    await chmod(at('.env'), 0o600)
    await write({ 'intended.pem': 'CERT\n' })
    await sh('add', '--intent-to-add', 'intended.pem')
    await writeFile(at('large.bin'), Buffer.alloc(21 * 1024 * 1024, 'large'))
    const { snapshot, cwd } = await roundTrip()
    expect(snapshot.aside.map(({ name, why }) => `${name}: ${why}`).sort()).toEqual([
      '.env: looks like a secret',
      'intended.pem: looks like a secret',
      'keys/id_rsa: looks like a secret',
      'large.bin: larger than 20 MB',
    ])
    expect((await lstat(join(cwd, '.env'))).mode & 0o777).toBe(0o600)
    const onRemote = await sample.sh(
      sample.remote,
      'ls-tree',
      '-r',
      '--name-only',
      sample.plan().branch,
    )
    expect(onRemote).toContain('.env.example')
    expect(onRemote).not.toMatch(/^\.env$|id_rsa|large|intended/m)
    const objects = await sample.sh(sample.remote, 'cat-file', '--batch-all-objects', '--batch')
    expect(objects).not.toMatch(/hunter2|PRIVATE/)
    expect(sample.told).toContainEqual(expect.objectContaining({ code: 'snapshot.aside' }))
  })

  it('is made without hooks, signing and an editor', async () => {
    const hook = '#!/bin/sh\ntouch hook-ran\nexit 1\n'
    const hooks = at('.git/hooks')
    for (const name of [
      'pre-commit',
      'post-commit',
      'reference-transaction',
      'pre-push',
      'post-checkout',
      'post-index-change',
    ]) {
      await writeFile(join(hooks, name), hook, { mode: 0o755 })
    }
    await sample.sh(work, 'config', 'commit.gpgSign', 'true')
    await sample.sh(work, 'config', 'gpg.program', '/bin/false')
    await sample.sh(work, 'config', 'core.editor', '/bin/false')
    await write({ 'a.txt': 'changed\n' })
    const parked = await park()
    expect(parked.pushed).toBe(true)
    const { cwd } = await restoreElsewhere(parked)
    expect(await readdir(cwd)).not.toContain('hook-ran')
  })

  it('needs no author', async () => {
    await rename(at('.git/config'), at('.git/config.before'))
    const config = await readFile(at('.git/config.before'), 'utf8')
    await writeFile(
      at('.git/config'),
      `${config}[user]\n\tuseConfigOnly = true\n\tname =\n\temail =\n`,
    )
    await write({ 'a.txt': 'changed\n' })
    const { commit } = await take()
    expect(await sh('log', '-1', '--format=%an <%ae>', commit ?? '')).toBe(
      'Ballet <ballet@localhost>',
    )
  })

  it('keeps local excludes and the name that the agent gave itself', async () => {
    await mkdir(at('.git/info'), { recursive: true })
    await writeFile(at('.git/info/exclude'), 'private-*\n')
    await sh('config', 'user.name', 'Ägent')
    await write({ 'private-notes': 'ignored\n', 'a.txt': 'changed\n' })
    const { cwd } = await roundTrip()
    expect(await readFile(join(cwd, '.git/info/exclude'), 'utf8')).toBe('private-*\n')
    expect(await sample.sh(cwd, 'config', 'user.name')).toBe('Ägent')
  })
})
