import { z } from 'zod'
import { BalletError } from '../../src-shared/refusal.ts'
import type { Git } from '../git/run.ts'
import { SNAPSHOT_TRAILER } from '../workspace/snapshot-mark.ts'

const VERSION = 1

/** Paths stand in it as `nameOfPath` gives them. */
const Paths = z.array(z.string())
const Commit = z.string().regex(/^[0-9a-f]{40,64}$/)

/** As git writes it: a file, a program, a symbolic link. */
export const FileMode = z.enum(['100644', '100755', '120000'])
export type FileMode = z.infer<typeof FileMode>

/** What the two commits of a snapshot cannot hold themselves. */
export const SnapshotManifest = z.object({
  version: z.literal(VERSION),
  session: z.string(),
  ticket: z.string(),
  /** The session's branch. */
  branch: z.string(),
  /** Where the work began. */
  base: z.string(),
  head: z.object({
    /** Null: no commit yet. */
    commit: Commit.nullable(),
    /** Null: detached. */
    branch: z.string().nullable(),
  }),
  /** Tip of the session's branch; null when the clone has no such branch. */
  own: Commit.nullable(),
  /** Branches, tags and other refs beside the session's branch, by their full names. */
  refs: z.array(z.object({ name: z.string(), commit: Commit })),
  /** Newest first. */
  stashes: z.array(z.object({ commit: Commit, message: z.string() })),
  intentToAdd: z.array(z.object({ path: z.string(), mode: FileMode })),
  /** Permissions of files that are not those that a new one has. */
  modes: z.array(z.object({ path: z.string(), mode: z.int().min(0).max(0o777) })).default([]),
  assumeUnchanged: Paths,
  skipWorktree: z.array(z.object({ path: z.string(), absent: z.boolean() })),
  raw: Paths,
  emptyFolders: Paths,
  /** How many files are in the sealed archive beside the commits. */
  aside: z.number().int().nonnegative(),
  /** Settings of the clone, and of the user where they change the bytes of files. */
  config: z.array(z.tuple([z.string(), z.string()])),
  /** Files below `.git/info`. */
  info: z.array(z.tuple([z.enum(['exclude', 'attributes']), z.string()])),
  /** Proves the files on the disk; see `ScannedWork`. */
  digest: z.string(),
})
export type SnapshotManifest = z.infer<typeof SnapshotManifest>

const BEGIN = '-----BEGIN BALLET MANIFEST-----'
const END = '-----END BALLET MANIFEST-----'

/** The message of the commit that holds the index. */
export function indexMessage(ticket: string, session: string): string {
  return [
    `Work in progress on ${ticket}: what was staged`,
    '',
    'Kept by Ballet while the session is parked. Resuming the session undoes this commit.',
    '',
    `${SNAPSHOT_TRAILER}: ${session}`,
    '',
  ].join('\n')
}

/** The message of the commit that holds the files, on the one that holds the index. */
export function workMessage(manifest: SnapshotManifest): string {
  return [
    `Work in progress on ${manifest.ticket}`,
    '',
    'Uncommitted work of a parked session, kept by Ballet. Resuming the session undoes this commit and the one',
    'before it; the next push of the session replaces them.',
    '',
    BEGIN,
    inLines(manifest),
    END,
    '',
    `${SNAPSHOT_TRAILER}: ${manifest.session}`,
    '',
  ].join('\n')
}

/** JSON with a line an entry, for people who look at the commit; ASCII, so that no encoding touches it. */
function inLines(manifest: SnapshotManifest): string {
  return JSON.stringify(manifest, null, 1).replace(/[\u007f-\uffff]/g, (letter) => {
    return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

export type SnapshotCommits = {
  work: string
  index: string
  /** The commit that they were made on; null when there was none. */
  base: string | null
  manifest: SnapshotManifest
}

/**
 * Reads the snapshot that a commit is. Null when it is none of this kind. Rejects with `snapshot.version` for one of a
 * newer Ballet, and `snapshot.broken` for one that somebody changed.
 */
export async function readSnapshot(
  git: Git,
  cwd: string,
  commit: string,
): Promise<SnapshotCommits | null> {
  const work = await readCommit(git, cwd, commit)
  const begin = work.message.indexOf(`\n${BEGIN}\n`)
  const end = work.message.lastIndexOf(`\n${END}\n`)
  if (begin < 0 || end < begin) return null
  const manifest = parseManifest(commit, work.message.slice(begin + BEGIN.length + 2, end))
  const index = work.parents[0]
  if (index === undefined) throw broken(commit, 'it stands on no other commit')
  const { parents } = await readCommit(git, cwd, index)
  const base = parents[0] ?? null
  if (base !== manifest.head.commit) throw broken(commit, 'it stands on another commit')
  return { work: commit, index, base, manifest }
}

function parseManifest(commit: string, text: string): SnapshotManifest {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw broken(commit, 'its manifest is no JSON')
  }
  const { version } = z.looseObject({ version: z.unknown() }).parse(value ?? {})
  if (version !== VERSION) {
    throw new BalletError({
      code: 'snapshot.version',
      message: `The snapshot ${commit.slice(0, 12)} has version ${String(version)}; this Ballet knows ${VERSION}.`,
      hint: 'A newer Ballet made it. Update Ballet on this machine, then resume again.',
    })
  }
  const manifest = SnapshotManifest.safeParse(value)
  if (!manifest.success) throw broken(commit, `its manifest is not as expected: ${manifest.error}`)
  return manifest.data
}

async function readCommit(
  git: Git,
  cwd: string,
  commit: string,
): Promise<{ parents: string[]; message: string }> {
  const text = await git.text(['cat-file', 'commit', commit], { cwd })
  const end = text.indexOf('\n\n')
  const head = text.slice(0, end)
  return {
    parents: [...head.matchAll(/^parent ([0-9a-f]+)$/gm)].map((match) => match[1] ?? ''),
    message: `${text.slice(end + 2)}\n`,
  }
}

function broken(commit: string, why: string): BalletError {
  return new BalletError({
    code: 'snapshot.broken',
    message: `The snapshot ${commit.slice(0, 12)} cannot be restored: ${why}.`,
    hint: 'Its files are in the commit: check it out by hand. A new session begins from it as ordinary work.',
  })
}
