import { BalletError } from '../../src-shared/refusal.ts'
import type { Git } from '../git/run.ts'
import { guardWorkspace, kindOf, removeWorkspace } from './folders.ts'
import { leftovers } from './leftovers.ts'
import { readRecord } from './record.ts'
import { snapshotTree } from './snapshot.ts'
import { readHead } from './state.ts'

export type RemovalPlan = { dataDir: string; workspaceDir: string; repo: string; branch: string }

/**
 * Removes a workspace in which everything is on the remote. False when there was none. Rejects with
 * `workspace.not-pushed` when something in it is nowhere else, and with `workspace.outside`; `force` skips the first.
 */
export async function removeIfPushed(
  git: Git,
  plan: RemovalPlan,
  force: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  await guardWorkspace(plan.dataDir, plan.workspaceDir)
  const isThere = (await kindOf(plan.workspaceDir)) !== 'nothing'
  if (isThere && !force) {
    const lost = await unpushed(git, plan, signal)
    if (lost.length > 0) {
      throw new BalletError({
        code: 'workspace.not-pushed',
        message: `${plan.workspaceDir} holds what is not on the remote: ${lost.join(', ')}.`,
        hint: 'Finish the session, or push it by hand; or ask for the removal of the work itself.',
      })
    }
  }
  // With it goes what is left of an attempt to make it, also where that came to nothing.
  await removeWorkspace(plan.dataDir, plan.workspaceDir)
  return isThere
}

async function unpushed(git: Git, plan: RemovalPlan, signal: AbortSignal): Promise<string[]> {
  const { workspaceDir: cwd, dataDir, repo, branch } = plan
  if ((await readRecord(cwd)) === null) return ['a folder that is no whole workspace any more']
  // No setting of the workspace says what the address stands for.
  const listed = await git.text(['ls-remote', '--heads', '--', repo], {
    cwd: dataDir,
    signal,
    about: { repo },
  })
  const heads = listed
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t') as [string, string?])
  // Only what the remote says now counts, not what the clone remembers of it.
  const known = await selectKnown(
    git,
    cwd,
    heads.map(([commit]) => commit),
  )
  const lost = await leftovers(git, cwd, { commits: known, tracked: false, repo, dataDir })
  const { tree, left, unreadable } = await snapshotTree(git, cwd, signal)
  const tip = heads.find(([, ref]) => ref === `refs/heads/${branch}`)?.[0]
  const head = (await readHead(git, cwd)).commit
  const isCommitted = (await treeOf(git, cwd, head)) === tree
  const isSnapshot = (await treeOf(git, cwd, tip ?? null)) === tree
  if (!(isCommitted || isSnapshot) || left.length > 0 || unreadable !== '') {
    lost.push('uncommitted files')
  }
  return lost
}

/** Those of the commits that this clone has. */
async function selectKnown(git: Git, cwd: string, commits: readonly string[]): Promise<string[]> {
  if (commits.length === 0) return []
  const listed = await git.text(['cat-file', '--batch-check'], {
    cwd,
    input: `${commits.join('\n')}\n`,
  })
  return listed.split('\n').flatMap((line) => {
    const [commit, type] = line.split(' ')
    return commit !== undefined && type === 'commit' ? [commit] : []
  })
}

async function treeOf(git: Git, cwd: string, commit: string | null): Promise<string | null> {
  if (commit === null) return null
  const answer = await git.run(['rev-parse', '--verify', '--quiet', `${commit}^{tree}`], { cwd })
  return answer.exitCode === 0 ? answer.stdout.toString('utf8').trim() : null
}
