import { mkdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { removeWorkspace } from '../workspace/folders.ts'
import { leftovers } from '../workspace/leftovers.ts'
import { type Sample, writeFiles } from '../workspace/sample-repository.ts'
import { makeParkingScene, type Parked, type ParkingScene } from './testing/parking-scene.ts'

vi.setConfig({ testTimeout: 60_000 })

let scene: ParkingScene
let sample: Sample
let work: string
const sh = (...args: string[]) => scene.sh(...args)
const write = (files: Record<string, string>) => writeFiles(work, files)

beforeEach(async () => {
  scene = await makeParkingScene({ 'a.txt': 'a\n', 'd/x': 'x\n', '.gitignore': 'trees/\n*.log\n' })
  sample = scene.sample
  work = scene.work
})
afterEach(() => sample.remove())

async function makeInner(folder: string) {
  await mkdir(join(work, folder), { recursive: true })
  const inner = (...args: string[]) => sample.sh(join(work, folder), ...args)
  await inner('init', '--quiet')
  await write({ [`${folder}/inner.txt`]: 'inner\n' })
  await inner('add', 'inner.txt')
  await inner('commit', '--quiet', '-m', 'Inner')
}

/** Removes the workspace, and restores it on a machine that knows nothing of this one. */
async function restoreElsewhere(parked: Parked) {
  await removeWorkspace(sample.dataDir, work)
  const plan = await scene.elsewhere(parked)
  await scene.restore(plan, parked.work)
  return plan.workspaceDir
}

async function roundTrip() {
  const before = await scene.seen()
  const parked = await scene.park({ keep: true })
  expect(await scene.seen()).toEqual(before)
  const cwd = await restoreElsewhere(parked)
  expect(await scene.seen(cwd)).toEqual(before)
  return { ...parked, cwd }
}

describe('what git does not tell of', () => {
  it('a repository among files of the workspace comes back, and nothing removes it unseen', async () => {
    await makeInner('d')
    const { remote: repo, dataDir } = sample
    const safe = { commits: ['HEAD'], tracked: true, repo, dataDir }
    expect(await leftovers(sample.git, work, safe)).toEqual(['the repository in d'])
    const { cwd, snapshot } = await roundTrip()
    expect(snapshot.reasons).toEqual(['d is a repository of its own'])
    expect(await sample.sh(join(cwd, 'd'), 'log', '--format=%s')).toBe('Inner')
  })

  it('what it ignores is kept where that is of the workspace', async () => {
    await write({ 'd/kept.tmp': 'of the workspace\n' })
    await sh('add', 'd/kept.tmp')
    await makeInner('d')
    await write({ 'd/.git/info/exclude': '*.tmp\n' })
    const { cwd } = await roundTrip()
    expect(await readFile(join(cwd, 'd/kept.tmp'), 'utf8')).toBe('of the workspace\n')
  })

  it('something that only has the name of a repository comes back', async () => {
    await write({ 'u/.git/a': 'a\n', 'u/b': 'b\n', 'v/.git': 'no repository\n', 'v/c': 'c\n' })
    await roundTrip()
  })

  it.each(['git~1/x', 'u/.GIT/x', '.git /x', '.git.', 'u/a\\.git'])(
    'a file that git takes into no commit comes back: %s',
    async (name) => {
      await write({ [name]: 'x\n' })
      const { snapshot } = await roundTrip()
      expect(snapshot.aside).toMatchObject([{ why: 'git takes no file of that name' }])
    },
  )

  it('a link that git takes into no commit comes back', async () => {
    await symlink('a.txt', join(work, '.gitmodules'))
    await roundTrip()
  })

  it('the name that the agent gave itself is kept beside commits alone', async () => {
    await sh('config', 'user.name', 'Robo')
    await write({ 'new.txt': 'new\n' })
    await sh('add', '--all')
    await sh('commit', '--quiet', '-m', 'New')
    const { cwd } = await roundTrip()
    expect(await sample.sh(cwd, 'config', '--local', 'user.name')).toBe('Robo')
  })
})

describe('an archive', () => {
  it('comes back where there is no commit yet', async () => {
    await sh('checkout', '--quiet', '--orphan', 'new')
    await makeInner('n')
    await roundTrip()
  })

  it('holds a worktree where git ignores it, without what that one ignores', async () => {
    await sh('worktree', 'add', '--quiet', '-b', 'side', 'trees/side')
    await write({
      'trees/side/new.txt': 'new\n',
      'trees/side/build.log': 'ignored\n',
      'trees/beside.txt': 'ignored\n',
    })
    const cwd = await restoreElsewhere(await scene.park({ keep: true }))
    const side = join(cwd, 'trees', 'side')
    expect(await sample.sh(side, 'status', '--short', '--ignored')).toBe('?? new.txt')
    expect(await sample.sh(side, 'rev-parse', '--abbrev-ref', 'HEAD')).toBe('side')
    expect(await readFile(join(cwd, 'trees/beside.txt'), 'utf8').catch(() => 'gone')).toBe('gone')
  })

  it('comes back with a worktree whose folder was deleted', async () => {
    await sh('worktree', 'add', '--quiet', '-b', 'side', 'side')
    await rm(join(work, 'side'), { recursive: true })
    await makeInner('n')
    const { cwd } = await roundTrip()
    expect(await sample.sh(cwd, 'worktree', 'list')).toContain('prunable')
  })

  it('needs no branch of the remote that was there when it was made', async () => {
    const theirs = await sample.commit('theirs', { 'a.txt': 'theirs\n', 'only-there.txt': 'x\n' })
    // On this machine its objects are in the mirror alone.
    await sample.sh(sample.plan().mirrorDir, 'fetch', '--quiet', 'origin')
    await sh('fetch', '--quiet', 'origin')
    await write({ 'a.txt': 'ours\n' })
    await sh('commit', '--quiet', '-am', 'Ours')
    await sh('merge', 'origin/theirs').catch(() => undefined)
    const packs = await sh('count-objects', '--verbose')
    const before = await scene.seen()
    const parked = await scene.park({ keep: true })
    expect(await sh('count-objects', '--verbose')).toBe(packs)
    await sample.sh(sample.remote, 'update-ref', '-d', 'refs/heads/theirs')
    await sample.sh(sample.remote, 'gc', '--quiet', '--prune=now')
    const cwd = await restoreElsewhere(parked)
    expect(await scene.seen(cwd)).toEqual(before)
    expect(await sample.sh(cwd, 'rev-list', '--objects', 'MERGE_HEAD', '--not', 'HEAD')).toContain(
      theirs,
    )
    await sample.sh(cwd, 'commit', '--quiet', '-am', 'Merged')
  })
})

describe('a bundle', () => {
  it('holds what the agent itself fetched: without the remote the work is whole', async () => {
    await sample.commit('main', { 'newer.txt': 'newer\n' })
    await sh('fetch', '--quiet', 'origin')
    await sh('merge', '--quiet', '--no-edit', 'origin/main')
    await write({ 'new.txt': 'new\n' })
    const before = await scene.seen()
    await rename(sample.remote, `${sample.remote}-away`)
    const parked = await scene.park()
    expect(parked.push).toMatchObject({ pushed: false })
    await scene.restore(sample.plan(), parked.work)
    expect(await scene.seen()).toEqual(before)
  })
})
