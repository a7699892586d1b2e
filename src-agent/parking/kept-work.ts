import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { ParkedWork as Kept, KeptFile, KeptFileKind } from '../../src-shared/parking.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { PushedCommit } from '../workspace/record.ts'
import type { ParkedWork } from './restore.ts'
import type { Snapshot } from './snapshot.ts'

const VERSION = 1

/** What a restore needs of a snapshot besides its commit and its kept files. */
const SnapshotFacts = z.object({
  version: z.literal(VERSION),
  workInProgress: z.boolean(),
  from: z.string(),
  base: z.string(),
  pushed: z.array(PushedCommit),
})

/** The facts of a snapshot as Core keeps them. */
export function snapshotFacts(snapshot: Snapshot): Record<string, unknown> {
  const { workInProgress, from, base, pushed } = snapshot
  const facts: z.infer<typeof SnapshotFacts> = {
    ...{ version: VERSION, workInProgress, from, base },
    pushed: [...pushed],
  }
  return facts
}

/** Where the files are that Core keeps of a session, and what opens them. */
export type KeptPlace = {
  /** 32 bytes in base64. */
  key: string
  keptDir: string
}

/** 32 bytes. */
export function keyOf({ key }: Pick<KeptPlace, 'key'>): Uint8Array {
  return Buffer.from(key, 'base64')
}

/**
 * What Core kept, as a restore takes it; null when there was no workspace. Rejects with `snapshot.version` for what
 * another Ballet made, and with `state.missing` and `state.corrupt` for a file that is not the one that was kept.
 */
export async function workOf(kept: Kept, place: KeptPlace): Promise<ParkedWork | null> {
  if (kept.snapshot === null) return null
  const facts = SnapshotFacts.safeParse(kept.snapshot)
  if (!facts.success) throw unknownFacts(kept.snapshot)
  const { workInProgress, from, base, pushed } = facts.data
  return {
    ...{ commit: kept.commit, workInProgress, from, base, pushed },
    key: keyOf(place),
    asideArchive: await fileOf(kept, place, 'aside'),
    refsBundle: await fileOf(kept, place, 'refs'),
    archive: await fileOf(kept, place, 'archive'),
    // Once the remote has it, the bundle is a second copy.
    pushBundle: await fileOf(kept, place, 'bundle').catch((error: unknown) => {
      if (kept.pushed) return null
      throw error
    }),
  }
}

/** The path of the kept file of a kind, which is the one that was kept; null when none was. */
export async function fileOf(
  { files }: Pick<Kept, 'files'>,
  { keptDir }: KeptPlace,
  kind: KeptFileKind,
): Promise<string | null> {
  const file = files.find((each) => each.kind === kind)
  if (file === undefined) return null
  const path = join(keptDir, file.name)
  if (!(await isKept(path, file))) throw notKept(path)
  return path
}

/** Whether a file on the disk is the one that was kept, byte for byte. Rejects with `state.missing`. */
export async function isKept(path: string, file: KeptFile): Promise<boolean> {
  const hash = createHash('sha256')
  let bytes = 0
  try {
    for await (const chunk of createReadStream(path)) {
      hash.update(chunk as Buffer)
      bytes += (chunk as Buffer).length
    }
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')) throw cause
    const message = `The kept file ${path} is not there any more.`
    const hint = 'Something else removed it. Put it back from a backup, then resume again.'
    throw new BalletError({ code: 'state.missing', message, hint }, { cause })
  }
  return bytes === file.bytes && hash.digest('hex') === file.sha256
}

function notKept(path: string): BalletError {
  return new BalletError({
    code: 'state.corrupt',
    message: `The kept file ${path} is not what was stored: its size or checksum is another one.`,
    hint: 'Put it back from a backup, then resume again.',
  })
}

function unknownFacts(snapshot: Record<string, unknown>): BalletError {
  return new BalletError({
    code: 'snapshot.version',
    message: `What was kept of the workspace is of another version (${String(snapshot.version)}) than this Ballet knows (${VERSION}).`,
    hint: 'Another Ballet made it. Update Ballet, then resume again.',
  })
}
