import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import { type Git, gitFailure } from '../git/run.ts'

/** Where HEAD stands. */
export type Head = {
  /** Null: no commit yet (an orphan branch). */
  commit: string | null
  /** The branch that is checked out, without `refs/heads/`; null when detached. */
  branch: string | null
}

export async function readHead(git: Git, cwd: string): Promise<Head> {
  const [commit, branch] = await Promise.all([
    commitOf(git, cwd, 'HEAD'),
    git.run(['symbolic-ref', '--quiet', '--short', 'HEAD'], { cwd }),
  ])
  return {
    commit,
    branch: branch.exitCode === 0 ? branch.stdout.toString('utf8').trim() : null,
  }
}

/** The commit that a name stands for; null when there is none. */
export async function commitOf(git: Git, cwd: string, name: string): Promise<string | null> {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]
  const answer = await git.run(args, { cwd })
  return answer.exitCode === 0 ? answer.stdout.toString('utf8').trim() : null
}

export async function isAncestor(
  git: Git,
  cwd: string,
  ancestor: string,
  commit: string,
): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', ancestor, commit]
  // 128: the ancestor is not here, so nothing here was made on it.
  return (await git.run(args, { cwd })).exitCode === 0
}

const UNDER_WAY = [
  ['MERGE_HEAD', 'a merge'],
  ['rebase-merge', 'a rebase'],
  ['rebase-apply', 'a rebase'],
  ['CHERRY_PICK_HEAD', 'a cherry-pick'],
  ['REVERT_HEAD', 'a revert'],
] as const

/** What git is in the middle of, in words; null when nothing. */
export async function operationUnderWay(git: Git, cwd: string): Promise<string | null> {
  for (const [file, name] of UNDER_WAY) {
    const isThere = await access(join(cwd, '.git', file)).then(
      () => true,
      () => false,
    )
    if (isThere) return name
  }
  const unmerged = await readList(git, cwd, ['ls-files', '-z', '--unmerged'])
  return unmerged.length > 0 ? 'a merge with conflicts' : null
}

/** The entries of output that ends each with a zero byte. */
export async function readList(
  git: Git,
  cwd: string,
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<string[]> {
  const result = await git.run(args, { cwd, ...(env === undefined ? {} : { env }) })
  if (result.exitCode !== 0) throw gitFailure(args, result)
  return result.stdout.toString('utf8').split('\0').filter(Boolean)
}

export async function mustBeWhole(cwd: string): Promise<void> {
  await access(join(cwd, '.git', 'HEAD')).catch((cause: unknown) => {
    throw new BalletError(
      {
        code: 'workspace.broken',
        message: `${cwd} is no git repository any more.`,
        hint: 'Ballet leaves it as it is. Take out of it what you need; a new session begins from the branch.',
      },
      { cause },
    )
  })
}
