import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import {
  DAMAGED,
  type ParkedWork as Kept,
  type KeptFile,
  type KeptFileKind,
} from '../../src-shared/parking.ts'
import { assertNever, BalletError } from '../../src-shared/refusal.ts'
import { someOf } from '../../src-shared/some-of.ts'
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
  /** The session pushed its commit later than it kept the files beside it. */
  behind: z.boolean().default(false),
  /** Files that belong to it were damaged, and are not kept with it any more. */
  partial: z.boolean().default(false),
})

/** The facts of a snapshot as Core keeps them. */
export function snapshotFacts(snapshot: Snapshot): Record<string, unknown> {
  const { workInProgress, from, base, pushed } = snapshot
  const facts: z.infer<typeof SnapshotFacts> = {
    ...{ version: VERSION, workInProgress, from, base },
    pushed: [...pushed],
    ...{ behind: false, partial: false },
  }
  return facts
}

/** What is kept of a session that pushed more since: its last commit, and the files that were kept before it. */
export function withPushed(kept: Kept, commit: string): Kept {
  if (kept.snapshot === null) return kept
  const snapshot = { ...kept.snapshot, behind: true }
  return { ...kept, commit, pushed: true, notPushed: null, snapshot }
}

/** What is kept of a session that goes on without files of it that are damaged. */
export function withoutFiles(kept: Kept): Kept {
  return kept.snapshot === null ? kept : { ...kept, snapshot: { ...kept.snapshot, partial: true } }
}

/** The facts of a snapshot that another commit may have taken the place of on the remote, for Ballet to replace. */
export function withReplacement(
  snapshot: Record<string, unknown>,
  pushed: readonly PushedCommit[],
  commit: string,
): Record<string, unknown> {
  const others = pushed.filter((each) => each.commit !== commit)
  return { ...snapshot, pushed: [...others, { commit, snapshot: true }] }
}

/** Where the files are that Core keeps of a session, and what opens them. */
export type KeptPlace = {
  /** 32 bytes in base64. */
  key: string
  keptDir: string
  /** Key of the session's ticket, by which it may be resumed without what is damaged. */
  ticket?: string
  /** Files of it that are damaged were left out before, and are not named any more. */
  partial?: true | undefined
}

/** 32 bytes. */
export function keyOf({ key }: Pick<KeptPlace, 'key'>): Uint8Array {
  return Buffer.from(key, 'base64')
}

/** What a restore left out: kept files that are damaged, and what was in them. */
export type LeftOut = { file: KeptFile; inWords: string }

/**
 * What Core kept, as a restore takes it; null when there was no workspace. Rejects with `snapshot.version` for what
 * another Ballet made, and with `state.missing` and `state.corrupt` for a file that is not the one that was kept; with
 * `leftOut` such a file is put there instead.
 */
export async function workOf(
  kept: Kept,
  place: KeptPlace,
  leftOut?: LeftOut[],
): Promise<ParkedWork | null> {
  if (kept.snapshot === null) return null
  const facts = SnapshotFacts.safeParse(kept.snapshot)
  if (!facts.success) throw unknownFacts(kept.snapshot)
  const { workInProgress, from, base, pushed, behind, partial } = facts.data
  const path = async (kind: Exclude<KeptFileKind, 'state'>) => {
    try {
      return await fileOf(kept, place, kind)
    } catch (error) {
      const file = kept.files.find((each) => each.kind === kind)
      if (file === undefined || !isDamage(error)) throw error
      if (leftOut === undefined) throw withWayOn(error, whatIsIn(kind, kept), place)
      leftOut.push({ file, inWords: whatIsIn(kind, kept) })
      return null
    }
  }
  return {
    ...{ commit: kept.commit, workInProgress, from, base, pushed },
    key: keyOf(place),
    asideArchive: await path('aside'),
    refsBundle: await path('refs'),
    archive: await path('archive'),
    // Once the remote has it, the bundle is a second copy.
    pushBundle: await path('bundle').catch((error: unknown) => {
      if (kept.pushed) return null
      throw error
    }),
    isBehind: behind,
    isPartial: behind || partial || place.partial === true || (leftOut?.length ?? 0) > 0,
  }
}

/** What a kept file holds, for people; names of files at most ten. */
function whatIsIn(kind: Exclude<KeptFileKind, 'state'>, { aside, commit }: Kept): string {
  switch (kind) {
    case 'aside':
      return `files that were not for the remote: ${someOf(aside.map(({ name }) => name))}`
    case 'refs':
      return 'other branches, tags and stashes'
    case 'archive':
      return 'the whole workspace, with what was not committed'
    case 'bundle':
      return `commits that were not pushed, up to ${commit?.slice(0, 12) ?? 'none'}`
    default:
      return assertNever(kind)
  }
}

export const isDamage = (error: unknown): error is BalletError =>
  error instanceof BalletError && DAMAGED.includes(error.code)

function withWayOn(error: BalletError, inWords: string, { ticket }: KeptPlace): BalletError {
  const { code, message } = error.toRefusal()
  return new BalletError(
    {
      code,
      message: `${message} It holds ${inWords}.`,
      hint:
        ticket === undefined
          ? 'Put it back from a backup, then try again.'
          : `Put it back from a backup, then try again. To go on without it: \`ballet resume ${ticket} --without-damaged\``,
    },
    { cause: error },
  )
}

/** The path of the kept file of a kind, which is the one that was kept; null when none was. */
export async function fileOf(
  { files }: Pick<Kept, 'files'>,
  { keptDir }: Pick<KeptPlace, 'keptDir'>,
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
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    // What a failing disk says of it.
    if (code === 'EIO') return false
    if (code !== 'ENOENT') throw cause
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
