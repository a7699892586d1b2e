import { mkdir, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { removeWorkspace } from '../workspace/folders.ts'
import { readRecord } from '../workspace/record.ts'
import { type Sample, writeFiles } from '../workspace/sample-repository.ts'
import { divergenceInWords } from './divergence.ts'
import { bundleMissing } from './push.ts'
import { openSealed } from './sealed-file.ts'
import type { Fingerprint } from './testing/fingerprint.ts'
import { KEY, makeParkingScene, type Parked, type ParkingScene } from './testing/parking-scene.ts'

// Many commands of git on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 60_000 })

const FILES = { 'a.txt': 'a\n', 'b.txt': 'b\n', '.gitignore': '*.log\nbuild/\n' }
let scene: ParkingScene
let sample: Sample
let work: string
const sh = (...args: string[]) => scene.sh(...args)
const at = (name: string) => join(work, name)
const write = (files: Record<string, string | null>) => writeFiles(work, files)
const refusedWith = (code: string) => expect.objectContaining({ code })

async function begin(options: Parameters<typeof makeParkingScene>[1] = {}) {
  scene = await makeParkingScene(FILES, options)
  sample = scene.sample
  work = scene.work
}

async function roundTrip() {
  const before = await scene.seen()
  const parked = await scene.park({ keep: true })
  expect(await scene.seen()).toEqual(before)
  await removeWorkspace(sample.dataDir, work)
  const plan = await scene.elsewhere(parked)
  await scene.restore(plan, parked.work)
  expect(withoutInner(await scene.seen(plan.workspaceDir))).toEqual(withoutInner(before))
  return { ...parked, cwd: plan.workspaceDir }
}

/** What a repository inside ignores is not kept, and a worktree inside names where it is. */
function withoutInner(seen: Fingerprint): Fingerprint {
  return {
    ...seen,
    files: seen.files.filter((line) => !/ (inner\/y\.tmp|side\/\.git)$/.test(line)),
  }
}

afterEach(() => sample.remove())

describe('the bytes of files', () => {
  it('are the ones on the disk, whatever git makes of line ends', async () => {
    await begin({ gitConfig: '[core]\n\tautocrlf = true\n' })
    expect(await readFile(at('a.txt'), 'utf8')).toBe('a\r\n')
    await write({
      '.gitattributes':
        '*.crlf text eol=crlf\n*.lf text eol=lf\n*.id ident\n*.u16 text working-tree-encoding=UTF-16LE\n',
      'b.txt': 'lf on the disk although git would write crlf\n',
      'one.crlf': 'lf\n',
      'two.crlf': 'crlf\r\n',
      'mixed.txt': 'mixed\r\nends\n',
      'one.lf': 'crlf\r\n',
      'x.id': '$Id$\n',
      'changed\nname.txt': 'lf\n',
    })
    await writeFile(at('wide.u16'), Buffer.from('wide\r\n', 'utf16le'))
    await sh('add', 'one.crlf', 'two.crlf', 'one.lf', 'x.id', 'wide.u16', '.gitattributes')
    await sh('commit', '--quiet', '-m', 'Kinds of files')
    await write({ 'two.crlf': 'changed\r\n', 'three.crlf': 'untracked lf\n' })
    const { cwd } = await roundTrip()
    expect(await readFile(join(cwd, 'three.crlf'), 'utf8')).toBe('untracked lf\n')
    expect(await readFile(join(cwd, 'a.txt'), 'utf8')).toBe('a\r\n')
  })

  it('of a file that git cleaned go to no remote in clear, and come back', async () => {
    await begin({
      gitConfig:
        '[filter "crypt"]\n\tclean = tr a-z b-za\n\tsmudge = tr b-za a-z\n\trequired = true\n',
    })
    await write({ '.gitattributes': '*.crypt filter=crypt\n', 'x.crypt': 'confidential\n' })
    await sh('add', '.')
    await sh('commit', '--quiet', '-m', 'Encrypted')
    await write({ 'a.txt': 'changed\n' })
    const { snapshot } = await roundTrip()
    expect(snapshot.reasons).toEqual([expect.stringContaining('x.crypt goes through a filter')])
    const objects = await sample.sh(sample.remote, 'cat-file', '--batch-all-objects', '--batch')
    expect(objects).not.toContain('confidential')
    expect(objects).toContain('dpogjefoujbm')
  })
})

describe('what commits cannot hold', () => {
  beforeEach(() => begin())

  const conflict = async () => {
    await sh('checkout', '--quiet', '-b', 'theirs')
    await write({ 'a.txt': 'theirs\n' })
    await sh('commit', '--quiet', '-am', 'Theirs')
    await sh('checkout', '--quiet', sample.plan().branch)
    await write({ 'a.txt': 'ours\n' })
    await sh('commit', '--quiet', '-am', 'Ours')
  }
  const nested = async () => {
    await mkdir(at('inner'))
    await sample.sh(at('inner'), 'init', '--quiet')
    await write({ 'inner/x.txt': 'x\n', 'inner/.gitignore': '*.tmp\n', 'inner/y.tmp': 'ignored\n' })
    await sample.sh(at('inner'), 'add', '.')
    await sample.sh(at('inner'), 'commit', '--quiet', '-m', 'Inner')
  }
  const pushedSubmodule = async () => {
    await nested()
    await sample.sh(at('inner'), 'remote', 'add', 'origin', '.')
    await sample.sh(at('inner'), 'fetch', '--quiet', 'origin')
    await sh('add', 'inner')
    await sh('commit', '--quiet', '-m', 'With a submodule')
  }
  const cases: readonly (readonly [string, RegExp, () => Promise<unknown>])[] = [
    [
      'a merge with conflicts',
      /middle of a merge/,
      async () => {
        await conflict()
        await sh('merge', 'theirs').catch(() => undefined)
        await write({ 'b.txt': 'changed beside it\n', 'new.txt': 'new\n' })
      },
    ],
    [
      'a rebase',
      /middle of a rebase/,
      async () => {
        await conflict()
        await sh('rebase', 'theirs').catch(() => undefined)
      },
    ],
    [
      'a cherry-pick',
      /middle of a cherry-pick/,
      async () => {
        await conflict()
        await sh('cherry-pick', 'theirs').catch(() => undefined)
      },
    ],
    [
      'a bisect',
      /middle of a bisect/,
      async () => {
        await conflict()
        await sh('bisect', 'start')
        await sh('bisect', 'bad')
      },
    ],
    ['a repository of its own', /inner is a repository/, nested],
    [
      'an embedded repository in the index',
      /submodule inner has changes/,
      async () => {
        await nested()
        await sh('add', 'inner')
      },
    ],
    ['a submodule as it was pushed', /submodule inner is filled/, pushedSubmodule],
    [
      'a second worktree inside',
      /side is a second worktree/,
      async () => {
        await sh('worktree', 'add', '--quiet', '-b', 'side', 'side')
        await write({ 'side/new.txt': 'in the worktree\n' })
      },
    ],
    [
      'a staged secret',
      /\.env is staged and looks like a secret/,
      async () => {
        await write({ '.env': 'TOKEN=hunter2\n' })
        await sh('add', '.env')
      },
    ],
  ]
  it.each(cases)('is kept as an archive: %s', async (name, reason, make) => {
    await make()
    await write({ 'ignored.log': 'ignored\n', 'build/out': 'ignored\n' })
    const statusBefore = await sh('status')
    const { snapshot, cwd } = await roundTrip()
    expect(snapshot.reasons.join('\n')).toMatch(reason)
    expect(snapshot.workInProgress).toBe(false)
    expect(await sample.sh(cwd, 'status')).toBe(statusBefore)
    expect(await readdir(cwd)).not.toContain('ignored.log')
    if (name === 'a repository of its own') {
      expect((await readdir(join(cwd, 'inner'))).sort()).toEqual(['.git', '.gitignore', 'x.txt'])
      expect(await sample.sh(join(cwd, 'inner'), 'log', '--format=%s')).toBe('Inner')
    }
    if (name === 'a second worktree inside') {
      expect(await sample.sh(join(cwd, 'side'), 'status', '--short')).toBe('?? new.txt')
    }
    const objects = await sample.sh(sample.remote, 'cat-file', '--batch-all-objects', '--batch')
    expect(objects).not.toContain('hunter2')
  })

  it('does not hold the password of the remote, whose address is the project’s', async () => {
    await nested()
    await sh('config', 'remote.origin.url', 'https://someone:hunter2@example.com/shop.git')
    const { snapshot, cwd } = await roundTrip()
    const kept: Buffer[] = []
    for await (const piece of openSealed(snapshot.archive?.file ?? '', KEY)) kept.push(piece)
    const text = Buffer.concat(kept).toString('latin1')
    expect(text).toContain('https://example.com/shop.git')
    expect(text).not.toContain('hunter2')
    expect(await sample.sh(cwd, 'config', 'remote.origin.url')).toBe(sample.plan().repo)
  })

  it('is refused when it is too large, before anything is touched', async () => {
    await nested()
    await writeFile(at('inner/large.bin'), Buffer.alloc(2_000_000))
    const before = await scene.seen()
    const taking = scene.take({ archiveLimitBytes: 1_000_000 })
    await expect(taking).rejects.toEqual(refusedWith('workspace.too-large'))
    await expect(scene.take({ archiveLimitBytes: 1_000_000 })).rejects.toThrow(
      /inner is a repository/,
    )
    expect(await scene.seen()).toEqual(before)
    expect(await readdir(scene.target.folder)).toEqual([])
  })

  it('is not kept for a large submodule that is as it was pushed, which is said', async () => {
    await pushedSubmodule()
    await truncate(at('inner/y.tmp'), 300_000_000)
    const snapshot = await scene.take()
    expect(snapshot).toMatchObject({ reasons: [], archive: null })
    expect(sample.told.map(({ code }) => code)).toContain('park.submodule')
  })

  it('is refused where a second worktree is elsewhere', async () => {
    await sh('worktree', 'add', '--quiet', '-b', 'side', join(sample.folder, 'side'))
    await expect(scene.take()).rejects.toEqual(refusedWith('workspace.worktree-elsewhere'))
  })

  it('of a folder that is no workspace any more is said', async () => {
    await rename(at('.git'), at('.gone'))
    await expect(scene.take()).rejects.toEqual(refusedWith('workspace.broken'))
  })
})

describe('restoring', () => {
  let parked: Parked
  const branch = () => sample.plan().branch

  const change = async () => {
    await sh('commit', '--quiet', '--allow-empty', '-m', 'Mine')
    await write({ 'a.txt': 'mine\n', '.env': 'SECRET=1\n' })
    await sh('checkout', '--quiet', '-b', 'side')
    await sh('commit', '--quiet', '--allow-empty', '-m', 'Side')
    await sh('checkout', '--quiet', branch())
  }
  beforeEach(async () => {
    await begin()
    await change()
  })
  const restore = async (changes: Partial<Parked['work']> = {}) => {
    const plan = await scene.elsewhere(parked)
    const restored = await scene.restore(plan, { ...parked.work, ...changes })
    return { ...restored, plan, cwd: plan.workspaceDir }
  }
  const nothingRestored = async () => {
    const { workspaceDir } = await scene.elsewhere(parked)
    expect(await readdir(join(workspaceDir, '..'))).toEqual([])
  }

  it('keeps commits that others made on top, and says how theirs differ', async () => {
    const before = await scene.seen()
    parked = await scene.park()
    const theirs = await sample.commit(branch(), { 'theirs.txt': 'theirs\n' })
    const { moved, cwd } = await restore()
    expect(await scene.seen(cwd)).toEqual(before)
    expect(moved).toEqual({
      ...{ theirs, ahead: 0, behind: 1, onTop: true },
      ...{ files: ['A theirs.txt'], fileCount: 1 },
    })
    expect(await sample.sh(cwd, 'rev-parse', `origin/${branch()}`)).toBe(theirs)
    expect(await sample.sh(sample.remote, 'rev-parse', branch())).toBe(theirs)
    const words = divergenceInWords(branch(), moved ?? expect.fail('nothing moved'))
    expect(words).toMatch(/goes on from the snapshot of your work with 1 commit[\s\S]*A theirs.txt/)
  })

  it('keeps commits that others put in its place; ours never overwrite them', async () => {
    const before = await scene.seen()
    parked = await scene.park()
    await sample.sh(sample.remote, 'update-ref', `refs/heads/${branch()}`, 'refs/heads/main')
    const theirs = await sample.commit(branch(), { 'theirs.txt': 'theirs\n', 'b.txt': null })
    const { moved, cwd, plan } = await restore()
    expect(await scene.seen(cwd)).toEqual(before)
    expect(moved).toMatchObject({ theirs, ahead: 1, behind: 1, onTop: false })
    expect(moved?.files).toEqual(['D b.txt', 'A theirs.txt'])
    const again = await scene.restore(plan, parked.work)
    expect(again).toMatchObject({ fresh: false, moved: null })
    expect(await sample.sh(sample.remote, 'rev-parse', branch())).toBe(theirs)
  })

  it('works from the bundle when the branch was deleted, or was never pushed', async () => {
    const before = await scene.seen()
    parked = await scene.park({ limitMs: 0 })
    expect(parked.push).toMatchObject({ pushed: false, why: { code: 'push.later' } })
    const { cwd, moved } = await restore()
    expect(await scene.seen(cwd)).toEqual(before)
    expect(moved).toBeNull()
    const record = await readRecord(cwd)
    expect(record?.pushed).toEqual([{ commit: parked.snapshot.commit, snapshot: true }])
  })

  it('says so when the parked commit is nowhere any more', async () => {
    parked = await scene.park()
    await sample.sh(sample.remote, 'update-ref', '-d', `refs/heads/${branch()}`)
    await sample.sh(sample.remote, 'gc', '--quiet', '--prune=now')
    await expect(restore()).rejects.toEqual(refusedWith('snapshot.gone'))
    await nothingRestored()
    await expect(restore({ commit: null })).rejects.toEqual(refusedWith('snapshot.incomplete'))
  })

  it('works on the same machine while the remote is gone, and replaces what was pushed before', async () => {
    parked = await scene.park()
    const plan = sample.plan({ pushedCommit: parked.snapshot.commit })
    const first = await scene.restore(plan, parked.work)
    expect(first.record.pushed.at(-1)).toEqual({ commit: parked.snapshot.commit, snapshot: true })
    await sh('commit', '--quiet', '--amend', '--allow-empty', '-m', 'Rewritten')
    await write({ 'b.txt': 'more\n' })
    const before = await scene.seen()
    await rename(sample.remote, `${sample.remote}.away`)
    parked = await scene.park()
    expect(parked.push).toMatchObject({
      pushed: false,
      why: { code: expect.stringMatching(/^remote\./), hint: expect.any(String) },
    })
    await scene.restore(plan, parked.work)
    expect(await scene.seen()).toEqual(before)
    expect(sample.told).toContainEqual(expect.objectContaining({ code: 'resume.offline' }))
    await rename(`${sample.remote}.away`, sample.remote)
    expect(await scene.push(parked.snapshot.commit ?? '')).toEqual({ pushed: true })
    expect(await sample.sh(sample.remote, 'rev-parse', branch())).toBe(parked.snapshot.commit)
  })

  it('a remote that refuses leaves its branch alone and the work in a bundle', async () => {
    const hook = join(sample.remote, 'hooks', 'pre-receive')
    await mkdir(join(hook, '..'), { recursive: true })
    await writeFile(hook, '#!/bin/sh\necho "protected branch" >&2\nexit 1\n', { mode: 0o755 })
    parked = await scene.park()
    expect(parked.push).toMatchObject({ pushed: false, why: { code: 'push.rejected' } })
    const { cwd } = await restore()
    expect(await readFile(join(cwd, 'a.txt'), 'utf8')).toBe('mine\n')
  })

  it('writes to no branch that Ballet did not make, and to none that is not its own', async () => {
    const theirs = await sample.commit(branch(), { 'theirs.txt': 'x\n' })
    const snapshot = await scene.take()
    const push = await scene.push(snapshot.commit ?? '')
    expect(push).toMatchObject({ pushed: false, why: { code: 'branch.foreign' } })
    expect(await sample.sh(sample.remote, 'rev-parse', branch())).toBe(theirs)
    const { pushParked } = await import('./push.ts')
    const plan = sample.plan({ branch: 'main' })
    const signal = new AbortController().signal
    const pushing = pushParked(sample.git, plan, snapshot.commit ?? '', scene.target, signal)
    await expect(pushing).rejects.toEqual(refusedWith('branch.foreign'))
  })

  it('needs no bundle when the remote has everything', async () => {
    const head = await sh('rev-parse', 'origin/main')
    const signal = new AbortController().signal
    expect(await bundleMissing(sample.git, sample.plan(), head, scene.target, signal)).toBeNull()
  })

  it('refuses missing, damaged and foreign pieces, and leaves nothing', async () => {
    parked = await scene.park()
    const { asideArchive, refsBundle } = parked.work
    await expect(restore({ asideArchive: null })).rejects.toEqual(
      refusedWith('snapshot.incomplete'),
    )
    await nothingRestored()
    await expect(restore({ refsBundle: null })).rejects.toEqual(refusedWith('snapshot.incomplete'))
    const wrong = restore({ key: Buffer.alloc(32, 1) })
    await expect(wrong).rejects.toEqual(refusedWith('state.wrong-key'))
    const swapped = restore({ asideArchive: refsBundle, refsBundle: asideArchive })
    await expect(swapped).rejects.toEqual(refusedWith('snapshot.incomplete'))
    const bytes = await readFile(asideArchive ?? '')
    await writeFile(asideArchive ?? '', bytes.subarray(0, -5))
    await expect(restore()).rejects.toEqual(refusedWith('state.corrupt'))
    await nothingRestored()
  })

  it('refuses a snapshot of a newer Ballet, and one that somebody changed', async () => {
    parked = await scene.park({ keep: true })
    const commit = parked.snapshot.commit ?? ''
    const text = await sh('cat-file', 'commit', commit)
    const remake = async (from: string | RegExp, to: string) => {
      const file = join(sample.folder, 'commit.txt')
      await writeFile(file, `${text.replace(from, to)}\n`)
      const made = await sh('hash-object', '-t', 'commit', '-w', file)
      await sh('push', '--quiet', '--force', sample.remote, `${made}:refs/heads/${branch()}`)
      return { commit: made }
    }
    const newer = await remake('"version": 1', '"version": 2')
    await expect(restore(newer)).rejects.toEqual(refusedWith('snapshot.version'))
    const broken = await remake('"emptyFolders": []', '"emptyFolders": 5')
    await expect(restore(broken)).rejects.toEqual(refusedWith('snapshot.broken'))
    const outward = await remake('"emptyFolders": []', '"emptyFolders": ["../../escaped"]')
    await expect(restore(outward)).rejects.toEqual(refusedWith('snapshot.broken'))
    const inward = await remake('"emptyFolders": []', '"emptyFolders": [".git/hooks/x"]')
    await expect(restore(inward)).rejects.toEqual(refusedWith('snapshot.broken'))
    const other = await remake(/"digest": "../, '"digest": "zz')
    await restore(other)
    expect(sample.told).toContainEqual(expect.objectContaining({ code: 'resume.bytes' }))
    await rm(join(sample.folder, 'elsewhere'), { recursive: true })
    const plain = { commit: await sh('rev-parse', 'HEAD') }
    await expect(restore(plain)).rejects.toEqual(refusedWith('snapshot.incomplete'))
  })
})
