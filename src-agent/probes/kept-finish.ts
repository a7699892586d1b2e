import { mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Probe, ProbeFinding } from '../../src-shared/agent-wire.ts'
import type { Git } from '../git/run.ts'
import { withPushed, workOf } from '../parking/kept-work.ts'
import { restoreWorkspace } from '../parking/restore.ts'
import { commitAndPush } from '../workspace/finish.ts'
import { removeTree, WORKSPACES_FOLDER } from '../workspace/folders.ts'
import type { Report } from '../workspace/report.ts'

type Found = Extract<ProbeFinding, { kind: 'park.finish' }>

/** Where the branch was moved meanwhile, the push that follows tells what to do. */
const silent: Report = { step: () => undefined, notice: () => undefined }

/**
 * Commits and pushes the work of a parked session out of what is kept of it, without its runtime, in a folder of its own:
 * the session's workspace is what it was, whatever comes of it. It may be done again. Rejects with `BalletError` as a
 * resume and a finish do.
 */
export async function finishKeptWork(
  git: Git,
  dataDir: string,
  probe: Extract<Probe, { kind: Found['kind'] }>,
  signal: AbortSignal,
): Promise<Found> {
  const { kind, message, work: kept, key, keptDir, env: _, marker, behind, ...plan } = probe
  const since = behind === true ? plan.pushedCommit : null
  const work = since === null ? kept : withPushed(kept, since)
  const notices: Found['notices'] = []
  const parked = await workOf(work, { key, keptDir, ticket: plan.ticket })
  if (parked === null) return { kind, commit: null, notices }
  // What an earlier try left in it is nobody's: its git has ended.
  const folder = join(dataDir, 'scratch', `finish-${marker.nonce}`)
  await removeTree(folder)
  await mkdir(folder, { recursive: true })
  const own = {
    ...{ ...plan, dataDir: folder },
    workspaceDir: join(folder, WORKSPACES_FOLDER, basename(plan.workspaceDir)),
  }
  const report: Report = {
    step: () => undefined,
    notice: (level, code, text) => notices.push({ level, code, text }),
  }
  try {
    await restoreWorkspace(git, own, parked, silent, signal)
    const commit = await commitAndPush(git, own, message, report, signal)
    return { kind, commit, notices }
  } finally {
    await removeTree(folder)
  }
}
