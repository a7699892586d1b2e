import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import { withoutCredentials } from '../git/redact.ts'
import { type Git, type GitOptions, gitFailure } from '../git/run.ts'
import { unlockedText } from '../git/stale-locks.ts'
import { foreignBranch } from './clone.ts'
import { type PushedCommit, readRecord, withPushed, writeRecord } from './record.ts'
import type { WorkspacePlan } from './report.ts'
import { isAncestor } from './state.ts'

/** The commit that a branch of the remote stands at now; null when it has no such branch. */
export async function remoteTip(
  git: Git,
  cwd: string,
  { repo, branch }: { repo: string; branch: string },
  signal?: AbortSignal,
): Promise<string | null> {
  const ref = `refs/heads/${branch}`
  const listed = await git.text(['ls-remote', '--', repo, ref], {
    cwd,
    about: { repo, branch },
    ...(signal === undefined ? {} : { signal }),
  })
  // The pattern also matches a ref that ends the same way.
  const line = listed.split('\n').find((candidate) => candidate.endsWith(`\t${ref}`))
  return line?.split('\t')[0] ?? null
}

/**
 * Writes `commit` to the session's branch on the remote, and makes sure that it is there. Only what Ballet wrote
 * itself, or what this very workspace made, is ever replaced or moved on. Rejects with `push.rejected`,
 * `branch.foreign`, `remote.…`.
 */
export async function pushCommit(
  git: Git,
  plan: WorkspacePlan,
  pushed: PushedCommit,
  signal: AbortSignal,
): Promise<void> {
  const { workspaceDir: cwd, branch } = plan
  const record = await readRecord(cwd)
  if (record === null) throw missingRecord(cwd)
  // Written down first: a push whose outcome nobody saw is recognised as Ballet's own.
  await writeRecord(cwd, withPushed(record, pushed))
  const earlier = [
    ...record.pushed,
    ...(plan.pushedCommit === null ? [] : [{ commit: plan.pushedCommit, snapshot: false }]),
  ]
  await pushLargeFiles(git, plan, pushed.commit, signal)
  const known = record.pushed.at(-1) ?? earlier.at(-1) ?? null
  const isFirstTryWise = known === null || (await mayFollow(git, plan, known, pushed.commit))
  const first = isFirstTryWise
    ? await tryPush(git, plan, pushed.commit, known?.commit ?? null, signal)
    : 'moved'
  if (first instanceof BalletError) throw first
  if (first === 'moved') {
    const tip = await remoteTip(git, plan.mirrorDir, plan, signal)
    if (tip !== pushed.commit) {
      await mustGiveWay(git, plan, { tip, earlier, record, commit: pushed.commit })
      const second = await tryPush(git, plan, pushed.commit, tip, signal)
      if (second === 'moved') throw movedBranch(plan)
      if (second !== 'done') throw second
    }
  }
  const tip = await remoteTip(git, plan.mirrorDir, plan, signal)
  if (tip !== pushed.commit) throw notArrived(plan, pushed.commit, tip)
  await git.run(['update-ref', `refs/remotes/origin/${branch}`, pushed.commit], { cwd })
}

type Found = {
  tip: string | null
  earlier: readonly PushedCommit[]
  record: { base: string }
  commit: string
}

/** Rejects unless what is on the remote may give way to the new commit. */
async function mustGiveWay(git: Git, plan: WorkspacePlan, found: Found): Promise<void> {
  const { tip, earlier, record, commit } = found
  if (tip === null) return
  const cwd = plan.workspaceDir
  const own = earlier.find((candidate) => candidate.commit === tip)
  if (own !== undefined) {
    if (await mayFollow(git, plan, own, commit)) return
    throw new BalletError({
      code: 'push.rejected',
      message: `The new commits do not hold what was pushed to ${plan.branch} before (${tip.slice(0, 12)}).`,
      hint: 'The history was rewritten. Have the agent put its work on top of what is on the remote, then try again. The workspace is kept.',
    })
  }
  // The agent may push by itself: its commits are in the new one, and none of them is older than its work.
  const isContained = await isAncestor(git, cwd, tip, commit)
  if (isContained && !(await isAncestor(git, cwd, tip, record.base))) return
  throw earlier.length === 0 ? foreignBranch(plan, tip) : movedBranch(plan)
}

/** A snapshot is replaced; what was pushed as finished work only grows. */
async function mayFollow(
  git: Git,
  { workspaceDir: cwd }: WorkspacePlan,
  earlier: PushedCommit,
  commit: string,
): Promise<boolean> {
  return earlier.snapshot || (await isAncestor(git, cwd, earlier.commit, commit))
}

function movedBranch({ repo, branch }: WorkspacePlan): BalletError {
  return new BalletError({
    code: 'push.rejected',
    message: `The branch ${branch} of ${withoutCredentials(repo)} was moved by somebody else, so nothing was written to it.`,
    hint: 'Look at the branch on the remote; have the agent merge it, or delete it there, then try again. The workspace is kept.',
  })
}

/**
 * The project's mirror with the objects of the workspace: what an agent wrote into the workspace's settings says nothing
 * of where a push goes, through whom, and with which programs.
 */
async function mirrorWithWork({
  mirrorDir,
  workspaceDir,
}: WorkspacePlan): Promise<Pick<GitOptions, 'cwd' | 'env'>> {
  const gitDir = join(workspaceDir, '.git')
  // A list, in which a name may be quoted.
  const objects = join(gitDir, 'objects').replace(/["\\]/g, '\\$&')
  const shallow = join(gitDir, 'shallow')
  const env = { GIT_ALTERNATE_OBJECT_DIRECTORIES: `"${objects}"` }
  return {
    cwd: mirrorDir,
    env: (await isThere(shallow)) ? { ...env, GIT_SHALLOW_FILE: shallow } : env,
  }
}

/** Pushes while the branch is where it is expected (null: not there at all). */
async function tryPush(
  git: Git,
  plan: WorkspacePlan,
  commit: string,
  expected: string | null,
  signal: AbortSignal,
): Promise<'done' | 'moved' | BalletError> {
  const { repo, branch } = plan
  const ref = `refs/heads/${branch}`
  const args = [
    ...['push', '--porcelain', '--no-verify', '--no-follow-tags', '--recurse-submodules=no'],
    ...[`--force-with-lease=${ref}:${expected ?? ''}`, '--', repo, `${commit}:${ref}`],
  ]
  const place = await mirrorWithWork(plan)
  const result = await git.run(args, { ...place, signal, about: { repo, branch } })
  if (result.exitCode === 0) return 'done'
  const isMoved = /^!.*\[rejected\]/m.test(result.stdout.toString('utf8'))
  return isMoved ? 'moved' : gitFailure(args, result, { repo, branch })
}

/** With hooks off git-lfs does not upload by itself what new commits point to. */
async function pushLargeFiles(
  git: Git,
  { workspaceDir: cwd, repo }: WorkspacePlan,
  commit: string,
  signal: AbortSignal,
): Promise<void> {
  if (!(await isThere(join(cwd, '.git', 'lfs', 'objects')))) return
  // They go where the commit goes, whatever the workspace calls origin by now.
  const env = {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'remote.origin.pushurl',
    GIT_CONFIG_VALUE_0: repo,
  }
  const options = { cwd, env, signal, about: { repo } }
  await unlockedText(git, ['lfs', 'push', 'origin', commit], options)
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function missingRecord(cwd: string): BalletError {
  return new BalletError({
    code: 'workspace.broken',
    message: `${cwd} is not the workspace of this session any more, so nothing is pushed from it.`,
    hint: 'Ballet leaves it as it is. Take out of it what you need, move it away, then try again.',
  })
}

function notArrived(plan: WorkspacePlan, commit: string, tip: string | null): BalletError {
  const where = tip === null ? 'is not there' : `stands at ${tip.slice(0, 12)}`
  return new BalletError({
    code: 'push.rejected',
    message: `git pushed ${commit.slice(0, 12)}, but the branch ${plan.branch} of ${withoutCredentials(plan.repo)} ${where}.`,
    hint: 'Something on the remote moved it. Look at the branch there, then try again. The workspace is kept.',
  })
}
