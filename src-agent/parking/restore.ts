import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import { withoutCredentials } from '../git/redact.ts'
import type { Git } from '../git/run.ts'
import { initClone, keptRecord } from '../workspace/clone.ts'
import { refusalOf, withRefusals } from '../workspace/failure.ts'
import {
  guardWorkspace,
  kindOf,
  newFolderFor,
  removeTree,
  sweepFolders,
} from '../workspace/folders.ts'
import { type MirrorRefs, refreshMirror } from '../workspace/mirror.ts'
import { readRecord, type WorkspaceRecord, writeRecord } from '../workspace/record.ts'
import type { Report, WorkspacePlan } from '../workspace/report.ts'
import { firstParentOfSnapshot } from '../workspace/snapshot-mark.ts'
import { commitOf } from '../workspace/state.ts'
import { extractInto } from './archive.ts'
import { compareWork, type Divergence } from './divergence.ts'
import { bundlePath, fetchBundle, forgetFetched, incomplete } from './local-refs.ts'
import { readSnapshot, type SnapshotCommits } from './manifest.ts'
import { restoreCommit, restoreFiles } from './restore-files.ts'
import { scanWork } from './scan.ts'
import { openSealed, unsealFile } from './sealed-file.ts'
import { SNAPSHOT_REF, type Snapshot } from './snapshot.ts'
import { surveyWorkspace } from './survey.ts'
import { restoreArchive } from './workspace-archive.ts'

/** What was kept of a workspace; the sealed files are on this machine again. */
export type ParkedWork = Pick<
  Snapshot,
  'commit' | 'workInProgress' | 'from' | 'base' | 'pushed'
> & {
  key: Uint8Array
  asideArchive: string | null
  refsBundle: string | null
  archive: string | null
  /** What could not be pushed. */
  pushBundle: string | null
  /** The commit was pushed after the sealed files were kept. */
  isBehind: boolean
  /** The sealed files need not be all that belongs to the commit. */
  isPartial: boolean
}

export type RestoredWork = {
  record: WorkspaceRecord
  /** False: the workspace was still there, and is as it was. */
  fresh: boolean
  /** Set when somebody else moved the branch of the remote meanwhile. */
  moved: Divergence | null
  /** What could not be restored, by name; only of partial work. */
  lost: readonly string[]
}

/**
 * The workspace as it was when its snapshot was taken, in the session's folder: whole and proven, or not there at
 * all. Commits of others on the session's branch stay as they are, in `origin/<branch>`. Rejects with `BalletError`:
 * `snapshot.gone`, `snapshot.incomplete`, `snapshot.broken`, `snapshot.version`, `state.…`, `remote.…`.
 */
export function restoreWorkspace(
  git: Git,
  plan: WorkspacePlan,
  parked: ParkedWork,
  report: Report,
  signal: AbortSignal,
): Promise<RestoredWork> {
  return withRefusals('restoring the workspace', () =>
    workspaceOf(git, plan, parked, report, signal),
  )
}

async function workspaceOf(
  git: Git,
  plan: WorkspacePlan,
  parked: ParkedWork,
  report: Report,
  signal: AbortSignal,
): Promise<RestoredWork> {
  await guardWorkspace(plan.dataDir, plan.workspaceDir)
  if ((await kindOf(plan.workspaceDir)) === 'folder') {
    return { record: await keptRecord(plan), fresh: false, moved: null, lost: [] }
  }
  await sweepFolders(plan.dataDir)
  const steps = beginSteps(report)
  const folder = await newFolderFor(plan.workspaceDir)
  try {
    const refs = await mirrorRefs(git, plan, { ...report, step: () => undefined }, signal)
    let lost: readonly string[] = []
    if (parked.archive !== null && !parked.isBehind) {
      steps.cloned()
      await fromArchive(git, plan, parked, folder, signal)
    } else {
      const place = { folder, cloned: steps.cloned }
      lost = await fromCommit(git, plan, parked, place, report, signal)
    }
    const moved = await whatMoved(git, plan, parked, { folder, theirs: refs.own }, report)
    const record = await makeRecord(plan, parked, folder)
    await writeRecord(folder, record)
    await rename(folder, plan.workspaceDir)
    steps.restored(parked)
    return { record, fresh: true, moved, lost }
  } catch (error) {
    steps.failed(error)
    await removeTree(folder)
    throw error
  }
}

const RESTORED = 'Files, index and branches are as they were.'
const PARTLY_RESTORED = 'All that is not damaged is as it was.'

/** Tells the two steps of a restore, one after the other. */
function beginSteps(report: Report) {
  let step = 'clone'
  report.step('clone', 'started')
  return {
    cloned: () => {
      report.step('clone', 'done')
      step = 'restore'
      report.step('restore', 'started')
    },
    restored: ({ isPartial }: ParkedWork) =>
      report.step('restore', 'done', isPartial ? PARTLY_RESTORED : RESTORED),
    failed: (error: unknown) => {
      report.step(step, 'failed', refusalOf(error, 'restoring the workspace').message)
    },
  }
}

/** With a remote that cannot be reached the mirror of the project may do. */
async function mirrorRefs(
  git: Git,
  plan: WorkspacePlan,
  report: Report,
  signal: AbortSignal,
): Promise<Pick<MirrorRefs, 'own'>> {
  const { mirrorDir, branch } = plan
  try {
    return await refreshMirror(git, plan, report, signal)
  } catch (error) {
    if (!(error instanceof BalletError)) throw error
    const isRemote = error.code.startsWith('remote.') || error.code === 'git.time-limit'
    const head = isRemote && (await kindOf(mirrorDir)) === 'folder'
    if (!head) throw error
    const text = `The remote could not be asked, the work goes on from what is known of it here. ${error.message}`
    report.notice('warning', 'resume.offline', text)
    return { own: await commitOf(git, mirrorDir, `refs/heads/${branch}`) }
  }
}

async function fromArchive(
  git: Git,
  plan: WorkspacePlan,
  parked: ParkedWork,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(folder)
  const sealed = { file: parked.archive ?? '', key: parked.key }
  const { workspaceDir: to, mirrorDir, repo } = plan
  const place = { folder, from: parked.from, to, mirrorDir, repo }
  await restoreArchive(git, sealed, place, signal)
  const args = [
    'fetch',
    '--quiet',
    '--prune',
    '--no-write-fetch-head',
    '--no-auto-gc',
    '--upload-pack=git-upload-pack',
    '--',
    plan.mirrorDir,
  ]
  await git.text([...args, '+refs/heads/*:refs/remotes/origin/*'], { cwd: folder, signal })
}

/** Gives the names of what it could not restore. */
async function fromCommit(
  git: Git,
  plan: WorkspacePlan,
  parked: ParkedWork,
  { folder, cloned }: { folder: string; cloned: () => void },
  report: Report,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { commit, isPartial } = parked
  await initClone(git, plan, folder, signal)
  if (commit === null) throw incomplete('nothing was kept')
  await bringCommit(git, plan, parked, { folder, commit }, signal)
  cloned()
  await git.text(['update-ref', SNAPSHOT_REF, commit], { cwd: folder })
  const { isBehind, workInProgress } = parked
  const snapshot = workInProgress || isBehind ? await readSnapshot(git, folder, commit) : null
  if (snapshot === null) {
    if (workInProgress && !isBehind) throw incomplete(`${commit.slice(0, 12)} is no snapshot`)
    await restoreCommit(git, folder, { branch: plan.branch, commit }, signal)
    if (isBehind) await bringBeside(git, parked, { folder, commit }, signal)
    return []
  }
  if (snapshot.manifest.aside > 0 && parked.asideArchive === null && !isPartial) {
    throw incomplete('the sealed archive of files that are not for the remote is missing')
  }
  if (parked.refsBundle !== null) await bringBundle(git, folder, parked.refsBundle, parked, signal)
  const aside = parked.asideArchive === null ? null : { file: parked.asideArchive, key: parked.key }
  const lost = await restoreFiles(git, folder, snapshot, { aside, isPartial }, signal)
  await forgetFetched(git, folder)
  const { missing } = await prove(git, plan, { folder, snapshot, isPartial }, report, signal)
  if (!isBehind || missing === 0) return lost
  return [
    ...lost,
    missing === 1 ? '1 file beside the commits' : `${missing} files beside the commits`,
  ]
}

/** What is uncommitted in a snapshot of a stop is so again, and files that were kept beside an earlier one are there. */
async function bringBeside(
  git: Git,
  { asideArchive, key }: ParkedWork,
  { folder, commit }: { folder: string; commit: string },
  signal: AbortSignal,
): Promise<void> {
  const base = await firstParentOfSnapshot(git, folder, commit)
  if (base !== null) {
    await git.text(['reset', '--quiet', '--mixed', base], { cwd: folder, signal })
  }
  if (asideArchive !== null) await extractInto(openSealed(asideArchive, key), folder, 'skip')
}

/** The commit from the mirror, from a bundle, or from the remote by its id: branches may not lead to it any more. */
export async function bringCommit(
  git: Git,
  plan: WorkspacePlan,
  parked: ParkedWork,
  { folder, commit }: { folder: string; commit: string },
  signal: AbortSignal,
): Promise<void> {
  const isHere = async () => (await commitOf(git, folder, commit)) !== null
  if (await isHere()) return
  if (parked.pushBundle !== null) {
    await bringBundle(git, folder, parked.pushBundle, parked, signal)
    if (await isHere()) return
  }
  const args = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--no-auto-gc']
  await git.run([...args, '--', plan.repo, commit], { cwd: folder, signal })
  if (await isHere()) return
  throw new BalletError({
    code: 'snapshot.gone',
    message: `The parked work ${commit.slice(0, 12)} is not on ${withoutCredentials(plan.repo)} any more, and Ballet has no copy of it.`,
    hint: `Somebody moved or deleted the branch ${plan.branch}. Put it back there from a clone that has the commit, then resume again.`,
  })
}

async function bringBundle(
  git: Git,
  folder: string,
  sealed: string,
  { key }: ParkedWork,
  signal: AbortSignal,
): Promise<void> {
  const file = bundlePath(join(folder, '.git'), 'ballet-restored')
  await unsealFile(sealed, file, key)
  await fetchBundle(git, folder, file, signal)
  await rm(file)
}

/** Takes the snapshot once more, and compares; of partial work files may be missing beside the commits. */
async function prove(
  git: Git,
  plan: WorkspacePlan,
  {
    folder,
    snapshot,
    isPartial,
  }: { folder: string; snapshot: SnapshotCommits; isPartial: boolean },
  report: Report,
  signal: AbortSignal,
): Promise<{ missing: number }> {
  const { manifest } = snapshot
  const survey = await surveyWorkspace(git, folder, plan.branch, signal)
  const work = await scanWork(git, survey, signal)
  const treeOf = (commit: string) => git.text(['rev-parse', `${commit}^{tree}`], { cwd: folder })
  const wrong = [
    (await treeOf(snapshot.index)) === work.indexTree ? [] : ['the index'],
    (await treeOf(snapshot.work)) === work.workTree ? [] : ['the files'],
    work.intentToAdd.length === manifest.intentToAdd.length ? [] : ['what is intended to be added'],
    work.emptyFolders.length === manifest.emptyFolders.length ? [] : ['empty folders'],
    isPartial || survey.aside.length === manifest.aside
      ? []
      : ['the files that were not for the remote'],
    survey.head.commit === manifest.head.commit && survey.head.branch === manifest.head.branch
      ? []
      : ['HEAD'],
  ].flat()
  if (wrong.length > 0) {
    throw incomplete(`what was restored differs from what was parked in ${wrong.join(', ')}`)
  }
  const missing = Math.max(0, manifest.aside - survey.aside.length)
  if (work.digest === manifest.digest) return { missing }
  const text =
    'Some files have other line ends or another encoding than before: git is set up differently on this machine.'
  report.notice('warning', 'resume.bytes', text)
  return { missing }
}

async function whatMoved(
  git: Git,
  plan: WorkspacePlan,
  { commit, pushed, workInProgress }: ParkedWork,
  { folder, theirs }: { folder: string; theirs: string | null },
  report: Report,
): Promise<Divergence | null> {
  const own = new Set([commit, plan.pushedCommit, ...pushed.map((each) => each.commit)])
  if (theirs !== null) {
    if (own.has(theirs) || commit === null) return null
    const snapshot = workInProgress ? await readSnapshot(git, folder, commit) : null
    const base = snapshot === null ? commit : snapshot.base
    return compareWork(git, folder, { ours: commit, base, theirs })
  }
  if (plan.pushedCommit !== null) {
    const text = `The branch ${plan.branch} is not on the remote any more. The parked work is restored; the next push makes the branch again.`
    report.notice('warning', 'branch.gone', text)
  }
  return null
}

async function makeRecord(
  plan: WorkspacePlan,
  parked: ParkedWork,
  folder: string,
): Promise<WorkspaceRecord> {
  const { session, branch } = plan
  const archived = await readRecord(folder)
  const known = archived?.pushed ?? []
  // What is kept of it may know of more than the record in it.
  const more = parked.pushed.filter(({ commit }) => !known.some((each) => each.commit === commit))
  const others = [...more, ...known].filter(({ commit }) => commit !== parked.commit)
  const last = parked.commit === null ? [] : [{ commit: parked.commit, snapshot: true }]
  return { session, branch, base: parked.base, setup: 'open', pushed: [...others, ...last] }
}
