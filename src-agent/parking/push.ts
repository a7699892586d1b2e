import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { BalletError, type Refusal } from '../../src-shared/refusal.ts'
import type { Git } from '../git/run.ts'
import { withRefusals } from '../workspace/failure.ts'
import { pushCommit } from '../workspace/push.ts'
import { readRecord } from '../workspace/record.ts'
import type { WorkspacePlan } from '../workspace/report.ts'
import { bundlePath, commitsOfMirror, createBundle, updateRefs } from './local-refs.ts'
import { type SealedFile, sealFile } from './sealed-file.ts'

export type ParkPush =
  | { pushed: true }
  /** `bundle` holds what the remote lacks; null when it lacks nothing but the branch. */
  | { pushed: false; why: Refusal; bundle: SealedFile | null }

/** Reasons that a bundle does not help against. */
const NOT_OF_THE_REMOTE = new Set([
  'disk.full',
  'git.cancelled',
  'git.not-found',
  'workspace.broken',
  'workspace.missing',
])

const PUSH_LIMIT_MS = 5 * 60_000
const PUSHED = 'refs/ballet/pushed'

/**
 * Pushes a parked session's commit to its branch, only while the branch is where Ballet left it. Where the remote
 * cannot be reached or does not take it, what it lacks goes into a sealed git bundle instead. `limitMs` bounds the
 * push; 0 makes the bundle at once. Rejects with `BalletError` when neither is possible.
 */
export async function pushParked(
  git: Git,
  plan: WorkspacePlan,
  commit: string,
  target: { folder: string; key: Uint8Array; limitMs?: number },
  signal: AbortSignal,
): Promise<ParkPush> {
  if (!plan.branch.startsWith('ballet/')) throw notBallets(plan.branch)
  const why = await tryPush(git, plan, commit, target.limitMs ?? PUSH_LIMIT_MS, signal)
  if (why === null) return { pushed: true }
  return { pushed: false, why, bundle: await bundleMissing(git, plan, commit, target, signal) }
}

async function tryPush(
  git: Git,
  plan: WorkspacePlan,
  commit: string,
  limitMs: number,
  signal: AbortSignal,
): Promise<Refusal | null> {
  if (limitMs <= 0) {
    return {
      code: 'push.later',
      message: 'There was no time to push.',
      hint: 'It is pushed later.',
    }
  }
  const limit = AbortSignal.timeout(limitMs)
  try {
    // As a snapshot: the session owns its branch, and its next push replaces what it parked.
    await pushCommit(git, plan, { commit, snapshot: true }, AbortSignal.any([signal, limit]))
    return null
  } catch (error) {
    if (!(error instanceof BalletError)) throw error
    if (limit.aborted && !signal.aborted) return tooSlow(plan, limitMs)
    if (NOT_OF_THE_REMOTE.has(error.code)) throw error
    return error.toRefusal()
  }
}

/** Seals a git bundle of what a fetch of the base branch does not bring; null when it brings everything. */
export function bundleMissing(
  git: Git,
  plan: WorkspacePlan,
  commit: string,
  target: { folder: string; key: Uint8Array },
  signal: AbortSignal,
): Promise<SealedFile | null> {
  return withRefusals('bundling what could not be pushed', () =>
    bundleOf(git, plan, commit, target, signal),
  )
}

async function bundleOf(
  git: Git,
  plan: WorkspacePlan,
  commit: string,
  { folder, key }: { folder: string; key: Uint8Array },
  signal: AbortSignal,
): Promise<SealedFile | null> {
  const { workspaceDir: cwd, baseBranch } = plan
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const record = await readRecord(cwd)
  const without = await commitsOfMirror(git, plan, [
    record?.base ?? null,
    `refs/remotes/origin/${baseBranch}`,
  ])
  await updateRefs(git, cwd, [`update ${PUSHED} ${commit}`])
  const file = bundlePath(folder, 'push')
  try {
    const bundle = await createBundle(git, cwd, { file, refs: [PUSHED], without, signal })
    if (bundle === null) return null
    return await sealFile(bundle, join(folder, 'push.sealed'), key, signal)
  } finally {
    await rm(file, { force: true })
  }
}

function tooSlow({ branch }: WorkspacePlan, limitMs: number): Refusal {
  return {
    code: 'push.time-limit',
    message: `Pushing ${branch} took longer than ${Math.ceil(limitMs / 1_000)} s.`,
    hint: 'Ballet keeps what is not pushed, and tries again.',
  }
}

function notBallets(branch: string): BalletError {
  return new BalletError({
    code: 'branch.foreign',
    message: `${branch} is no branch of Ballet: parked work is only pushed to branches that begin with ballet/.`,
    hint: 'Ballet writes to no branch of others. The workspace is kept.',
  })
}
