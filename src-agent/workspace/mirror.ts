import { randomBytes } from 'node:crypto'
import { appendFile, mkdir, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import { parseGitProgress } from '../git/progress.ts'
import { withoutCredentials } from '../git/redact.ts'
import { GIT_LIMITS, type Git } from '../git/run.ts'
import { unlockedText } from '../git/stale-locks.ts'
import { kindOf, removeTree } from './folders.ts'
import { withLockFile } from './lock-file.ts'
import { nearNames } from './near-names.ts'
import type { Report, WorkspacePlan } from './report.ts'

/** A step of progress is told when it is at least this much further, in per cent. */
const PROGRESS_STEP = 25

export type MirrorRefs = {
  /** Tip of the base branch. */
  base: string
  /** Tip of the session's own branch on the remote; null when there is none. */
  own: string | null
}

/**
 * Brings the project's bare mirror up to date with the remote: made when it is missing, whole or not at all, and
 * locked against every other agent. Objects in it never vanish, since the sessions' clones borrow them: no garbage
 * collection runs on it.
 */
export async function refreshMirror(
  git: Git,
  plan: WorkspacePlan,
  report: Report,
  signal: AbortSignal,
): Promise<MirrorRefs> {
  const { mirrorDir } = plan
  const lock = {
    limitMs: GIT_LIMITS.clone,
    signal,
    onWait: () =>
      report.notice(
        'info',
        'workspace.mirror-busy',
        'Waiting: another session is fetching this repository.',
      ),
  }
  return withLockFile(`${mirrorDir}.lock`, lock, async () => {
    if (await isMirror(git, mirrorDir)) await fetchMirror(git, plan, report, signal)
    else await makeMirror(git, plan, report, signal)
    return readRefs(git, plan)
  })
}

async function isMirror(git: Git, mirrorDir: string): Promise<boolean> {
  if ((await kindOf(mirrorDir)) === 'nothing') return false
  const answer = await git.run(['rev-parse', '--is-bare-repository'], {
    cwd: mirrorDir,
    env: { GIT_DIR: mirrorDir },
  })
  return answer.exitCode === 0 && answer.stdout.toString('utf8').trim() === 'true'
}

async function makeMirror(
  git: Git,
  plan: WorkspacePlan,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const { mirrorDir, repo } = plan
  report.step('clone', 'started', `Fetching ${withoutCredentials(repo)} for the first time`)
  const fresh = `${mirrorDir}.new`
  // Whoever began it has died: this process holds the lock.
  await removeTree(fresh)
  await mkdir(dirname(mirrorDir), { recursive: true })
  try {
    await git.text(['init', '--quiet', '--bare', '--template=', fresh], {
      cwd: dirname(mirrorDir),
      signal,
    })
    await appendFile(
      `${fresh}/config`,
      configSection('remote "origin"', [
        ['url', repo],
        ['fetch', '+refs/heads/*:refs/heads/*'],
        ['fetch', '+refs/tags/*:refs/tags/*'],
      ]) +
        configSection('gc', [['auto', '0']]) +
        configSection('maintenance', [['auto', 'false']]),
    )
    await fetchInto(git, fresh, plan, report, signal)
    const some = await git.text(['for-each-ref', '--count=1', 'refs/heads'], { cwd: fresh })
    if (some === '') throw emptyRemote(repo)
    if ((await kindOf(mirrorDir)) !== 'nothing') {
      // Not a repository any more. It is put aside, not deleted: clones may still read from it.
      await rename(mirrorDir, `${mirrorDir}.broken-${randomBytes(3).toString('hex')}`)
    }
    await rename(fresh, mirrorDir)
  } catch (error) {
    await removeTree(fresh)
    report.step('clone', 'failed')
    throw error
  }
  report.step('clone', 'done')
}

async function fetchMirror(
  git: Git,
  plan: WorkspacePlan,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const { mirrorDir, repo } = plan
  const known = await git.run(['config', '--get', 'remote.origin.url'], { cwd: mirrorDir })
  if (known.stdout.toString('utf8').trimEnd() !== repo) {
    await git.text(['config', 'remote.origin.url', repo], { cwd: mirrorDir })
  }
  await fetchInto(git, mirrorDir, plan, report, signal)
}

async function fetchInto(
  git: Git,
  folder: string,
  { repo }: WorkspacePlan,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const args = ['fetch', '--prune', '--no-write-fetch-head', '--no-auto-gc', '--progress', 'origin']
  await unlockedText(git, args, {
    cwd: folder,
    limitMs: GIT_LIMITS.clone,
    signal,
    about: { repo },
    onLine: tellProgress(report),
  })
}

/** Tells a long transfer in a few steps. */
export function tellProgress(report: Report): (line: string) => void {
  let told = ''
  return (line) => {
    const progress = parseGitProgress(line)
    if (progress === null || progress.percent === null) return
    if (progress.phase !== 'Receiving objects' && progress.phase !== 'Updating files') return
    const step = Math.floor(progress.percent / PROGRESS_STEP) * PROGRESS_STEP
    const key = `${progress.phase} ${step}`
    if (step === 0 || step === 100 || key === told) return
    told = key
    report.notice('info', 'workspace.clone', progress.text)
  }
}

async function readRefs(git: Git, plan: WorkspacePlan): Promise<MirrorRefs> {
  const { mirrorDir, baseBranch, branch } = plan
  const names = [`refs/heads/${baseBranch}`, `refs/heads/${branch}`]
  const listed = await git.text(['for-each-ref', '--format=%(objectname) %(refname)', ...names], {
    cwd: mirrorDir,
  })
  const tipOf = (name: string) =>
    listed
      .split('\n')
      .find((line) => line.endsWith(` ${name}`))
      ?.split(' ')[0] ?? null
  const base = tipOf(names[0] ?? '')
  if (base === null) throw await unknownBase(git, plan)
  return { base, own: tipOf(names[1] ?? '') }
}

async function unknownBase(git: Git, { mirrorDir, repo, baseBranch }: WorkspacePlan) {
  const all = await git.text(['for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads'], {
    cwd: mirrorDir,
  })
  if (all === '') return emptyRemote(repo)
  return unknownBranch(repo, baseBranch, all.split('\n'))
}

export function unknownBranch(repo: string, branch: string, known: readonly string[]): BalletError {
  const near = nearNames(branch, known)
  return new BalletError({
    code: 'branch.unknown',
    message: `${withoutCredentials(repo)} has no branch ${branch}.`,
    hint: `Name a branch that exists on the remote, such as ${near.join(', ')}.`,
  })
}

export function emptyRemote(repo: string): BalletError {
  return new BalletError({
    code: 'remote.empty',
    message: `${withoutCredentials(repo)} is empty: it has no branch to start from.`,
    hint: 'Push a first commit to it (a README is enough), then try again.',
  })
}

/** A section of a git configuration file; values are quoted, so that any text is safe. */
export function configSection(
  name: string,
  settings: readonly (readonly [string, string])[],
): string {
  const quoted = (value: string) =>
    `"${value.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n').replace(/\t/g, '\\t')}"`
  return `[${name}]\n${settings.map(([key, value]) => `\t${key} = ${quoted(value)}\n`).join('')}`
}
