import {
  access,
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  writeFile,
} from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createGit } from '../git/run.ts'
import { openWorkspace } from './clone.ts'
import { commitAndPush } from './finish.ts'
import { removeIfPushed } from './removal.ts'
import { makeSample, never, type Sample, writeFiles } from './sample-repository.ts'
import { pushSnapshot } from './snapshot.ts'

let sample: Sample
let work: string
let branch: string

beforeEach(async () => {
  sample = await makeSample()
  await openWorkspace(sample.git, sample.plan(), sample.report, never)
  work = sample.plan().workspaceDir
  branch = sample.plan().branch
})
afterEach(() => sample.remove())

const finish = (message = 'Work', changes?: Parameters<Sample['plan']>[0]) =>
  commitAndPush(sample.git, sample.plan(changes), message, sample.report, never)
const snapshot = (changes?: Parameters<Sample['plan']>[0]) =>
  pushSnapshot(sample.git, sample.plan(changes), sample.report, never)
const remove = (force = false) => removeIfPushed(sample.git, sample.plan(), force, never)
const onRemote = (...args: string[]) => sample.sh(sample.remote, ...args)
const refusedWith = (code: string) => expect.objectContaining({ code })
const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

describe('finish', () => {
  it('carries every kind of file, and respects what is ignored', async () => {
    const files = {
      'a b/ü "quoted" 🩰.txt': 'odd name\n',
      "it's\ttab.txt": 'tab\n',
      '-dash.txt': 'dash\n',
      link: '-> a b',
      empty: '',
      'README.md': null,
      '.gitignore': 'ignored.txt\n',
      'ignored.txt': 'not this\n',
    }
    await writeFiles(work, files)
    await writeFile(join(work, 'run.sh'), '#!/bin/sh\n')
    await chmod(join(work, 'run.sh'), 0o755)
    await writeFile(join(work, 'data.bin'), Buffer.from([0, 255, 0, 13, 10]))
    const pushed = await finish()
    expect(await onRemote('rev-parse', branch)).toBe(pushed)
    const listed = (await onRemote('ls-tree', '-rz', branch)).split('\0').filter(Boolean)
    const modes = Object.fromEntries(
      listed.map((line) => [line.slice(line.indexOf('\t') + 1), line.slice(0, 6)]),
    )
    expect(modes).toEqual({
      '.gitignore': '100644',
      '-dash.txt': '100644',
      'a b/ü "quoted" 🩰.txt': '100644',
      'data.bin': '100644',
      empty: '100644',
      "it's\ttab.txt": '100644',
      link: '120000',
      'run.sh': '100755',
      'src/a.txt': '100644',
    })
  })

  it('keeps the commits of the agent, also an empty one and a message that is odd', async () => {
    await sample.sh(work, 'commit', '--quiet', '--allow-empty', '--message=Nothing in it')
    await writeFiles(work, { 'b.txt': 'b' })
    await finish('')
    expect(await onRemote('log', '--format=%s', branch)).toBe('Nothing in it\nChange main')
  })

  it('says which files look like secrets in what it commits itself', async () => {
    await writeFiles(work, { '.env': 'KEY=x', 'deep/id_rsa': 'key', 'plain.txt': 'plain' })
    const pushed = await commitAndPush(sample.git, sample.plan(), 'Done', sample.report, never)
    expect(pushed).not.toBeNull()
    const secrets = sample.told.filter(({ code }) => code === 'finish.secrets')
    expect(secrets).toMatchObject([{ level: 'warning' }])
    expect(secrets[0]?.text).toContain('.env, deep/id_rsa.')
    // What is there already is not said again.
    await writeFiles(work, { '.env': 'KEY=y' })
    await commitAndPush(sample.git, sample.plan(), 'Done again', sample.report, never)
    expect(sample.told.filter(({ code }) => code === 'finish.secrets')).toHaveLength(1)
  })

  it('pushes nothing when there is nothing', async () => {
    expect(await finish()).toBe(null)
    expect(sample.told.map(({ code }) => code)).toEqual(['finish.nothing'])
    expect(await onRemote('branch', '--format=%(refname:short)')).toBe('main')
  })

  it('takes what the agent pushed itself', async () => {
    await writeFiles(work, { 'b.txt': 'b' })
    await sample.sh(work, 'add', '--all')
    await sample.sh(work, 'commit', '--quiet', '--message=By the agent')
    await sample.sh(work, 'push', '--quiet', 'origin', branch)
    const head = await sample.sh(work, 'rev-parse', 'HEAD')
    expect(await finish()).toBe(head)
    await writeFiles(work, { 'c.txt': 'c' })
    const next = await finish('More')
    expect(await onRemote('rev-parse', branch)).toBe(next)
  })

  it('recognises its own push whose outcome nobody saw', async () => {
    await writeFiles(work, { 'b.txt': 'b' })
    await finish('First')
    await writeFiles(work, { 'c.txt': 'c' })
    // Core never heard of the first push.
    const pushed = await finish('Second', { pushedCommit: null })
    expect(await onRemote('rev-parse', branch)).toBe(pushed)
  })

  it('replaces a snapshot, and nothing that somebody put on it', async () => {
    await writeFiles(work, { 'b.txt': 'half' })
    const half = await snapshot()
    await writeFiles(work, { 'b.txt': 'whole' })
    await finish('Whole', { pushedCommit: half })
    expect(await onRemote('log', '--format=%s', branch)).toBe('Whole\nChange main')
    await writeFiles(work, { 'c.txt': 'c' })
    const again = await snapshot()
    const theirs = await sample.commit(branch, { 'theirs.txt': 'x' })
    await expect(finish('Over it', { pushedCommit: again })).rejects.toMatchObject({
      code: 'push.rejected',
      message: expect.stringContaining('somebody else'),
    })
    expect(await onRemote('rev-parse', branch)).toBe(theirs)
    expect(await isThere(join(work, 'c.txt'))).toBe(true)
  })

  it('does not drop commits that were pushed as finished', async () => {
    await writeFiles(work, { 'b.txt': 'b' })
    const first = await finish('First')
    await sample.sh(work, 'commit', '--quiet', '--amend', '--message=Rewritten')
    await expect(finish()).rejects.toEqual(refusedWith('push.rejected'))
    expect(await onRemote('rev-parse', branch)).toBe(first)
  })

  it('tells the words of a remote that refuses, and a remote that is gone', async () => {
    await writeFiles(work, { 'b.txt': 'b' })
    const hook = join(sample.remote, 'hooks', 'pre-receive')
    await mkdir(join(sample.remote, 'hooks'), { recursive: true })
    await writeFile(hook, '#!/bin/sh\necho "No pushes on Sundays." >&2\nexit 1\n')
    await chmod(hook, 0o755)
    await expect(finish()).rejects.toMatchObject({
      code: 'push.rejected',
      message: expect.stringContaining('No pushes on Sundays.'),
    })
    await rm(sample.remote, { recursive: true })
    await expect(finish()).rejects.toEqual(refusedWith('remote.not-a-repository'))
    expect(await sample.sh(work, 'log', '-1', '--format=%s')).toBe('Work')
  })

  it.each([
    ['a detached HEAD', ['checkout', '--quiet', '--detach']],
    ['another branch', ['checkout', '--quiet', '-b', 'experiment']],
    ['a renamed branch', ['branch', '--move', 'renamed']],
  ])('takes the work of %s that goes on from its own branch', async (_, args) => {
    await sample.sh(work, ...args)
    await writeFiles(work, { 'b.txt': 'b' })
    const pushed = await finish()
    expect(await onRemote('rev-parse', branch)).toBe(pushed)
    expect(sample.told.map(({ code }) => code)).toEqual(['finish.head-elsewhere'])
  })

  it.each([
    ['an orphan branch', ['checkout', '--quiet', '--orphan', 'other']],
    ['a branch without the work', ['checkout', '--quiet', '--detach', 'HEAD~1']],
  ])('refuses %s', async (_, args) => {
    await sample.sh(work, 'commit', '--quiet', '--allow-empty', '--message=Work so far')
    await sample.sh(work, ...args)
    await expect(finish()).rejects.toEqual(refusedWith('workspace.head-elsewhere'))
    expect(await onRemote('branch', '--format=%(refname:short)')).toBe('main')
  })

  it('refuses in the middle of a merge', async () => {
    await sample.sh(work, 'checkout', '--quiet', '-b', 'side')
    await writeFiles(work, { 'src/a.txt': 'side\n' })
    await sample.sh(work, 'commit', '--quiet', '--all', '--message=Side')
    await sample.sh(work, 'checkout', '--quiet', branch)
    await writeFiles(work, { 'src/a.txt': 'own\n' })
    await sample.sh(work, 'commit', '--quiet', '--all', '--message=Own')
    await sample.sh(work, 'merge', '--quiet', 'side').catch(() => undefined)
    await expect(finish()).rejects.toEqual(refusedWith('workspace.operation-under-way'))
    // A snapshot of it is no problem, and leaves it as it is.
    const pushed = await snapshot()
    expect(await onRemote('rev-parse', branch)).toBe(pushed)
    expect(await isThere(join(work, '.git', 'MERGE_HEAD'))).toBe(true)
  })

  it('refuses what the removal of the workspace would lose', async () => {
    await sample.sh(work, 'checkout', '--quiet', '-b', 'side')
    await sample.sh(work, 'commit', '--quiet', '--allow-empty', '--message=Only here')
    await sample.sh(work, 'checkout', '--quiet', branch)
    await writeFiles(work, { 'src/a.txt': 'stashed\n' })
    await sample.sh(work, 'stash')
    await mkdir(join(work, 'nested'))
    await sample.sh(join(work, 'nested'), 'init', '--quiet')
    const refused = finish()
    await expect(refused).rejects.toMatchObject({
      code: 'workspace.not-pushed',
      message: expect.stringMatching(
        /side \(1 commit\), stashed changes, the repository in nested/,
      ),
    })
    expect(await onRemote('branch', '--format=%(refname:short)')).toBe('main')
  })

  it('refuses a local tag of what is nowhere else, and only that', async () => {
    await sample.sh(work, 'tag', '-a', 'on-the-branch', '-m', 'x')
    await sample.sh(work, 'checkout', '--quiet', '--detach')
    await sample.sh(work, 'commit', '--quiet', '--allow-empty', '--message=Only here')
    await sample.sh(work, 'tag', '-a', 'only-here', '-m', 'x')
    await sample.sh(work, 'checkout', '--quiet', branch)
    const lost = {
      code: 'workspace.not-pushed',
      message: expect.stringMatching(/: the local tag only-here\.$/),
    }
    await expect(finish()).rejects.toMatchObject(lost)
    await sample.sh(work, 'push', '--quiet', sample.remote, 'only-here')
    await finish()
    expect(await remove()).toBe(true)
  })

  it('refuses changes that git was told not to see, and only those', async () => {
    await sample.sh(work, 'update-index', '--skip-worktree', 'README.md')
    await sample.sh(work, 'update-index', '--assume-unchanged', 'src/a.txt')
    await writeFiles(work, { 'b.txt': 'b' })
    const first = await finish()
    expect(await onRemote('rev-parse', branch)).toBe(first)
    await writeFiles(work, { 'src/a.txt': 'hidden\n' })
    const hidden = {
      code: 'workspace.not-pushed',
      message: expect.stringContaining('not to see in src/a.txt'),
    }
    await expect(finish()).rejects.toMatchObject(hidden)
    await expect(remove()).rejects.toMatchObject(hidden)
    await sample.sh(work, 'update-index', '--no-assume-unchanged', 'src/a.txt')
    await finish()
    expect(await onRemote('show', `${branch}:src/a.txt`)).toBe('hidden')
  })

  it('uploads large files, and refuses when that fails', async () => {
    const lfs = join(sample.folder, 'bin', 'git-lfs')
    await writeFiles(join(sample.folder, 'bin'), {
      'git-lfs': `#!/bin/sh\necho "$@" >> '${lfs}.log'\ntest ! -e '${lfs}.broken'\n`,
      'git-lfs.broken': '',
    })
    await chmod(lfs, 0o755)
    const env = { ...sample.env, PATH: `${join(sample.folder, 'bin')}:${sample.env.PATH}` }
    const git = createGit({ env })
    await mkdir(join(work, '.git', 'lfs', 'objects'), { recursive: true })
    await writeFiles(work, { 'b.txt': 'b' })
    const finishIt = () => commitAndPush(git, sample.plan(), 'Work', sample.report, never)
    await expect(finishIt()).rejects.toEqual(refusedWith('git.failed'))
    expect(await onRemote('branch', '--format=%(refname:short)')).toBe('main')
    await rm(`${lfs}.broken`)
    const pushed = await finishIt()
    expect(await readFile(`${lfs}.log`, 'utf8')).toContain(`push origin ${pushed}\n`)
  })

  it('gets over a lock that a killed git left behind', async () => {
    await writeFiles(work, { 'b.txt': 'b' })
    await writeFile(join(work, '.git', 'index.lock'), '')
    const pushed = await finish()
    expect(await onRemote('rev-parse', branch)).toBe(pushed)
  })
})

describe('a snapshot', () => {
  it('holds everything uncommitted, and changes nothing in the workspace', async () => {
    await writeFiles(work, {
      'README.md': null,
      'src/a.txt': 'changed\n',
      'staged.txt': 'staged\n',
      'new ü.txt': 'new\n',
      link: '-> src',
      '.gitignore': 'build/\n',
      'build/out': 'ignored',
    })
    await sample.sh(work, 'add', 'staged.txt')
    const before = await lookAt()
    const pushed = await snapshot()
    expect(await lookAt()).toEqual(before)
    expect(await onRemote('rev-parse', branch)).toBe(pushed)
    expect((await onRemote('ls-tree', '-rz', '--name-only', branch)).split('\0').sort()).toEqual(
      ['', '.gitignore', 'link', 'new ü.txt', 'src/a.txt', 'staged.txt'].sort(),
    )
    expect(await onRemote('log', '-1', '--format=%B', branch)).toContain('Ballet-Snapshot: ')
    expect(await readdir(join(work, '.git'))).not.toContainEqual(
      expect.stringContaining('ballet-index'),
    )
  })

  async function lookAt() {
    return {
      head: await readFile(join(work, '.git', 'HEAD'), 'utf8'),
      commit: await sample.sh(work, 'rev-parse', 'HEAD'),
      index: await sample.sh(work, 'ls-files', '--stage'),
      status: await sample.sh(work, '--no-optional-locks', 'status', '--porcelain', '--ignored'),
      link: await readlink(join(work, 'link')),
      time: (await lstat(join(work, '.git', 'index'))).mtimeMs,
    }
  }

  it('of a change of the same size in the same moment is not missed', async () => {
    for (let round = 0; round < 5; round += 1) {
      await writeFiles(work, { 'src/a.txt': `${round}\n` })
      await sample.sh(work, 'add', '--all')
      await writeFiles(work, { 'src/a.txt': `${9 - round}\n` })
      await snapshot()
      expect(await onRemote('show', `${branch}:src/a.txt`)).toBe(String(9 - round))
    }
  })

  it('keeps back what looks like a secret or is huge, and says so', async () => {
    await writeFiles(work, {
      '.env': 'KEY=x',
      'deploy/id_ed25519': 'x',
      '.env.example': 'KEY=',
      'big.bin': 'x'.repeat(21 * 1024 * 1024),
    })
    await snapshot()
    const listed = await onRemote('ls-tree', '-r', '--name-only', branch)
    expect(listed.split('\n').sort()).toEqual(['.env.example', 'README.md', 'src/a.txt'])
    expect(sample.told).toMatchObject([{ code: 'snapshot.left', level: 'warning' }])
    expect(sample.told[0]?.text).toContain('.env (looks like a secret)')
    expect(await isThere(join(work, '.env'))).toBe(true)
  })

  it('is not made of nothing, and of commits alone they are pushed as they are', async () => {
    expect(await snapshot()).toBe(null)
    await sample.sh(work, 'commit', '--quiet', '--allow-empty', '--message=Work')
    const head = await sample.sh(work, 'rev-parse', 'HEAD')
    expect(await snapshot()).toBe(head)
  })

  it('of an orphan branch keeps the commits of the session', async () => {
    await sample.sh(work, 'commit', '--quiet', '--allow-empty', '--message=Work so far')
    const head = await sample.sh(work, 'rev-parse', 'HEAD')
    await sample.sh(work, 'checkout', '--quiet', '--orphan', 'other')
    const pushed = await snapshot()
    expect(await onRemote('rev-parse', branch)).toBe(pushed)
    expect(await onRemote('merge-base', branch, head)).toBe(head)
  })

  it('one after the other replace each other', async () => {
    await writeFiles(work, { 'b.txt': '1' })
    const first = await snapshot()
    await writeFiles(work, { 'b.txt': '2' })
    await snapshot({ pushedCommit: first })
    expect(await onRemote('log', '--format=%s', branch)).toBe(
      'Work in progress on SHOP-1\nChange main',
    )
    expect(await onRemote('show', `${branch}:b.txt`)).toBe('2')
  })
})

describe('the removal of a workspace', () => {
  it('happens when everything is on the remote, also as a snapshot', async () => {
    expect(await remove()).toBe(true)
    expect(await remove()).toBe(false)
    const half = join(dirname(work), `.new-${basename(work)}`)
    await writeFiles(half, { 'src/a.txt': 'half made\n' })
    expect(await remove()).toBe(false)
    expect(await isThere(half)).toBe(false)
    await openWorkspace(sample.git, sample.plan(), sample.report, never)
    await writeFiles(work, { 'b.txt': 'b' })
    await snapshot()
    expect(await remove()).toBe(true)
    expect(await isThere(work)).toBe(false)
    expect(await readdir(join(sample.dataDir, 'workspaces'))).toEqual([])
  })

  it.each([
    ['an untracked file', () => writeFiles(work, { 'b.txt': 'b' })],
    ['a change', () => writeFiles(work, { 'src/a.txt': 'b' })],
    ['a secret', () => writeFiles(work, { '.env': 'b' })],
    ['a commit', () => sample.sh(work, 'commit', '--quiet', '--allow-empty', '--message=x')],
    ['a folder that is no repository', () => rm(join(work, '.git'), { recursive: true })],
    ['a detached commit', detachedCommit],
  ])('is refused for %s that is nowhere else', async (_, make) => {
    await make()
    await expect(remove()).rejects.toEqual(refusedWith('workspace.not-pushed'))
    expect(await isThere(join(work, 'README.md'))).toBe(true)
    expect(await remove(true)).toBe(true)
  })

  async function detachedCommit() {
    await sample.sh(work, 'checkout', '--quiet', '--detach')
    await sample.sh(work, 'commit', '--quiet', '--allow-empty', '--message=x')
  }

  it('does not believe the clone what the remote has', async () => {
    await writeFiles(work, { 'b.txt': 'b' })
    await finish()
    await onRemote('branch', '-D', branch)
    await expect(remove()).rejects.toEqual(refusedWith('workspace.not-pushed'))
  })

  it('follows no link, and gets rid of read-only folders', async () => {
    await writeFiles(sample.folder, { 'outside/keep.txt': 'keep' })
    await writeFiles(work, {
      '.gitignore': 'cache/\n',
      'cache/x/file': 'x',
      'cache/away': `-> ${join(sample.folder, 'outside')}`,
    })
    await chmod(join(work, 'cache', 'x'), 0o555)
    await finish()
    expect(await remove()).toBe(true)
    expect(await isThere(join(sample.folder, 'outside', 'keep.txt'))).toBe(true)
    expect(await readdir(join(sample.dataDir, 'workspaces'))).toEqual([])
  })
})
