import type { Git } from '../git/run.ts'

const TRAILER = 'Ballet-Snapshot'

/** The message of a commit that stands for uncommitted work. */
export function snapshotMessage(ticket: string, session: string): string {
  return [
    `Work in progress on ${ticket}`,
    '',
    'Uncommitted work of a stopped session, kept by Ballet. The next push of the session replaces this commit.',
    '',
    `${TRAILER}: ${session}`,
    '',
  ].join('\n')
}

/** The commit that a snapshot was made on; null when `commit` is no snapshot. */
export async function firstParentOfSnapshot(
  git: Git,
  cwd: string,
  commit: string,
): Promise<string | null> {
  const format = `--format=%P%x00%(trailers:key=${TRAILER},valueonly)`
  const text = await git.text(['log', '-1', '--no-show-signature', format, commit, '--'], { cwd })
  const [parents = '', trailer = ''] = text.split('\0')
  return trailer.trim() === '' ? null : (parents.split(' ')[0] ?? null) || null
}
