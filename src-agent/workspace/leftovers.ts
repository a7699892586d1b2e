import { access, lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git } from '../git/run.ts'
import { foldersWithGit } from './inner-git.ts'
import { readHead, readList } from './state.ts'

type Safe = { commits: readonly string[]; tracked: boolean; repo: string; dataDir: string }

/**
 * What is in a workspace and would be lost with it although every file is committed, in words; empty when nothing.
 * `safe`: commits that the remote `repo` has or will have; with `tracked` also what the clone knows of its branches. The
 * remote is asked from `dataDir`, where no setting of the workspace says what its address stands for.
 */
export async function leftovers(git: Git, cwd: string, safe: Safe): Promise<string[]> {
  return [
    ...(await unpushedBranches(git, cwd, safe)),
    ...(await unpushedTags(git, cwd, safe)),
    ...(await nestedRepositories(git, cwd)),
    ...(await linkedWorktrees(cwd)),
    ...(await hiddenChanges(git, cwd)),
  ]
}

async function unpushedBranches(git: Git, cwd: string, safe: Safe): Promise<string[]> {
  const refs = await git.text(['for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/stash'], {
    cwd,
  })
  const head = await readHead(git, cwd)
  const names = refs.split('\n').filter(Boolean)
  if (head.commit !== null && head.branch === null) names.push('HEAD')
  const found: string[] = []
  for (const name of names) {
    const missing = await git.text(['rev-list', '--count', '--stdin', ...notTracked(safe)], {
      cwd,
      input: [name, ...safe.commits.map((commit) => `^${commit}`), ''].join('\n'),
    })
    if (missing !== '0') found.push(inWords(name, missing))
  }
  return found
}

/** Tags of what no branch holds and the remote does not have under that name. */
async function unpushedTags(git: Git, cwd: string, safe: Safe): Promise<string[]> {
  const format = '--format=%(objectname) %(*objectname) %(*objecttype)%(objecttype) %(refname)'
  const tags = (await git.text(['for-each-ref', format, 'refs/tags'], { cwd })).split('\n')
  if (tags.join('') === '') return []
  // All at once: a repository may have thousands.
  const missing = new Set(
    (
      await git.text(['rev-list', '--tags', '--stdin', ...notTracked(safe)], {
        cwd,
        input: [...safe.commits.map((commit) => `^${commit}`), ''].join('\n'),
      })
    ).split('\n'),
  )
  const loose = tags.flatMap((tag) => {
    const [object = '', peeled = '', type = '', name = ''] = tag.split(' ')
    const isCommit = type.startsWith('commit')
    return isCommit && !missing.has(peeled === '' ? object : peeled) ? [] : [{ object, name }]
  })
  if (loose.length === 0) return []
  const about = { repo: safe.repo }
  const args = ['ls-remote', '--tags', '--', safe.repo]
  const listed = await git.text(args, { cwd: safe.dataDir, about })
  const remote = new Set(listed.split('\n'))
  return loose
    .filter(({ object, name }) => !remote.has(`${object}\t${name}`))
    .map(({ name }) => `the local tag ${name.replace('refs/tags/', '')}`)
}

const notTracked = ({ tracked }: Safe) => (tracked ? ['--not', '--remotes=origin'] : [])

function inWords(name: string, missing: string): string {
  if (name === 'refs/stash') return 'stashed changes'
  const commits = missing === '1' ? '1 commit' : `${missing} commits`
  return name === 'HEAD'
    ? `a detached HEAD (${commits})`
    : `the local branch ${name.replace('refs/heads/', '')} (${commits})`
}

/** Repositories inside the workspace: a commit here can only point at them, not hold them. */
async function nestedRepositories(git: Git, cwd: string): Promise<string[]> {
  const others = ['ls-files', '-z', '--others', '--exclude-standard']
  const untracked = await readList(git, cwd, others)
  const ignored = await readList(git, cwd, [...others, '--ignored', '--directory'])
  const tracked = await readList(git, cwd, ['ls-files', '-z', '--stage'])
  const links = tracked.flatMap((entry) =>
    entry.startsWith('160000 ') ? [entry.slice(entry.indexOf('\t') + 1)] : [],
  )
  const folders = (paths: readonly string[]) =>
    paths.filter((path) => path.endsWith('/')).map((path) => path.slice(0, -1))
  const told = folders(untracked)
  const closed = new Set([...told, ...links, ...folders(ignored)].map(asLatin1))
  const found = [...told, ...(await foldersWithGit(cwd, closed)).map(asUtf8)]
  const modules = links.length === 0 ? '' : await readText(join(cwd, '.gitmodules'))
  for (const link of links) {
    const isFilled = await access(join(cwd, link, '.git')).then(
      () => true,
      () => false,
    )
    if (!isFilled) continue
    const isSubmodule = modules.split('\n').some((line) => line.trim() === `path = ${link}`)
    if (!isSubmodule || (await isUnpushed(git, join(cwd, link)))) found.push(link)
  }
  return found.map((path) => `the repository in ${path}`)
}

const asLatin1 = (path: string) => Buffer.from(path, 'utf8').toString('latin1')
const asUtf8 = (path: string) => Buffer.from(path, 'latin1').toString('utf8')

/** Whether a repository holds changes or commits that are nowhere else. */
export async function isUnpushed(git: Git, folder: string): Promise<boolean> {
  const changes = await readList(git, folder, ['status', '-z', '--porcelain'])
  if (changes.length > 0) return true
  const commits = ['rev-list', '--max-count=1', 'HEAD', '--branches', '--not', '--remotes']
  return (await git.text(commits, { cwd: folder })) !== ''
}

async function linkedWorktrees(cwd: string): Promise<string[]> {
  const folder = join(cwd, '.git', 'worktrees')
  const found: string[] = []
  for (const name of await readdir(folder).catch(() => [])) {
    const place = (await readText(join(folder, name, 'gitdir'))).trim().replace(/[\\/]\.git$/, '')
    const isThere = await access(place).then(
      () => true,
      () => false,
    )
    if (place !== '' && isThere) found.push(`the worktree ${place}`)
  }
  return found
}

/** Files that git was told to take for unchanged, and that are not: no commit will hold what is in them. */
async function hiddenChanges(git: Git, cwd: string): Promise<string[]> {
  // The letter is small for assume-unchanged, and S for skip-worktree.
  const flagged = (await readList(git, cwd, ['ls-files', '-z', '-v'])).flatMap((entry) =>
    /^[a-zS] /.test(entry) ? [entry.slice(2)] : [],
  )
  const there = await filter(flagged, async (path) => {
    const info = await lstat(join(cwd, path)).catch(() => null)
    return info?.isFile() === true
  })
  if (there.length === 0) return []
  const staged = await readList(git, cwd, ['ls-files', '-z', '--stage'])
  const known = new Map(
    staged.map((entry) => [entry.slice(entry.indexOf('\t') + 1), entry.split(' ')[1]]),
  )
  const changed = await filter(there, async (path) => {
    const now = await git.text(['hash-object', `--path=${path}`, '--', join(cwd, path)], { cwd })
    return now !== known.get(path)
  })
  if (changed.length === 0) return []
  const more = changed.length > 3 ? ` and ${changed.length - 3} more` : ''
  return [`changes that git was told not to see in ${changed.slice(0, 3).join(' and ')}${more}`]
}

async function filter<T>(all: readonly T[], wanted: (each: T) => Promise<boolean>): Promise<T[]> {
  const found: T[] = []
  for (const each of all) if (await wanted(each)) found.push(each)
  return found
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '')
}
