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
import { removeWorkspace } from '../workspace/folders.ts'
import { never, type Sample, writeFiles } from '../workspace/sample-repository.ts'
import { absolutePath } from './path-bytes.ts'
import { takeSnapshot } from './snapshot.ts'
import { makeParkingScene, type ParkingScene } from './testing/parking-scene.ts'

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

let scene: ParkingScene
let sample: Sample
let work: string
const sh = (...args: string[]) => scene.sh(...args)
const at = (name: string) => join(work, name)
const write = (files: Record<string, string | null>) => writeFiles(work, files)

beforeEach(async () => {
  scene = await makeParkingScene(FILES)
  sample = scene.sample
  work = scene.work
})
afterEach(() => sample.remove())

/** Parks, which changes nothing, restores at another path, and compares everything. */
async function roundTrip() {
  const before = await scene.seen()
  const parked = await scene.park({ keep: true })
  expect(await scene.seen()).toEqual(before)
  await removeWorkspace(sample.dataDir, work)
  const plan = await scene.elsewhere(parked)
  const restored = await scene.restore(plan, parked.work)
  expect(restored).toMatchObject({ fresh: true, moved: null })
  expect(await scene.seen(plan.workspaceDir)).toEqual(before)
  return { ...parked, cwd: plan.workspaceDir, plan }
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
    const { snapshot, cwd, push } = await roundTrip()
    expect(push).toEqual({ pushed: true })
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
    const { snapshot } = await scene.park()
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
    const { cwd, plan } = untouched
    await sample.sh(cwd, 'commit', '--quiet', '--allow-empty', '-m', 'Agent')
    const snapshot = await takeSnapshot(sample.git, plan, scene.target, sample.report, never)
    expect(snapshot).toMatchObject({ workInProgress: false, needsPush: true })
    expect(snapshot.commit).toBe(await sample.sh(cwd, 'rev-parse', 'HEAD'))
  })

  it('taken twice gives the same commits, and takes nothing of an earlier one for its own', async () => {
    await write({ 'a.txt': 'changed\n' })
    const first = await scene.take()
    expect((await scene.take()).commit).toBe(first.commit)
    await write({ 'a.txt': 'changed again\n' })
    const second = await scene.take()
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
    const before = await scene.seen()
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
    const before = await scene.seen()
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
    const { cwd, push } = await roundTrip()
    expect(push).toEqual({ pushed: true })
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
    const { commit } = await scene.take()
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
