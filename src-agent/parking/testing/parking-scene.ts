import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openWorkspace } from '../../workspace/clone.ts'
import { removeWorkspace } from '../../workspace/folders.ts'
import type { WorkspacePlan } from '../../workspace/report.ts'
import {
  makeSample,
  never,
  type Sample,
  type SampleOptions,
} from '../../workspace/sample-repository.ts'
import { type ParkPush, pushParked } from '../push.ts'
import { type ParkedWork, type RestoredWork, restoreWorkspace } from '../restore.ts'
import { type Snapshot, type SnapshotTarget, takeSnapshot } from '../snapshot.ts'
import { type Fingerprint, fingerprintOf } from './fingerprint.ts'

export const KEY: Uint8Array = Buffer.alloc(32, 9)

export type Parked = {
  snapshot: Snapshot
  /** Null: there was nothing to push. */
  push: ParkPush | null
  work: ParkedWork
}

/** A sample repository with an open workspace, and the steps of parking it. */
export type ParkingScene = {
  sample: Sample
  /** The workspace. */
  work: string
  target: SnapshotTarget
  sh(...args: string[]): Promise<string>
  take(changes?: Partial<SnapshotTarget>): Promise<Snapshot>
  push(commit: string, limitMs?: number): Promise<ParkPush>
  /** Takes the snapshot, pushes it in at most `limitMs`, and removes the workspace. */
  park(options?: { limitMs?: number; keep?: boolean }): Promise<Parked>
  /** A plan for a data folder at another path, that knows nothing of this one. */
  elsewhere(parked: Parked, folder?: string): Promise<WorkspacePlan>
  restore(plan: WorkspacePlan, work: ParkedWork): Promise<RestoredWork>
  seen(folder?: string): Promise<Fingerprint>
}

export async function makeParkingScene(
  files: Record<string, string | null>,
  options: SampleOptions = {},
): Promise<ParkingScene> {
  const sample = await makeSample(options)
  await sample.commit('main', files)
  await openWorkspace(sample.git, sample.plan(), sample.report, never)
  const work = sample.plan().workspaceDir
  const target = { folder: join(sample.folder, 'kept'), key: KEY }
  const scene: ParkingScene = {
    ...{ sample, work, target },
    sh: (...args) => sample.sh(work, ...args),
    take: (changes) =>
      takeSnapshot(sample.git, sample.plan(), { ...target, ...changes }, sample.report, never),
    push: (commit, limitMs = 60_000) =>
      pushParked(sample.git, sample.plan(), commit, { ...target, limitMs }, never),
    park: async ({ limitMs, keep = false } = {}) => {
      const snapshot = await scene.take()
      const isPushed = snapshot.commit !== null && snapshot.needsPush
      const push = isPushed ? await scene.push(snapshot.commit ?? '', limitMs) : null
      if (!keep) await removeWorkspace(sample.dataDir, work)
      return { snapshot, push, work: parkedWork(snapshot, push) }
    },
    elsewhere: async ({ snapshot, push }, folder = 'elsewhere') => {
      const dataDir = join(sample.folder, folder, 'deeper', 'data')
      await mkdir(dataDir, { recursive: true })
      return sample.plan({
        dataDir,
        mirrorDir: join(dataDir, 'mirrors', 'p.git'),
        workspaceDir: join(dataDir, 'workspaces', 'SHOP-1-other1'),
        pushedCommit: push?.pushed ? snapshot.commit : null,
      })
    },
    restore: (plan, parked) => restoreWorkspace(sample.git, plan, parked, sample.report, never),
    seen: (folder = work) => fingerprintOf(folder, sample.env),
  }
  return scene
}

export function parkedWork(snapshot: Snapshot, push: ParkPush | null): ParkedWork {
  return {
    ...snapshot,
    key: KEY,
    pushBundle: push === null || push.pushed ? null : (push.bundle?.file ?? null),
    asideArchive: snapshot.asideArchive?.file ?? null,
    refsBundle: snapshot.refsBundle?.file ?? null,
    archive: snapshot.archive?.file ?? null,
    isBehind: false,
    isPartial: false,
  }
}
