import { execFileSync } from 'node:child_process'
import { access, appendFile, chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
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
let marker: string
let evil: string

beforeEach(async () => {
  sample = await makeSample()
  await openWorkspace(sample.git, sample.plan(), sample.report, never)
  work = sample.plan().workspaceDir
  branch = sample.plan().branch
  marker = join(sample.folder, 'was-run')
  evil = await program('evil', `echo "$@" >> '${marker}'; exit 1`)
})
afterEach(() => sample.remove())

async function program(name: string, body: string): Promise<string> {
  const file = join(sample.folder, 'bin', name)
  await writeFiles(join(sample.folder, 'bin'), { [name]: `#!/bin/sh\n${body}\n` })
  await chmod(file, 0o755)
  return file
}

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )
const onRemote = (...args: string[]) => sample.sh(sample.remote, ...args)
const set = (name: string, value: string) => sample.sh(work, 'config', name, value)
const own = (text: string) => appendFile(join(sample.folder, 'home', '.gitconfig'), text)
const finish = (changes?: Parameters<Sample['plan']>[0], git = sample.git) =>
  commitAndPush(git, sample.plan(changes), 'Work', sample.report, never)
const told = () => sample.told.filter(({ code }) => code === 'workspace.programs')

describe("programs of the workspace's own settings", () => {
  it('are not run by a snapshot, a finish and a removal, and a notice names them', async () => {
    await set('filter.x=y.clean', evil)
    await set('core.sshCommand', evil)
    await set('credential.helper', evil)
    await set('core.fsmonitor', evil)
    await set('remote.origin.receivepack', evil)
    await set(`remote.${sample.remote}.receivepack`, evil)
    await writeFiles(work, { '.gitattributes': '* filter=x=y\n', 'b.txt': 'b\n' })
    await sample.sh(work, 'add', '--all').catch(() => undefined)
    expect(await isThere(marker), 'git itself runs them').toBe(true)
    await writeFile(marker, '')
    await set('filter.x=y.smudge', evil)
    await set('filter.x=y.process', evil)
    const plan = sample.plan()
    expect(await pushSnapshot(sample.git, plan, sample.report, never)).not.toBeNull()
    expect(told()).toMatchObject([{ level: 'warning' }])
    expect(told()[0]?.text).toContain('filter.x=y.clean')
    expect(told()[0]?.text).toContain('core.sshcommand')
    const pushed = await finish()
    expect(told()).toHaveLength(2)
    expect(await onRemote('rev-parse', branch)).toBe(pushed)
    expect(await onRemote('show', `${branch}:b.txt`)).toBe('b')
    expect(await removeIfPushed(sample.git, plan, false, never)).toBe(true)
    expect(await readFile(marker, 'utf8')).toBe('')
  })

  it('are found in a file that is included, and in the settings of a worktree', async () => {
    await writeFiles(work, { '.gitattributes': '*.txt filter=x\n*.md filter=y\n', more: '' })
    await sample.sh(work, 'config', '--file', 'more', 'filter.x.clean', evil)
    await set('include.path', '../more')
    await set('extensions.worktreeConfig', 'true')
    await sample.sh(work, 'config', '--worktree', 'filter.y.clean', evil)
    await writeFiles(work, { 'b.txt': 'b\n', 'b.md': 'b\n' })
    await finish()
    expect(await onRemote('show', `${branch}:b.md`)).toBe('b')
    expect(await isThere(marker)).toBe(false)
  })

  it('of a submodule are not run when git looks into it', async () => {
    await own('[protocol "file"]\n allow = always\n')
    await sample.sh(work, 'submodule', '--quiet', 'add', sample.remote, 'sub')
    const sub = join(work, 'sub')
    await sample.sh(sub, 'config', 'filter.x.clean', evil)
    await writeFiles(sub, { '.gitattributes': '* filter=x\n' })
    await sample.sh(work, 'commit', '--quiet', '--all', '--message=With it')
    await writeFiles(sub, { 'README.md': '# Other\n' })
    await sample.sh(work, 'add', '--all').catch(() => undefined)
    expect(await isThere(marker), 'git itself runs it').toBe(true)
    await writeFile(marker, '')
    await pushSnapshot(sample.git, sample.plan(), sample.report, never)
    await expect(finish()).rejects.toMatchObject({ code: 'workspace.not-pushed' })
    expect(await readFile(marker, 'utf8')).toBe('')
  })

  it('give way to what the user has set up', async () => {
    await own('[filter "up"]\n clean = tr a-z A-Z\n required = true\n')
    await set('filter.up.clean', evil)
    await writeFiles(work, { '.gitattributes': '*.txt filter=up\n', 'b.txt': 'big\n' })
    await finish()
    expect(await onRemote('show', `${branch}:b.txt`)).toBe('BIG')
    expect(await isThere(marker)).toBe(false)
  })

  it('do not take the place of a program of the user’s without a word', async () => {
    await own('[filter "up"]\n clean = tr a-z A-Z\n')
    await set('filter.up.process', evil)
    await writeFiles(work, { '.gitattributes': '*.txt filter=up\n', 'b.txt': 'big\n' })
    await expect(finish()).rejects.toMatchObject({ code: 'git.filter' })
    expect(await isThere(marker)).toBe(false)
  })

  it('by which git and git-lfs reach another machine are not run', async () => {
    await set('core.gitProxy', evil)
    await sample.git.run(['ls-remote', 'git://127.0.0.1:1/x'], { cwd: work })
    expect(await isThere(marker)).toBe(false)
    await sample.sh(work, 'ls-remote', 'git://127.0.0.1:1/x').catch(() => undefined)
    expect(await isThere(marker), 'git itself runs it').toBe(true)
    const names = ['lfs.CustomTransfer.x.path', 'foo.lfs.customtransfer.x.path']
    for (const name of [...names, 'lfs.standalonetransferagent']) await set(name, evil)
    await writeFiles(work, { 'b.txt': 'b\n' })
    await finish()
    for (const name of [...names, 'lfs.standalonetransferagent', 'core.gitproxy']) {
      expect(told()[0]?.text).toContain(name)
    }
  })

  it('of a submodule whose path is no UTF-8 cannot be looked at, which keeps it from being committed', async () => {
    const head = await sample.sh(work, 'rev-parse', 'HEAD')
    const add = `git update-index --add --cacheinfo "160000,${head},$(printf 'sub\\377')"`
    execFileSync('sh', ['-c', add], { cwd: work, env: sample.env })
    await expect(finish()).rejects.toMatchObject({ code: 'git.configuration' })
  })

  it.each([
    ['git-lfs', 'lfs', 'git-lfs clean -- %f', 'git-lfs smudge --skip -- %f'],
    [
      'git-crypt',
      'git-crypt-k',
      ...['clean', 'smudge'].map((each) => `"git-crypt" ${each} --key-name=k`),
    ],
  ])('are followed where they are those of %s', async (name, filter, clean, smudge) => {
    await program(name, 'test "$1" = clean && echo changed')
    const env = { ...sample.env, PATH: `${join(sample.folder, 'bin')}:${sample.env.PATH}` }
    await set(`filter.${filter}.clean`, clean ?? '')
    await set(`filter.${filter}.smudge`, smudge ?? '')
    await set(`filter.${filter}.required`, 'true')
    await writeFiles(work, { '.gitattributes': `*.bin filter=${filter}\n`, 'b.bin': 'plain\n' })
    await finish({}, createGit({ env }))
    expect(await onRemote('show', `${branch}:b.bin`)).toBe('changed')
    expect(told()).toEqual([])
  })

  it('that a file must go through keep it from being committed without', async () => {
    await set('filter.x.clean', evil)
    await set('filter.x.required', 'true')
    await writeFiles(work, { '.gitattributes': 'secret filter=x\n', secret: 'plain\n' })
    await expect(finish()).rejects.toMatchObject({
      code: 'git.filter',
      message: expect.stringContaining("secret: clean filter 'x' failed"),
      hint: expect.stringContaining('git config --global'),
    })
    expect(await onRemote('branch', '--format=%(refname:short)')).toBe('main')
    expect(await isThere(marker)).toBe(false)
  })

  it('that cannot be named to git are refused', async () => {
    const section = Buffer.from(`[filter "\xff"]\n\tclean = ${evil}\n`, 'latin1')
    await appendFile(join(work, '.git', 'config'), section)
    await writeFiles(work, { 'b.txt': 'b\n' })
    await expect(finish()).rejects.toMatchObject({ code: 'git.configuration' })
  })
})

describe('what the settings of the workspace say of places', () => {
  it('sends no push elsewhere, by another address or another ssh', async () => {
    const elsewhere = join(sample.folder, 'elsewhere.git')
    await sample.sh(sample.folder, 'init', '--quiet', '--bare', elsewhere)
    const ssh = await program('own-ssh', 'for last; do :; done; eval "$last"')
    await own(`[core]\n sshCommand = ${ssh}\n[ssh]\n variant = simple\n`)
    const repo = `ssh://host${sample.remote}`
    const git = createGit({ env: sample.env })
    await set('core.sshCommand', evil)
    await set(`url.${elsewhere}.insteadOf`, repo)
    await set(`remote.${repo}.pushurl`, elsewhere)
    await writeFiles(work, { 'b.txt': 'b\n' })
    const half = await pushSnapshot(git, sample.plan({ repo }), sample.report, never)
    expect(await onRemote('rev-parse', branch)).toBe(half)
    const pushed = await finish({ repo }, git)
    expect(await onRemote('rev-parse', branch)).toBe(pushed)
    expect(await sample.sh(elsewhere, 'for-each-ref')).toBe('')
    expect(await removeIfPushed(git, sample.plan({ repo }), false, never)).toBe(true)
    expect(await isThere(marker)).toBe(false)
  })

  it('takes no files of another folder into the work', async () => {
    const private_ = join(sample.folder, 'private')
    await mkdir(private_)
    await writeFiles(private_, { key: 'secret\n' })
    await writeFiles(work, { 'b.txt': 'b\n' })
    await set('core.worktree', private_)
    const pushed = await finish()
    expect(await onRemote('ls-tree', '-r', '--name-only', pushed ?? '')).toBe(
      'README.md\nb.txt\nsrc/a.txt',
    )
    expect(told()[0]?.text).toContain('core.worktree')
  })
})
