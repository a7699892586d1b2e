import type { Git } from '../git/run.ts'
import { gitFailure } from '../git/run.ts'
import type { WorkspacePlan } from '../workspace/report.ts'

/**
 * Leaves a pushed commit in the project's mirror too, from which nothing vanishes: on this machine the work comes back
 * without the remote, and also when somebody deleted its branch there.
 */
export async function copyIntoMirror(
  git: Git,
  { workspaceDir: cwd, mirrorDir, branch }: WorkspacePlan,
  commit: string,
  signal: AbortSignal,
): Promise<void> {
  const ref = `refs/ballet/parked/${branch}`
  const args = [
    ...['push', '--quiet', '--no-verify', '--force', '--receive-pack=git-receive-pack'],
    ...['--', mirrorDir, `${commit}:${ref}`],
  ]
  const result = await git.run(args, { cwd, signal })
  if (result.exitCode !== 0) throw gitFailure(args, result)
}
