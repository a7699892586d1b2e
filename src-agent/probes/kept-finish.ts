import { mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Probe, ProbeFinding } from '../../src-shared/agent-wire.ts'
import type { KeptFile } from '../../src-shared/parking.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import type { Git } from '../git/run.ts'
import { KeepFiles, removeOtherFiles } from '../parking/keep-files.ts'
import { keyOf, withPushed, withReplacement, workOf } from '../parking/kept-work.ts'
import { bundleMissing } from '../parking/push.ts'
import { type ParkedWork, restoreWorkspace } from '../parking/restore.ts'
import { commitAndPush, commitWork } from '../workspace/finish.ts'
import { removeTree, WORKSPACES_FOLDER } from '../workspace/folders.ts'
import type { Report, WorkspacePlan } from '../workspace/report.ts'

type ProbeOf<Kind extends Probe['kind']> = Extract<Probe, { kind: Kind }>
type FindingOf<Kind extends Probe['kind']> = Extract<ProbeFinding, { kind: Kind }>

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
  probe: ProbeOf<'park.finish'>,
  signal: AbortSignal,
): Promise<FindingOf<'park.finish'>> {
  const { kind, message } = probe
  const notices: FindingOf<'park.finish'>['notices'] = []
  const parked = await workOf(workSince(probe), probe)
  if (parked === null) return { kind, commit: null, notices }
  const report: Report = {
    step: () => undefined,
    notice: (level, code, text) => notices.push({ level, code, text }),
  }
  return inFolderOfItsOwn(git, dataDir, { probe, parked }, signal, async (own) => {
    const commit = await commitAndPush(git, own, message, report, signal)
    return { kind, commit, notices }
  })
}

/**
 * Makes the commit that a finish pushes, and where that takes the place of the parked one on the remote, keeps the
 * parked one here. Nothing is pushed. It may be done again. Rejects with `BalletError` as a finish does.
 */
export async function keepReplaced(
  git: Git,
  dataDir: string,
  probe: ProbeOf<'park.keep'>,
  signal: AbortSignal,
): Promise<FindingOf<'park.keep'>> {
  const { kind, message } = probe
  const work = workSince(probe)
  const parked = await workOf(work, probe)
  const { snapshot } = work
  if (parked === null || snapshot === null) return { kind, replaced: null }
  return inFolderOfItsOwn(git, dataDir, { probe, parked }, signal, async (own) => {
    const { head } = await commitWork(git, own, message, silent, signal)
    if (head === parked.commit) return { kind, replaced: null }
    const bundle = await bundleOf(git, own, { probe, parked }, signal)
    const others = work.files.filter((file) => bundle === null || file.kind !== 'bundle')
    const replaced = {
      ...{ ...work, files: bundle === null ? others : [...others, bundle] },
      snapshot: withReplacement(snapshot, parked.pushed, head),
      ...{ pushed: false, notPushed: work.notPushed ?? MAYBE_REPLACED },
    }
    return { kind, replaced }
  })
}

const MAYBE_REPLACED: Refusal = {
  code: 'finish.replaces',
  message: 'A finish that was not completed may have replaced it on the remote.',
  hint: 'All of it is kept here, and pushed again.',
}

/** What was kept, or what was pushed since. */
function workSince({ work, behind, pushedCommit }: ProbeOf<'park.keep' | 'park.finish'>) {
  return behind === true && pushedCommit !== null ? withPushed(work, pushedCommit) : work
}

/** Of the commit that is replaced; null where another kept file has it, or the remote besides the branch. */
async function bundleOf(
  git: Git,
  own: WorkspacePlan,
  { probe, parked }: { probe: ProbeOf<'park.keep'>; parked: ParkedWork },
  signal: AbortSignal,
): Promise<KeptFile | null> {
  const { commit, archive, pushBundle, isBehind } = parked
  // What was kept before the last push does not hold it.
  const isKept = !isBehind && (archive !== null || pushBundle !== null)
  if (commit === null || isKept) return null
  const key = keyOf(probe)
  const files = new KeepFiles(probe.keptDir, key, [])
  await files.begin()
  try {
    // What an earlier try kept, and nobody heard of.
    await removeOtherFiles(
      probe.keptDir,
      probe.keep.map((name) => ({ name })),
    )
    const target = { folder: files.staging, key }
    await files.add('bundle', await bundleMissing(git, own, commit, target, signal))
  } finally {
    await files.end()
  }
  return files.files[0] ?? null
}

/** Restores the work there, and leaves nothing of it. */
async function inFolderOfItsOwn<T>(
  git: Git,
  dataDir: string,
  { probe, parked }: { probe: ProbeOf<'park.keep' | 'park.finish'>; parked: ParkedWork },
  signal: AbortSignal,
  work: (own: WorkspacePlan) => Promise<T>,
): Promise<T> {
  const { session, ticket, repo, baseBranch, branch, pushedCommit, mirrorDir, marker } = probe
  const folder = join(dataDir, 'scratch', `finish-${marker.nonce}`)
  const own: WorkspacePlan = {
    ...{ session, ticket, repo, baseBranch, branch, pushedCommit, mirrorDir, dataDir: folder },
    workspaceDir: join(folder, WORKSPACES_FOLDER, basename(probe.workspaceDir)),
  }
  // What an earlier try left in it is nobody's: its git has ended.
  await removeTree(folder)
  await mkdir(folder, { recursive: true })
  try {
    await restoreWorkspace(git, own, parked, silent, signal)
    return await work(own)
  } finally {
    await removeTree(folder)
  }
}
