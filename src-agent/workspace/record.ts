import { lstat, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'

/** A commit that Ballet pushed to the session's branch, or was about to push when it was cut. */
export const PushedCommit = z.object({
  commit: z.string(),
  /** A snapshot stands for uncommitted work; the next push replaces it. */
  snapshot: z.boolean(),
})
export type PushedCommit = z.infer<typeof PushedCommit>

/** What Ballet knows of a workspace, kept inside its `.git` so that it lives and dies with it. */
const WorkspaceRecord = z.object({
  session: z.string(),
  branch: z.string(),
  /** Where the work began. */
  base: z.string(),
  setup: z.enum(['open', 'done']),
  /** Oldest first. */
  pushed: z.array(PushedCommit),
})
export type WorkspaceRecord = z.infer<typeof WorkspaceRecord>

const FILE = 'ballet.json'
const PUSHED_KEPT = 20

/** Null when the folder is no workspace that Ballet made, or not whole any more. */
export async function readRecord(workspaceDir: string): Promise<WorkspaceRecord | null> {
  try {
    // A `.git` that is a file or a link belongs to another repository.
    if (!(await lstat(join(workspaceDir, '.git'))).isDirectory()) return null
    const text = await readFile(join(workspaceDir, '.git', FILE), 'utf8')
    return WorkspaceRecord.safeParse(JSON.parse(text)).data ?? null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

export async function writeRecord(workspaceDir: string, record: WorkspaceRecord): Promise<void> {
  const file = join(workspaceDir, '.git', FILE)
  const handle = await open(`${file}.new`, 'w')
  try {
    await handle.writeFile(`${JSON.stringify(record)}\n`)
    // The name must never stand for a file whose content is still to come: what was pushed is known by it alone.
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${file}.new`, file)
}

/** The record with one more pushed commit. */
export function withPushed(record: WorkspaceRecord, pushed: PushedCommit): WorkspaceRecord {
  const others = record.pushed.filter(({ commit }) => commit !== pushed.commit)
  return { ...record, pushed: [...others, pushed].slice(-PUSHED_KEPT) }
}
