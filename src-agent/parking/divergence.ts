import type { Git } from '../git/run.ts'
import { isAncestor } from '../workspace/state.ts'
import { nameOfPath } from './path-bytes.ts'
import { listed } from './survey.ts'

const FILES_SHOWN = 50

/** How a branch that somebody else moved and the parked work differ. */
export type Divergence = {
  /** Where the branch of the remote is now. */
  theirs: string
  /** Commits that only the parked work has, the two of a snapshot not counted. */
  ahead: number
  /** Commits that only the branch has. */
  behind: number
  /** Files that their commits changed, as `M path`; at most 50. */
  files: readonly string[]
  /** How many files that are. */
  fileCount: number
  /** Whether theirs goes on from the parked commit itself. */
  onTop: boolean
}

/** Compares `ours`, the parked commit, made on `base` (null: on nothing), with what the branch is now. */
export async function compareWork(
  git: Git,
  cwd: string,
  { ours, base, theirs }: { ours: string; base: string | null; theirs: string },
): Promise<Divergence> {
  const onTop = await isAncestor(git, cwd, ours, theirs)
  const mine = onTop ? ours : (base ?? ours)
  const counts = await git.text(['rev-list', '--left-right', '--count', `${mine}...${theirs}`], {
    cwd,
  })
  const [ahead = 0, behind = 0] = counts.split('\t').map(Number)
  const common = await git.run(['merge-base', mine, theirs], { cwd })
  const from = common.exitCode === 0 ? common.stdout.toString('utf8').trim() : mine
  const args = ['diff-tree', '-r', '-z', '--name-status', '--no-renames', from, theirs]
  const fields = await listed(git, args, { cwd })
  const files: string[] = []
  for (let at = 0; at + 1 < fields.length; at += 2) {
    files.push(`${fields[at]} ${nameOfPath(fields[at + 1] ?? '')}`)
  }
  const shown = files.slice(0, FILES_SHOWN)
  return { theirs, ahead, behind, files: shown, fileCount: files.length, onTop }
}

/** The same for the agent and for the timeline. */
export function divergenceInWords(branch: string, moved: Divergence): string {
  const commits = (count: number) => (count === 1 ? '1 commit' : `${count} commits`)
  const more = moved.fileCount > moved.files.length ? ['…'] : []
  const relation = moved.onTop
    ? `It goes on from the snapshot of your work with ${commits(moved.behind)}; yours has none that it lacks.`
    : `It has ${commits(moved.behind)} that your work lacks, and your work has ${commits(moved.ahead)} that it lacks.`
  return [
    `While the session was parked, somebody moved the branch ${branch} on the remote to ${moved.theirs.slice(0, 12)}.`,
    relation,
    `Your work is restored as it was; theirs is in origin/${branch}, and nothing of it is lost.`,
    `Files that they changed (${moved.fileCount}):`,
    ...[...moved.files, ...more].map((line) => `  ${line}`),
    `Before this session can push again, its work must hold theirs: git merge origin/${branch}`,
  ].join('\n')
}
