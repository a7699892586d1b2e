import type { Git } from '../git/run.ts'

/** The trailer by which the commits of a snapshot are known; its value is the session. */
export const SNAPSHOT_TRAILER = 'Ballet-Snapshot'

/** The message of a commit that stands for uncommitted work. */
export function snapshotMessage(ticket: string, session: string): string {
  return [
    `Work in progress on ${ticket}`,
    '',
    'Uncommitted work of a stopped session, kept by Ballet. The next push of the session replaces this commit.',
    '',
    `${SNAPSHOT_TRAILER}: ${session}`,
    '',
  ].join('\n')
}

/** More of them on each other are no snapshot of Ballet's. */
const MOST_COMMITS = 2

/** The commit that a snapshot of one or two commits was made on; null when `commit` is no snapshot. */
export async function firstParentOfSnapshot(
  git: Git,
  cwd: string,
  commit: string,
): Promise<string | null> {
  let base: string | null = null
  for (let count = 0; count < MOST_COMMITS; count += 1) {
    const parent = await parentIfMarked(git, cwd, base ?? commit)
    if (parent === null) break
    base = parent
  }
  return base
}

async function parentIfMarked(git: Git, cwd: string, commit: string): Promise<string | null> {
  const format = `--format=%P%x00%(trailers:key=${SNAPSHOT_TRAILER},valueonly)`
  const text = await git.text(['log', '-1', '--no-show-signature', format, commit, '--'], { cwd })
  const [parents = '', trailer = ''] = text.split('\0')
  return trailer.trim() === '' ? null : (parents.split(' ')[0] ?? null) || null
}
