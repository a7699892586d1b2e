import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Probe, ProbeFinding } from '../../src-shared/agent-wire.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import type { Git } from '../git/run.ts'
import { workOf } from '../parking/kept-work.ts'
import { bringCommit } from '../parking/restore.ts'
import { initClone } from '../workspace/clone.ts'
import { withRefusals } from '../workspace/failure.ts'
import { removeTree } from '../workspace/folders.ts'
import { refreshMirror } from '../workspace/mirror.ts'
import { pushCommit } from '../workspace/push.ts'
import { writeRecord } from '../workspace/record.ts'
import type { Report, WorkspacePlan } from '../workspace/report.ts'

type Found = Extract<ProbeFinding, { kind: 'park.push' }>

const silent: Report = { step: () => undefined, notice: () => undefined }

/**
 * Pushes a parked session's commit, out of the project's mirror and the kept bundle, by the rules of every push:
 * only Ballet's own commits are replaced. It may be done again. Rejects with `BalletError` such as `remote.…`,
 * `push.rejected`, `snapshot.gone`, `state.…`.
 */
export function pushKeptWork(
  git: Git,
  dataDir: string,
  probe: Extract<Probe, { kind: 'park.push' }>,
  signal: AbortSignal,
): Promise<Found> {
  return withRefusals('pushing parked work', () => push(git, dataDir, probe, signal))
}

async function push(
  git: Git,
  dataDir: string,
  probe: Extract<Probe, { kind: 'park.push' }>,
  signal: AbortSignal,
): Promise<Found> {
  const { kind, repo, baseBranch, branch, pushedCommit, mirrorDir, work } = probe
  // Nothing else that is kept of it matters here, whole or not.
  const files = work.files.filter(({ kind: each }) => each === 'bundle')
  const parked = await workOf({ ...work, files }, probe)
  if (parked === null || parked.commit === null) throw nothingToPush(branch)
  const { commit, base, pushed } = parked
  // A clone of its own: the commits of a session do not stay in the mirror.
  const folder = join(dataDir, 'scratch', `push-${probe.marker.nonce}`)
  const plan: WorkspacePlan = {
    ...{ dataDir, repo, baseBranch, branch, pushedCommit, mirrorDir, workspaceDir: folder },
    ...{ session: branch, ticket: branch },
  }
  await refreshMirror(git, plan, silent, signal)
  await mkdir(join(dataDir, 'scratch'), { recursive: true })
  // What an earlier try left in it is nobody's: its git has ended.
  await removeTree(folder)
  try {
    await initClone(git, plan, folder, signal)
    await bringCommit(git, plan, parked, { folder, commit }, signal)
    await writeRecord(folder, {
      ...{ session: branch, branch, base, setup: 'done' },
      pushed: [...pushed],
    })
    // As a snapshot: the session's next push replaces what it parked.
    await pushCommit(git, plan, { commit, snapshot: true }, signal)
    return { kind, commit }
  } finally {
    await removeTree(folder)
  }
}

function nothingToPush(branch: string): BalletError {
  return new BalletError({
    code: 'push.nothing',
    message: `Nothing is kept that could be pushed to ${branch}.`,
    hint: 'The session had no commit and no workspace when it was parked.',
  })
}
