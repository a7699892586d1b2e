import { access, lstat, readdir, readFile } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import type { Git } from '../git/run.ts'
import { isUnpushed } from '../workspace/leftovers.ts'
import type { Report } from '../workspace/report.ts'
import { looksSecret } from '../workspace/set-aside.ts'
import { operationUnderWay } from '../workspace/state.ts'
import { hashFiles } from './conversions.ts'
import { absolutePath, nameOfPath, type PathBytes } from './path-bytes.ts'
import { LONG_LIMIT_MS, listed, type Survey, setting } from './survey.ts'

/** A larger submodule that is as it was pushed is left to git, which fills it again. */
const SUBMODULE_BYTES = 200 * 1024 * 1024

/**
 * Why commits cannot hold what is in a workspace, in words; empty when they can. Rejects with
 * `workspace.worktree-elsewhere` when not even an archive of the workspace could.
 */
export async function beyondCommits(
  git: Git,
  survey: Survey,
  report: Report,
  signal: AbortSignal,
): Promise<string[]> {
  const { cwd, config } = survey
  const underWay = (await operationUnderWay(git, cwd)) ?? (await bisectUnderWay(cwd))
  const isSparse = setting(config, 'core.sparsecheckout') === 'true'
  return [
    ...(underWay === null ? [] : [`git is in the middle of ${underWay}`]),
    ...survey.nested.map((path) => `${nameOfPath(path)} is a repository of its own`),
    ...(await filledSubmodules(git, survey, report)),
    ...(await linkedWorktrees(cwd)),
    ...(await storedLargeFiles(cwd)),
    ...(await drivenFiles(git, survey, signal)),
    ...(await stagedSecrets(git, survey, signal)),
    ...(isSparse ? ['the checkout is sparse'] : []),
  ]
}

async function bisectUnderWay(cwd: string): Promise<string | null> {
  for (const [file, name] of [
    ['BISECT_START', 'a bisect'],
    ['BISECT_LOG', 'a bisect'],
    ['sequencer', 'a sequence of picks'],
  ] as const) {
    if (await isThere(join(cwd, '.git', file))) return name
  }
  return null
}

/** Submodules that are filled. A large one without work of its own is not kept, which is said. */
async function filledSubmodules(
  git: Git,
  { cwd, entries }: Survey,
  report: Report,
): Promise<string[]> {
  const found: string[] = []
  for (const { path, mode, id } of entries) {
    if (mode !== '160000') continue
    const folder = absolutePath(cwd, path).toString('utf8')
    if (!(await isThere(join(folder, '.git')))) continue
    const head = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD'], { cwd: folder })
    const isSame = head.stdout.toString('utf8').trim() === id
    if (!isSame || (await isUnpushed(git, folder))) {
      found.push(`the submodule ${nameOfPath(path)} has changes`)
    } else if (await isSmall(git, folder)) {
      found.push(`the submodule ${nameOfPath(path)} is filled`)
    } else {
      const text = `The submodule ${nameOfPath(path)} is large and as it was pushed: it is not kept, and empty after a resume until it is filled again (git submodule update --init).`
      report.notice('warning', 'park.submodule', text)
    }
  }
  return found
}

async function isSmall(git: Git, submodule: string): Promise<boolean> {
  const gitDir = await git.text(['rev-parse', '--absolute-git-dir'], { cwd: submodule })
  const left = await roomAfter(submodule, SUBMODULE_BYTES)
  return left > 0 && (await roomAfter(gitDir, left)) > 0
}

/** What is left of a number of bytes beside those of a folder; looks no further when that is nothing. */
async function roomAfter(folder: string, bytes: number): Promise<number> {
  let left = bytes
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    if (left <= 0) return left
    const path = join(folder, entry.name)
    if (entry.isDirectory()) left = await roomAfter(path, left)
    else left -= (await lstat(path).catch(() => null))?.size ?? 0
  }
  return left
}

/** A worktree inside of the workspace is archived with it; what is in one elsewhere would be left behind. */
async function linkedWorktrees(cwd: string): Promise<string[]> {
  const folder = join(cwd, '.git', 'worktrees')
  const found: string[] = []
  for (const name of await namesIn(folder)) {
    const text = await readFile(join(folder, name, 'gitdir'), 'utf8').catch(() => '')
    const place = resolve(text.trim().replace(/[\\/]\.git$/, ''))
    if (text.trim() === '' || !(await isThere(place))) continue
    if (!place.startsWith(resolve(cwd) + sep)) {
      throw new BalletError({
        code: 'workspace.worktree-elsewhere',
        message: `The workspace has a second worktree outside of it, ${place}.`,
        hint: 'Have the agent commit its work there and remove it (git worktree remove), then park again. The session and its workspace are kept.',
      })
    }
    found.push(`${place.slice(resolve(cwd).length + 1)} is a second worktree`)
  }
  return found
}

/** Files of Git LFS that this clone holds: a git bundle would not carry them. */
async function storedLargeFiles(cwd: string): Promise<string[]> {
  const names = await namesIn(join(cwd, '.git', 'lfs', 'objects'))
  return names.length > 0 ? ['files of Git LFS are stored in it'] : []
}

/** Files that a program of the user converts and that differ from what git keeps of them: decrypted, or large. */
async function drivenFiles(
  git: Git,
  { cwd, entries, untracked, conversions }: Survey,
  signal: AbortSignal,
): Promise<string[]> {
  if (conversions.driven.size === 0) return []
  const news = untracked.find((path) => conversions.driven.has(path))
  if (news !== undefined) return [inWords(news)]
  const kept = new Map<PathBytes, string>()
  for (const { path, id } of entries) {
    if (!conversions.driven.has(path)) continue
    const info = await lstat(absolutePath(cwd, path)).catch(() => null)
    if (info?.isFile() === true) kept.set(path, id)
  }
  const options = { cwd, signal, limitMs: LONG_LIMIT_MS }
  const onDisk = await hashFiles(git, [...kept.keys()], false, options)
  const different = [...kept].find(([path, id]) => onDisk.get(path) !== id)
  return different === undefined ? [] : [inWords(different[0])]
}

function inWords(path: PathBytes): string {
  return `${nameOfPath(path)} goes through a filter of git's configuration (LFS, encryption)`
}

/** Files in the index that look like secrets and are in no commit yet: they are not for the remote. */
async function stagedSecrets(
  git: Git,
  { cwd, entries, head, aside }: Survey,
  signal: AbortSignal,
): Promise<string[]> {
  const isAside = new Set(aside.map(({ path }) => path))
  const secrets = entries.filter(({ path }) => looksSecret(path) && !isAside.has(path))
  if (secrets.length === 0) return []
  let added = new Set(secrets.map(({ path }) => path))
  if (head.commit !== null) {
    const args = ['diff-index', '-z', '--cached', '--name-only', '--diff-filter=A', head.commit]
    added = new Set(await listed(git, [...args, '--no-renames', '--'], { cwd, signal }))
  }
  return secrets
    .filter(({ path }) => added.has(path))
    .map(({ path }) => `${nameOfPath(path)} is staged and looks like a secret`)
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
