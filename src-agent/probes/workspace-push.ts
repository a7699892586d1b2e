import type { Probe, ProbeFinding } from '../../src-shared/agent-wire.ts'
import type { Git } from '../git/run.ts'
import { commitAndPush } from '../workspace/finish.ts'
import { guardWorkspace, kindOf } from '../workspace/folders.ts'
import type { Report } from '../workspace/report.ts'

type Found = Extract<ProbeFinding, { kind: 'workspace.push' }>

/**
 * Commits and pushes what is in the workspace of a session that no agent holds; one that is gone has nothing to push.
 * It may be done again. Rejects with `BalletError` as a finish does.
 */
export async function pushWorkspace(
  git: Git,
  dataDir: string,
  { kind, message, env: _, marker: __, ...plan }: Extract<Probe, { kind: 'workspace.push' }>,
  signal: AbortSignal,
): Promise<Found> {
  const notices: Found['notices'] = []
  const report: Report = {
    step: () => undefined,
    notice: (level, code, text) => notices.push({ level, code, text }),
  }
  await guardWorkspace(dataDir, plan.workspaceDir)
  if ((await kindOf(plan.workspaceDir)) === 'nothing')
    return { kind, commit: null, notices, gone: true }
  const commit = await commitAndPush(git, { ...plan, dataDir }, message, report, signal)
  return { kind, commit, notices }
}
