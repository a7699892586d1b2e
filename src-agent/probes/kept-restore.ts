import type { Probe, ProbeFinding } from '../../src-shared/agent-wire.ts'
import type { Git } from '../git/run.ts'
import { workOf } from '../parking/kept-work.ts'
import { restoreWorkspace } from '../parking/restore.ts'
import type { Report } from '../workspace/report.ts'

type Found = Extract<ProbeFinding, { kind: 'workspace.restore' }>

/** Where the branch was moved meanwhile, the push that follows tells what to do. */
const silent: Report = { step: () => undefined, notice: () => undefined }

/**
 * Brings the workspace of a parked session back from what is kept of it, without its runtime; one that is there stays
 * as it is. It may be done again. Rejects with `BalletError` as a resume does.
 */
export async function restoreKeptWork(
  git: Git,
  dataDir: string,
  {
    kind,
    work,
    key,
    keptDir,
    env: _,
    marker: __,
    ...plan
  }: Extract<Probe, { kind: Found['kind'] }>,
  signal: AbortSignal,
): Promise<Found> {
  const parked = await workOf(work, { key, keptDir })
  if (parked === null) return { kind, restored: false }
  await restoreWorkspace(git, { ...plan, dataDir }, parked, silent, signal)
  return { kind, restored: true }
}
