import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Probe, ProbeFinding } from '../../src-shared/agent-wire.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { withoutCredentials } from '../git/redact.ts'
import { type Git, gitFailure } from '../git/run.ts'
import { updateRefs } from '../parking/local-refs.ts'
import { withRefusals } from '../workspace/failure.ts'
import { kindOf } from '../workspace/folders.ts'
import { refreshMirror } from '../workspace/mirror.ts'
import { remoteTip } from '../workspace/push.ts'

type Plan = Omit<Extract<Probe, { kind: 'branch.remove' }>, 'kind' | 'env' | 'marker'>
type Found = Extract<ProbeFinding, { kind: 'branch.remove' }>

/**
 * Removes a branch of Ballet's from a remote, while it is where it was looked at. Rejects with `branch.foreign` for
 * any other, `branch.only-copy` when it holds commits that no other branch of the remote has, and `remote.…`.
 */
export function removeBranch(git: Git, plan: Plan, signal: AbortSignal): Promise<Found> {
  return withRefusals(`removing ${plan.branch} from its remote`, () => remove(git, plan, signal))
}

async function remove(git: Git, plan: Plan, signal: AbortSignal): Promise<Found> {
  const { repo, branch, mirrorDir, look, force } = plan
  if (!branch.startsWith('ballet/')) throw notBallets(branch)
  await mkdir(dirname(mirrorDir), { recursive: true })
  const commit = await remoteTip(git, dirname(mirrorDir), plan, signal)
  if (commit !== null && !force) await mustBeElsewhere(git, plan, commit, signal)
  if (look) return { kind: 'branch.remove', commit }
  if (commit !== null) {
    // git pushes out of a repository only, also where it pushes nothing.
    if ((await kindOf(mirrorDir)) !== 'folder') await refresh(git, plan, signal)
    const ref = `refs/heads/${branch}`
    const args = ['push', '--quiet', '--no-verify', `--force-with-lease=${ref}:${commit}`]
    const full = [...args, '--', repo, `:${ref}`]
    const result = await git.run(full, {
      cwd: mirrorDir,
      signal,
      about: { repo, branch },
    })
    if (result.exitCode !== 0) throw gitFailure(full, result, { repo, branch })
  }
  if ((await kindOf(mirrorDir)) === 'folder') {
    const refs = [`refs/ballet/parked/${branch}`, `refs/heads/${branch}`]
    await updateRefs(
      git,
      mirrorDir,
      refs.map((name) => `delete ${name}`),
    )
  }
  return { kind: 'branch.remove', commit }
}

async function mustBeElsewhere(
  git: Git,
  plan: Plan,
  commit: string,
  signal: AbortSignal,
): Promise<void> {
  const { repo, branch, mirrorDir } = plan
  await refresh(git, plan, signal)
  const args = ['for-each-ref', '--format=%(refname)', `--contains=${commit}`, 'refs/heads']
  const holders = (await git.text(args, { cwd: mirrorDir })).split('\n')
  if (holders.some((name) => name !== '' && name !== `refs/heads/${branch}`)) return
  throw new BalletError({
    code: 'branch.only-copy',
    message: `${branch} on ${withoutCredentials(repo)} holds work that no other branch there has.`,
    hint: `Merge it first, leave the branch there, or type its name to remove the work too: --remote-branch --force-branch ${branch}`,
  })
}

async function refresh(git: Git, plan: Plan, signal: AbortSignal): Promise<void> {
  const { repo, branch, mirrorDir } = plan
  const silent = { step: () => undefined, notice: () => undefined }
  const heads = await git.text(['ls-remote', '--symref', '--', repo, 'HEAD'], {
    ...{ cwd: dirname(mirrorDir), signal, about: { repo } },
  })
  const base = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(heads)?.[1] ?? 'main'
  const mirror = {
    ...{ dataDir: dirname(mirrorDir), session: branch, ticket: branch, repo, branch },
    ...{ baseBranch: base, pushedCommit: null, mirrorDir, workspaceDir: mirrorDir },
  }
  await refreshMirror(git, mirror, silent, signal)
}

function notBallets(branch: string): BalletError {
  return new BalletError({
    code: 'branch.foreign',
    message: `${branch} is no branch of Ballet: only branches that begin with ballet/ are removed.`,
    hint: 'Remove it by hand where that is wanted.',
  })
}
