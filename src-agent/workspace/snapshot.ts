import { randomBytes } from 'node:crypto'
import { copyFile, lstat, rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { someOf } from '../../src-shared/some-of.ts'
import { withoutCredentials } from '../git/redact.ts'
import { GIT_LIMITS, type Git, gitFailure } from '../git/run.ts'
import { tellLocalPrograms } from './local-programs.ts'
import { pushCommit } from './push.ts'
import { readRecord } from './record.ts'
import type { Report, WorkspacePlan } from './report.ts'
import { type AsideFile, selectAside } from './set-aside.ts'
import { snapshotMessage } from './snapshot-mark.ts'
import { commitOf, isAncestor, mustBeWhole, readHead } from './state.ts'

/**
 * Pushes the commits of the workspace and, on top, one commit of everything uncommitted. The files, the index and
 * HEAD stay as they are. Gives the pushed commit, or null when there is nothing to push.
 */
export async function pushSnapshot(
  git: Git,
  plan: WorkspacePlan,
  report: Report,
  signal: AbortSignal,
): Promise<string | null> {
  const { workspaceDir: cwd } = plan
  await mustBeWhole(cwd)
  await tellLocalPrograms(git, cwd, report)
  const head = (await readHead(git, cwd)).commit
  const { tree, left, unreadable } = await snapshotTree(git, cwd, signal)
  tellLeft(left, report)
  if (unreadable !== '') {
    const text = `Some files could not be read for the snapshot: ${unreadable}`
    report.notice('warning', 'snapshot.incomplete', text)
  }
  const headTree =
    head === null ? null : await git.text(['rev-parse', `${head}^{tree}`], { cwd, signal })
  if (head !== null && tree === headTree) {
    if (!(await isWorthPushing(git, plan, head))) return null
    await pushCommit(git, plan, { commit: head, snapshot: false }, signal)
    return head
  }
  const commit = await git.text(
    ['commit-tree', tree, ...(await parentsOf(git, plan, head)), '-F', '-'],
    { cwd, signal, input: snapshotMessage(plan.ticket, plan.session) },
  )
  await pushCommit(git, plan, { commit, snapshot: true }, signal)
  return commit
}

async function isWorthPushing(git: Git, plan: WorkspacePlan, head: string): Promise<boolean> {
  const record = await readRecord(plan.workspaceDir)
  const isPushedBefore = (record?.pushed.length ?? 0) > 0 || plan.pushedCommit !== null
  return (
    isPushedBefore ||
    record === null ||
    !(await isAncestor(git, plan.workspaceDir, head, record.base))
  )
}

/** HEAD, and the session's branch where the agent left it behind: its commits stay on the remote too. */
async function parentsOf(git: Git, plan: WorkspacePlan, head: string | null): Promise<string[]> {
  const { workspaceDir: cwd, branch } = plan
  const own = await commitOf(git, cwd, `refs/heads/${branch}`)
  const parents = head === null ? [] : [head]
  if (own !== null && (head === null || !(await isAncestor(git, cwd, own, head)))) parents.push(own)
  return parents.flatMap((parent) => ['-p', parent])
}

export type SnapshotTree = {
  tree: string
  left: readonly AsideFile[]
  /** What git says of files that it could not read; empty when it could. */
  unreadable: string
}

/** The tree of all files that git tracks or would track, as they are now; written with an index of its own. */
export async function snapshotTree(
  git: Git,
  cwd: string,
  signal: AbortSignal,
): Promise<SnapshotTree> {
  const index = join(cwd, '.git', `ballet-index-${randomBytes(4).toString('hex')}`)
  const env = { GIT_INDEX_FILE: index }
  const options = { cwd, env, signal, limitMs: GIT_LIMITS.transfer }
  try {
    await copyIndex(join(cwd, '.git', 'index'), index)
    const untracked = await listUntracked(git, options)
    const left = await selectAside(cwd, untracked)
    let unreadable = await addTo(git, ['add', '--update', '--ignore-errors', '--', '.'], options)
    const skipped = new Set(left.map(({ path }) => path))
    const wanted = untracked.filter((path) => !skipped.has(path))
    if (wanted.length > 0) {
      const paths = Buffer.from(`${wanted.join('\0')}\0`, 'latin1')
      unreadable += await addTo(
        git,
        ['add', '--ignore-errors', '--pathspec-from-file=-', '--pathspec-file-nul'],
        { ...options, env: { ...env, GIT_LITERAL_PATHSPECS: '1' }, input: paths },
      )
    }
    return { tree: await git.text(['write-tree'], options), left, unreadable }
  } finally {
    await rm(index, { force: true })
    await rm(`${index}.lock`, { force: true })
  }
}

/** A copy of the index that nobody else uses; none is made where there is no index yet. */
export async function copyIndex(from: string, to: string): Promise<void> {
  const info = await lstat(from).catch(() => null)
  if (info === null) return
  await copyFile(from, to)
  // git trusts what it knows of a file only when that is older than the index: the copy must not look newer.
  const time = Math.floor(info.mtimeMs / 1_000) - 1
  await utimes(to, time, time)
}

type AddOptions = Parameters<Git['run']>[1]

/** Names as Latin-1, one letter a byte, so that names that are no UTF-8 come through. */
async function listUntracked(git: Git, options: AddOptions): Promise<string[]> {
  const args = ['ls-files', '-z', '--others', '--exclude-standard']
  const result = await git.run(args, options)
  if (result.exitCode !== 0) throw gitFailure(args, result)
  return result.stdout.toString('latin1').split('\0').filter(Boolean)
}

function tellLeft(left: readonly AsideFile[], report: Report): void {
  if (left.length === 0) return
  const names = left.map(
    ({ path, why }) => `${Buffer.from(path, 'latin1').toString('utf8')} (${why})`,
  )
  report.notice(
    'warning',
    'snapshot.left',
    `Not in the pushed snapshot, only in the workspace: ${someOf(names)}.`,
  )
}

/** Adds what can be read; what git says of the rest. Everything else that goes wrong is a failure. */
async function addTo(git: Git, args: readonly string[], options: AddOptions): Promise<string> {
  const result = await git.run(args, options)
  if (result.exitCode === 0) return ''
  if (result.exitCode !== 1 || /No space left|quota/i.test(result.stderr)) {
    throw gitFailure(args, result)
  }
  return withoutCredentials(result.stderr).trim().slice(0, 500)
}
