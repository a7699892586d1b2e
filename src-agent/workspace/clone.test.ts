import { access, chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { openWorkspace } from './clone.ts'
import { commitAndPush } from './finish.ts'
import { makeSample, never, type Sample, writeFiles } from './sample-repository.ts'
import { pushSnapshot } from './snapshot.ts'

let sample: Sample
afterEach(() => sample.remove())

const open = (changes?: Parameters<Sample['plan']>[0]) =>
  openWorkspace(sample.git, sample.plan(changes), sample.report, never)

const refusedWith = (code: string) => expect.objectContaining({ code })

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

describe('a fresh workspace', () => {
  it('stands on its own branch at the base, borrows its objects, and has the real remote', async () => {
    sample = await makeSample()
    const base = await sample.sh(sample.remote, 'rev-parse', 'main')
    const opened = await open()
    expect(opened).toMatchObject({ fresh: true, record: { base, setup: 'open', pushed: [] } })
    const { workspaceDir, mirrorDir, branch } = sample.plan()
    expect(await readFile(join(workspaceDir, 'README.md'), 'utf8')).toBe('# Sample\n')
    expect(await sample.sh(workspaceDir, 'symbolic-ref', '--short', 'HEAD')).toBe(branch)
    expect(await sample.sh(workspaceDir, 'remote', 'get-url', 'origin')).toBe(sample.remote)
    expect(await sample.sh(workspaceDir, 'branch', '--list', '--format=%(refname:short)')).toBe(
      branch,
    )
    expect(await sample.sh(workspaceDir, 'status', '--porcelain')).toBe('')
    expect(await sample.sh(workspaceDir, 'count-objects')).toMatch(/^0 objects/)
    expect(await sample.sh(mirrorDir, 'config', 'gc.auto')).toBe('0')
    expect(await sample.sh(workspaceDir, 'config', '--local', 'user.email')).toBe(
      'ballet@localhost',
    )
    expect(sample.steps).toEqual(['clone started', 'clone done'])
  })

  it('leaves the identity to git where git has one', async () => {
    sample = await makeSample({ gitConfig: '[user]\n name = Eva\n email = eva@example.org\n' })
    await open()
    const { workspaceDir } = sample.plan()
    const local = await sample.git.run(['config', '--local', '--get-regexp', '^user'], {
      cwd: workspaceDir,
    })
    expect(local.stdout.toString()).toBe('')
  })

  it.each(['file', 'path'])('works with a remote whose name is odd, as %s', async (form) => {
    sample = await makeSample({ name: `it's a "remote" 🩰 #1.git` })
    const repo = form === 'path' ? sample.remote : `file://${sample.remote}`
    await open({ repo })
    const { workspaceDir } = sample.plan()
    expect(await sample.sh(workspaceDir, 'remote', 'get-url', 'origin')).toBe(repo)
    await writeFiles(workspaceDir, { 'b.txt': 'b\n' })
    const pushed = await commitAndPush(
      sample.git,
      sample.plan({ repo }),
      'Add b',
      sample.report,
      never,
    )
    expect(await sample.sh(sample.remote, 'rev-parse', sample.plan().branch)).toBe(pushed)
  })

  it('fetches the mirror again for each session', async () => {
    sample = await makeSample()
    await open()
    const second = await sample.commit('main', { 'new.txt': 'new\n' })
    const workspaceDir = join(sample.dataDir, 'workspaces', 'SHOP-2-00a1b3')
    const opened = await open({ workspaceDir, branch: 'ballet/SHOP-2-c3d4e6' })
    expect(opened.record.base).toBe(second)
    expect(await isThere(join(workspaceDir, 'new.txt'))).toBe(true)
  })

  it('is prepared for several sessions of one project at once', async () => {
    sample = await makeSample()
    const all = await Promise.all(
      [1, 2, 3, 4].map((n) =>
        open({
          workspaceDir: join(sample.dataDir, 'workspaces', `SHOP-${n}-00a1b${n}`),
          branch: `ballet/SHOP-${n}-c3d4e${n}`,
        }),
      ),
    )
    expect(all.map(({ fresh }) => fresh)).toEqual([true, true, true, true])
    expect((await readdir(join(sample.dataDir, 'mirrors'))).sort()).toEqual(['p.git'])
  })

  it('says so where the repository has submodules or large files', async () => {
    sample = await makeSample()
    await sample.commit('main', {
      '.gitmodules': '[submodule "x"]\n\tpath = x\n\turl = ../x\n',
      'art/.gitattributes': '*.png filter=lfs diff=lfs merge=lfs -text\n',
    })
    await open()
    expect(sample.told.map(({ code }) => code)).toEqual(['workspace.submodules', 'workspace.lfs'])
  })

  it('runs no hook of the user or of a template', async () => {
    sample = await makeSample()
    const hooks = join(sample.folder, 'hooks')
    const canary = join(sample.folder, 'canary')
    await mkdir(hooks)
    for (const name of [
      ...['post-checkout', 'pre-commit', 'prepare-commit-msg', 'commit-msg', 'post-commit'],
      ...['pre-push', 'reference-transaction', 'post-index-change'],
    ]) {
      // The remote's side of a push to a folder runs hooks of its own, which are the remote's business.
      const script = `case $PWD in '${sample.remote}') ;; *) echo ${name} >> '${canary}' ;; esac`
      await writeFile(join(hooks, name), `#!/bin/sh\n${script}\n`)
      await chmod(join(hooks, name), 0o755)
    }
    const template = join(sample.folder, 'template')
    await mkdir(join(template, 'hooks'), { recursive: true })
    await writeFile(join(template, 'hooks', 'pre-commit'), `#!/bin/sh\necho t >> '${canary}'\n`)
    await chmod(join(template, 'hooks', 'pre-commit'), 0o755)
    const config = `[core]\n hooksPath = ${hooks}\n[init]\n templateDir = ${template}\n`
    await writeFile(join(sample.env.HOME ?? '', '.gitconfig'), config)
    await open()
    const { workspaceDir } = sample.plan()
    // Also one that an agent puts into the clone.
    await writeFile(
      join(workspaceDir, '.git', 'hooks', 'pre-push'),
      `#!/bin/sh\necho own >> '${canary}'\n`,
    )
    await chmod(join(workspaceDir, '.git', 'hooks', 'pre-push'), 0o755)
    await writeFiles(workspaceDir, { 'b.txt': 'b\n' })
    await pushSnapshot(sample.git, sample.plan(), sample.report, never)
    await commitAndPush(sample.git, sample.plan(), 'Add b', sample.report, never)
    expect(await isThere(canary)).toBe(false)
    expect(await readFile(join(sample.env.HOME ?? '', '.gitconfig'), 'utf8')).toBe(config)
    // The canary can sing: git of the user does run them.
    await sample.sh(workspaceDir, 'commit', '--allow-empty', '--message=x')
    expect(await isThere(canary)).toBe(true)
  })
})

describe('what cannot be cloned', () => {
  it('an empty remote, and no half mirror is left', async () => {
    sample = await makeSample({ empty: true })
    await expect(open()).rejects.toEqual(refusedWith('remote.empty'))
    expect(await readdir(join(sample.dataDir, 'mirrors'))).toEqual([])
    expect(await readdir(join(sample.dataDir, 'workspaces'))).toEqual([])
  })

  it('an unknown branch, with near names', async () => {
    sample = await makeSample()
    await sample.commit('develop', {})
    await expect(open({ baseBranch: 'mian' })).rejects.toMatchObject({
      code: 'branch.unknown',
      hint: expect.stringContaining('main'),
    })
  })

  it('no repository, and a remote that cannot be reached', async () => {
    sample = await makeSample()
    const repo = join(sample.folder, 'nothing here')
    await expect(open({ repo })).rejects.toEqual(refusedWith('remote.not-a-repository'))
    await expect(open({ repo: 'http://127.0.0.1:9/x.git' })).rejects.toEqual(
      refusedWith('remote.unreachable'),
    )
    expect(await readdir(join(sample.dataDir, 'workspaces'))).toEqual([])
  })

  it('a path outside the data folder, or a link in it', async () => {
    sample = await makeSample()
    const inside = join(sample.dataDir, 'workspaces')
    for (const workspaceDir of [
      join(sample.folder, 'elsewhere'),
      join(inside, '..', 'x'),
      join(inside, 'a', 'b'),
      join(inside, '.git'),
      inside,
    ]) {
      await expect(open({ workspaceDir })).rejects.toEqual(refusedWith('workspace.outside'))
    }
    await writeFiles(inside, { link: `-> ${sample.folder}` })
    await expect(open({ workspaceDir: join(inside, 'link') })).rejects.toEqual(
      refusedWith('workspace.outside'),
    )
  })

  it('a branch of its own name that Ballet did not push', async () => {
    sample = await makeSample()
    const { branch } = sample.plan()
    await sample.commit(branch, { 'theirs.txt': 'x\n' })
    await expect(open()).rejects.toEqual(refusedWith('branch.foreign'))
    const main = await sample.sh(sample.remote, 'rev-parse', 'main')
    await sample.commit('main', { 'c.txt': 'c' })
    const other = await sample.sh(sample.remote, 'rev-parse', 'main')
    await expect(open({ pushedCommit: other })).rejects.toEqual(refusedWith('branch.foreign'))
    // One on top of what Ballet pushed is welcome.
    expect((await open({ pushedCommit: main })).fresh).toBe(true)
  })
})

describe('a workspace of an earlier run', () => {
  it('is taken as it is, without asking the remote', async () => {
    sample = await makeSample()
    await open()
    const { workspaceDir } = sample.plan()
    await writeFiles(workspaceDir, { 'uncommitted.txt': 'x' })
    await rm(sample.remote, { recursive: true })
    expect((await open()).fresh).toBe(false)
    expect(await isThere(join(workspaceDir, 'uncommitted.txt'))).toBe(true)
  })

  it('gets the mirror back that it borrows from', async () => {
    sample = await makeSample()
    await open()
    await rm(sample.plan().mirrorDir, { recursive: true })
    expect((await open()).fresh).toBe(false)
    expect(await sample.sh(sample.plan().workspaceDir, 'log', '--format=%s')).toBe('Change main')
  })

  it('is refused when it is not whole, or of another session', async () => {
    sample = await makeSample()
    await open()
    const session = '019a0000-0000-7000-8000-00000000ffff'
    await expect(open({ session })).rejects.toEqual(refusedWith('workspace.broken'))
    const { workspaceDir } = sample.plan()
    await rm(join(workspaceDir, '.git'), { recursive: true })
    await expect(open()).rejects.toEqual(refusedWith('workspace.broken'))
    expect(await isThere(join(workspaceDir, 'README.md'))).toBe(true)
  })

  it('is cloned again from the branch when it is gone, with a snapshot undone', async () => {
    sample = await makeSample()
    await open()
    const { workspaceDir } = sample.plan()
    await writeFiles(workspaceDir, { 'done.txt': 'done\n' })
    await sample.sh(workspaceDir, 'add', '--all')
    await sample.sh(workspaceDir, 'commit', '--quiet', '--message=Done')
    const done = await sample.sh(workspaceDir, 'rev-parse', 'HEAD')
    await writeFiles(workspaceDir, { 'open.txt': 'open\n', 'README.md': null })
    const pushed = await pushSnapshot(sample.git, sample.plan(), sample.report, never)
    await rm(workspaceDir, { recursive: true })
    const opened = await open({ pushedCommit: pushed })
    expect(opened.fresh).toBe(true)
    expect(await sample.sh(workspaceDir, 'rev-parse', 'HEAD')).toBe(done)
    expect(await sample.sh(workspaceDir, 'status', '--porcelain')).toBe('D README.md\n?? open.txt')
    // And the next push replaces it.
    const plan = sample.plan({ pushedCommit: pushed })
    await commitAndPush(sample.git, plan, 'Rest', sample.report, never)
    expect(await sample.sh(sample.remote, 'log', '--format=%s', plan.branch)).toBe(
      'Rest\nDone\nChange main',
    )
  })

  it('goes on from the last push when somebody deleted the branch', async () => {
    sample = await makeSample()
    await open()
    const plan = sample.plan()
    await writeFiles(plan.workspaceDir, { 'b.txt': 'b\n' })
    const pushed = await commitAndPush(sample.git, plan, 'Add b', sample.report, never)
    await open({ workspaceDir: `${plan.workspaceDir}-x`, branch: 'ballet/SHOP-9-c3d4e9' })
    await rm(plan.workspaceDir, { recursive: true })
    await sample.sh(sample.remote, 'branch', '-D', plan.branch)
    await open({ pushedCommit: pushed })
    expect(sample.told.map(({ code }) => code)).toContain('branch.gone')
    expect(await isThere(join(plan.workspaceDir, 'b.txt'))).toBe(true)
  })
})
