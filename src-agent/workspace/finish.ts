import { BalletError } from '../../src-shared/refusal.ts'
import { someOf } from '../../src-shared/some-of.ts'
import { GIT_LIMITS, type Git } from '../git/run.ts'
import { unlockedText } from '../git/stale-locks.ts'
import { leftovers } from './leftovers.ts'
import { tellLocalPrograms } from './local-programs.ts'
import { pushCommit } from './push.ts'
import { readRecord, type WorkspaceRecord } from './record.ts'
import type { Report, WorkspacePlan } from './report.ts'
import { looksSecret } from './set-aside.ts'
import { commitOf, isAncestor, mustBeWhole, operationUnderWay, readHead } from './state.ts'

const KEPT = 'The workspace is kept.'

/**
 * Commits what is uncommitted and pushes everything to the session's branch. Gives the pushed commit, or null when
 * there is nothing that the remote does not have. Nothing may be writing to the workspace any more. Rejects with
 * `BalletError` when something could not be kept by it; nothing is removed here.
 */
export async function commitAndPush(
  git: Git,
  plan: WorkspacePlan,
  message: string,
  report: Report,
  signal: AbortSignal,
): Promise<string | null> {
  const { head, record } = await commitWork(git, plan, message, report, signal)
  const isPushedBefore = record.pushed.length > 0 || plan.pushedCommit !== null
  if (!isPushedBefore && !(await isAhead(git, plan, record))) {
    report.notice(
      'info',
      'finish.nothing',
      `There was nothing to push: every commit is already in ${plan.baseBranch}.`,
    )
    return null
  }
  await pushCommit(git, plan, { commit: head, snapshot: false }, signal)
  return head
}

/** Commits what is uncommitted, and gives the commit that a finish pushes. Rejects as `commitAndPush` does. */
export async function commitWork(
  git: Git,
  plan: WorkspacePlan,
  message: string,
  report: Report,
  signal: AbortSignal,
): Promise<{ head: string; record: WorkspaceRecord }> {
  const { workspaceDir: cwd } = plan
  await mustBeWhole(cwd)
  const record = await readRecord(cwd)
  if (record === null) throw notOurs(cwd)
  await tellLocalPrograms(git, cwd, report)
  const underWay = await operationUnderWay(git, cwd)
  if (underWay !== null) {
    throw new BalletError({
      code: 'workspace.operation-under-way',
      message: `git is in the middle of ${underWay} in ${cwd}.`,
      hint: `Have the agent complete or abort it, then finish again. ${KEPT}`,
    })
  }
  await mustStandOnOwnWork(git, plan, record, report)
  const lost = await leftovers(git, cwd, {
    commits: ['HEAD'],
    tracked: true,
    repo: plan.repo,
    dataDir: plan.dataDir,
  })
  if (lost.length > 0) throw wouldBeLost(plan, lost)
  await commitAll(git, cwd, { message, report }, signal)
  const head = (await readHead(git, cwd)).commit
  if (head === null) throw notOurs(cwd)
  return { head, record }
}

/** HEAD may be detached or on another branch, if it goes on from the session's branch. */
async function mustStandOnOwnWork(
  git: Git,
  { workspaceDir: cwd, branch }: WorkspacePlan,
  record: WorkspaceRecord,
  report: Report,
): Promise<void> {
  const head = await readHead(git, cwd)
  if (head.commit !== null && head.branch === branch) return
  const anchor = (await commitOf(git, cwd, `refs/heads/${branch}`)) ?? record.base
  const where = head.branch === null ? 'a detached HEAD' : `the branch ${head.branch}`
  if (head.commit !== null && (await isAncestor(git, cwd, anchor, head.commit))) {
    report.notice('info', 'finish.head-elsewhere', `The commits of ${where} go to ${branch}.`)
    return
  }
  throw new BalletError({
    code: 'workspace.head-elsewhere',
    message: `The workspace stands on ${where}, which does not hold the work of ${branch}.`,
    hint: `Have the agent check out ${branch} and bring the work there, then finish again. ${KEPT}`,
  })
}

async function commitAll(
  git: Git,
  cwd: string,
  { message, report }: { message: string; report: Report },
  signal: AbortSignal,
): Promise<void> {
  const limits = { cwd, signal, limitMs: GIT_LIMITS.transfer }
  await unlockedText(git, ['add', '--all', '--', '.'], limits)
  const staged = await git.run(['diff', '--cached', '--quiet'], limits)
  if (staged.exitCode === 0) return
  await tellSecrets(git, cwd, report, signal)
  await unlockedText(
    git,
    [
      ...['commit', '--quiet', '--no-verify', '--no-gpg-sign', '--cleanup=whitespace'],
      ...['--allow-empty-message', '--file=-'],
    ],
    { ...limits, input: message },
  )
}

/** What the finish itself adds to the branch; what the agent committed is the agent's. */
async function tellSecrets(
  git: Git,
  cwd: string,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const args = ['diff', '--cached', '--name-only', '-z', '--diff-filter=A', '--no-renames']
  const { stdout } = await git.run(args, { cwd, signal })
  const names = stdout.toString('latin1').split('\0').filter(looksSecret)
  if (names.length === 0) return
  const shown = someOf(names.map((name) => Buffer.from(name, 'latin1').toString('utf8')))
  const text = `The commit of this finish holds files that look like secrets, and they go to the remote: ${shown}. Where they should not be there, remove them from the branch and replace the secrets.`
  report.notice('warning', 'finish.secrets', text)
}

async function isAhead(
  git: Git,
  { workspaceDir: cwd, baseBranch }: WorkspacePlan,
  record: WorkspaceRecord,
): Promise<boolean> {
  const known = await commitOf(git, cwd, `refs/remotes/origin/${baseBranch}`)
  const onRemote = [record.base, ...(known === null ? [] : [known])]
  const args = ['rev-list', '--max-count=1', 'HEAD', '--not', ...onRemote, '--']
  return (await git.text(args, { cwd })) !== ''
}

function notOurs(cwd: string): BalletError {
  return new BalletError({
    code: 'workspace.broken',
    message: `${cwd} is not the workspace of this session any more.`,
    hint: 'Ballet leaves it as it is. Take out of it what you need, move it away, then try again.',
  })
}

function wouldBeLost({ branch }: WorkspacePlan, lost: readonly string[]): BalletError {
  return new BalletError({
    code: 'workspace.not-pushed',
    message: `A push of ${branch} does not carry everything: ${lost.join(', ')}.`,
    hint: `Have the agent bring it into the branch, push it, ignore it or delete it, then finish again. ${KEPT}`,
  })
}
