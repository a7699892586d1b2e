import { appendFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import { withoutCredentials } from '../git/redact.ts'
import { GIT_LIMITS, type Git } from '../git/run.ts'
import { guardWorkspace, kindOf, newFolderFor, removeTree, sweepFolders } from './folders.ts'
import { configSection, refreshMirror, tellProgress } from './mirror.ts'
import { readRecord, type WorkspaceRecord, writeRecord } from './record.ts'
import type { Report, WorkspacePlan } from './report.ts'
import { firstParentOfSnapshot } from './snapshot-mark.ts'

export type OpenWorkspace = {
  record: WorkspaceRecord
  /** False: it was kept from an earlier run of the session. */
  fresh: boolean
}

/**
 * The session's clone, ready to work in: the one that was kept, or a new one that borrows the objects of the
 * project's mirror and stands on the session's own branch. Rejects with `BalletError`; a workspace that could not be
 * finished leaves nothing.
 */
export async function openWorkspace(
  git: Git,
  plan: WorkspacePlan,
  report: Report,
  signal: AbortSignal,
): Promise<OpenWorkspace> {
  await guardWorkspace(plan.dataDir, plan.workspaceDir)
  if ((await kindOf(plan.workspaceDir)) === 'folder') {
    const record = await keptRecord(plan)
    // It cannot be read without the objects that it borrows.
    if ((await kindOf(plan.mirrorDir)) === 'nothing') {
      await refreshMirror(git, plan, report, signal)
    }
    return { record, fresh: false }
  }
  await sweepFolders(plan.dataDir)
  const refs = await refreshMirror(git, plan, report, signal)
  const start = await findStart(git, plan, refs, report)
  const fresh = await newFolderFor(plan.workspaceDir)
  try {
    await makeClone(git, plan, fresh, start.commit, report, signal)
    const record: WorkspaceRecord = {
      session: plan.session,
      branch: plan.branch,
      base: start.base,
      setup: 'open',
      pushed:
        plan.pushedCommit === null
          ? []
          : [{ commit: plan.pushedCommit, snapshot: start.snapshotOf !== null }],
    }
    if (start.snapshotOf !== null) {
      // The files stay as the snapshot has them; what it added to the last commit is uncommitted again.
      await git.text(['reset', '--quiet', '--mixed', start.snapshotOf], { cwd: fresh, signal })
    }
    await writeRecord(fresh, record)
    await rename(fresh, plan.workspaceDir)
    await tellWhatIsLeft(git, plan.workspaceDir, report)
    return { record, fresh: true }
  } catch (error) {
    await removeTree(fresh)
    throw error
  }
}

/** The record of a workspace that is on the disk. Rejects with `workspace.broken` when it is another one. */
export async function keptRecord(plan: WorkspacePlan): Promise<WorkspaceRecord> {
  const record = await readRecord(plan.workspaceDir)
  if (record !== null && record.session === plan.session && record.branch === plan.branch) {
    return record
  }
  throw new BalletError({
    code: 'workspace.broken',
    message: `The folder ${plan.workspaceDir} is not the workspace of this session any more.`,
    hint: 'Ballet leaves it as it is. Take out of it what you need, move it away, then try again.',
  })
}

type Start = {
  commit: string
  /** Where the ticket's work began. */
  base: string
  /** The commit under a snapshot of uncommitted work; null when `commit` is none. */
  snapshotOf: string | null
}

async function findStart(
  git: Git,
  plan: WorkspacePlan,
  refs: { base: string; own: string | null },
  report: Report,
): Promise<Start> {
  const cwd = plan.mirrorDir
  const pushed = plan.pushedCommit
  if (pushed === null) {
    if (refs.own !== null) throw foreignBranch(plan, refs.own)
    return { commit: refs.base, base: refs.base, snapshotOf: null }
  }
  if (refs.own === null) {
    const isThere = await git.run(['cat-file', '-e', `${pushed}^{commit}`], { cwd })
    const where = isThere.exitCode === 0 ? 'the commit that was last pushed' : plan.baseBranch
    report.notice(
      'warning',
      'branch.gone',
      `The branch ${plan.branch} is not on the remote any more. The work goes on from ${where}.`,
    )
    if (isThere.exitCode !== 0) return { commit: refs.base, base: refs.base, snapshotOf: null }
  } else if (refs.own !== pushed) {
    const own = await git.run(['merge-base', '--is-ancestor', pushed, refs.own], { cwd })
    if (own.exitCode !== 0) throw foreignBranch(plan, refs.own)
  }
  const commit = refs.own ?? pushed
  const base = await git.run(['merge-base', refs.base, commit], { cwd })
  return {
    commit,
    base: base.exitCode === 0 ? base.stdout.toString('utf8').trim() : refs.base,
    snapshotOf: await firstParentOfSnapshot(git, cwd, commit),
  }
}

export function foreignBranch(plan: { repo: string; branch: string }, commit: string): BalletError {
  return new BalletError({
    code: 'branch.foreign',
    message: `${withoutCredentials(plan.repo)} has a branch ${plan.branch} at ${commit.slice(0, 12)} that Ballet did not push.`,
    hint: 'Ballet writes to no branch of others. Rename or delete it on the remote, then try again.',
  })
}

async function makeClone(
  git: Git,
  plan: WorkspacePlan,
  folder: string,
  start: string,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  await initClone(git, plan, folder, signal)
  await git.text(['checkout', '--progress', '--no-track', '-B', plan.branch, start, '--'], {
    cwd: folder,
    signal,
    limitMs: GIT_LIMITS.clone,
    onLine: tellProgress(report),
  })
}

/** A clone in a new folder that borrows the mirror's objects and has its branches and tags; nothing is checked out. */
export async function initClone(
  git: Git,
  { branch, mirrorDir, repo }: WorkspacePlan,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  await git.text(['init', '--quiet', '--template=', `--initial-branch=${branch}`, folder], {
    cwd: join(mirrorDir, '..'),
    signal,
  })
  const gitDir = join(folder, '.git')
  for (const name of ['info', 'hooks']) await mkdir(join(gitDir, name), { recursive: true })
  await mkdir(join(gitDir, 'objects', 'info'), { recursive: true })
  await writeFile(
    join(gitDir, 'objects', 'info', 'alternates'),
    `${join(mirrorDir, 'objects').replaceAll('\\', '/')}\n`,
  )
  await appendFile(
    join(gitDir, 'config'),
    configSection('remote "origin"', [
      ['url', repo],
      ['fetch', '+refs/heads/*:refs/remotes/origin/*'],
    ]) + configSection('gc', [['auto', '0']]),
  )
  // From the mirror, of which it has every object already: the remote is not asked again.
  await git.text(
    [
      ...['fetch', '--quiet', '--no-write-fetch-head', '--no-auto-gc', '--', mirrorDir],
      ...['+refs/heads/*:refs/remotes/origin/*', '+refs/tags/*:refs/tags/*'],
    ],
    { cwd: folder, signal, about: { repo: mirrorDir } },
  )
  await giveIdentity(git, folder)
}

/** Name and address of the author where git knows none. */
export const BALLET_IDENTITY: readonly [string, string] = ['Ballet', 'ballet@localhost']

/** Where git knows no author, Ballet is it, in this clone alone. */
async function giveIdentity(git: Git, folder: string): Promise<void> {
  const known = await git.run(['config', '--get-regexp', '^user\\.(name|email)$'], { cwd: folder })
  const text = known.stdout.toString('utf8')
  const missing: [string, string][] = []
  const [name, email] = BALLET_IDENTITY
  if (!/^user\.name \S/m.test(text)) missing.push(['name', name])
  if (!/^user\.email \S/m.test(text) && !git.env.EMAIL) missing.push(['email', email])
  if (missing.length > 0) {
    await appendFile(join(folder, '.git', 'config'), configSection('user', missing))
  }
}

/** Says what a plain clone does not bring. */
async function tellWhatIsLeft(git: Git, folder: string, report: Report): Promise<void> {
  const modules = await readFile(join(folder, '.gitmodules'), 'utf8').catch(() => '')
  if (modules.trim() !== '') {
    report.notice(
      'info',
      'workspace.submodules',
      'The repository has submodules. Ballet leaves them empty: fetch them in the setup command where the work needs them.',
    )
  }
  const lfs = await git.run(
    ['grep', '--cached', '-l', '-e', 'filter=lfs', '--', ':(glob)**/.gitattributes'],
    { cwd: folder },
  )
  if (lfs.exitCode === 0) {
    report.notice(
      'info',
      'workspace.lfs',
      'The repository keeps files in Git LFS. Ballet leaves them as pointers: run `git lfs pull` in the setup command where the work needs them.',
    )
  }
}
