import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import { GIT_LIMITS, type Git, type GitOptions, gitFailure } from '../git/run.ts'
import { unlockedText } from '../git/stale-locks.ts'
import { kindOf } from '../workspace/folders.ts'
import type { WorkspacePlan } from '../workspace/report.ts'
import { commitOf } from '../workspace/state.ts'
import type { SnapshotManifest } from './manifest.ts'

type Refs = Pick<SnapshotManifest, 'refs' | 'stashes'>

/** Refs that are not the work of the session, or are kept in another way. */
const NOT_KEPT = /^refs\/(remotes|ballet|bisect|worktree|rewritten|prefetch)\/|^refs\/stash$/
const STASH = 'refs/ballet/stash/'
const RESTORED = 'refs/ballet/restored/'

/** What a clone has beside the session's branch: other branches, tags that the remote does not have, stashes. */
export async function readLocalRefs(git: Git, plan: WorkspacePlan): Promise<Refs> {
  const { workspaceDir: cwd, branch, mirrorDir } = plan
  const theirs = new Set((await kindOf(mirrorDir)) === 'folder' ? await tagsOf(git, mirrorDir) : [])
  const lines = await git.text(
    ['for-each-ref', '--format=%(symref)%00%(objectname)%00%(refname)'],
    { cwd },
  )
  const refs = lines.split('\n').flatMap((line) => {
    const [symref, commit = '', name = ''] = line.split('\0')
    if (name === '' || symref !== '' || NOT_KEPT.test(name)) return []
    if (name === `refs/heads/${branch}` || theirs.has(`${commit} ${name}`)) return []
    return [{ name, commit }]
  })
  if (refs.some(({ name }) => name.includes('\ufffd'))) throw unnamable()
  return { refs, stashes: await readStashes(git, cwd) }
}

async function tagsOf(git: Git, cwd: string): Promise<string[]> {
  const args = ['for-each-ref', '--format=%(objectname) %(refname)', 'refs/tags']
  return (await git.text(args, { cwd })).split('\n')
}

async function readStashes(git: Git, cwd: string): Promise<Refs['stashes']> {
  if ((await commitOf(git, cwd, 'refs/stash')) === null) return []
  const args = ['log', '--walk-reflogs', '-z', '--format=%H %gs', '--no-show-signature']
  const text = await git.text([...args, 'refs/stash', '--'], { cwd })
  return text
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => ({
      commit: line.split(' ')[0] ?? '',
      message: line.slice(line.indexOf(' ') + 1),
    }))
}

/**
 * Writes a git bundle of the refs and stashes, without what the `without` commits have. Null when they have it all.
 */
export async function bundleLocalRefs(
  git: Git,
  cwd: string,
  { refs, stashes }: Refs,
  bundle: { file: string; without: readonly string[]; signal: AbortSignal },
): Promise<string | null> {
  if (refs.length === 0 && stashes.length === 0) return null
  const named = stashes.map(({ commit }, number) => ({ name: `${STASH}${number}`, commit }))
  await updateRefs(
    git,
    cwd,
    named.map(({ name, commit }) => `update ${name} ${commit}`),
  )
  return createBundle(git, cwd, { ...bundle, refs: [...refs, ...named].map(({ name }) => name) })
}

/** Writes a git bundle of some refs; null when it would be empty. Rejects with what git says. */
export async function createBundle(
  git: Git,
  cwd: string,
  bundle: {
    file: string
    refs: readonly string[]
    without: readonly string[]
    signal: AbortSignal
  },
): Promise<string | null> {
  const { file, refs, without, signal } = bundle
  const clear = async () => {
    for (const each of [file, `${file}.lock`]) await rm(each, { force: true })
  }
  // What a git that was killed left.
  await clear()
  const args = ['bundle', 'create', '--quiet', file, '--stdin']
  const options: GitOptions = { cwd, signal, limitMs: GIT_LIMITS.transfer }
  const input = [...refs, ...without.map((commit) => `^${commit}`), ''].join('\n')
  const result = await git.run(args, { ...options, input })
  if (result.exitCode === 0) return file
  await clear()
  if (/create empty bundle/.test(result.stderr)) return null
  throw gitFailure(args, result)
}

/** Those of the names that stand for commits here, as commits. */
export async function knownCommits(
  git: Git,
  cwd: string,
  names: readonly (string | null)[],
): Promise<string[]> {
  const found: string[] = []
  for (const name of names) {
    const commit = name === null ? null : await commitOf(git, cwd, name)
    if (commit !== null) found.push(commit)
  }
  return found
}

/**
 * Those of the names that a clone from the mirror of the project has too. What the clone fetched by itself the mirror
 * may lack, and the remote may not have it any more when that matters.
 */
export async function commitsOfMirror(
  git: Git,
  { workspaceDir, mirrorDir }: Pick<WorkspacePlan, 'workspaceDir' | 'mirrorDir'>,
  names: readonly (string | null)[],
): Promise<string[]> {
  if ((await kindOf(mirrorDir)) !== 'folder') return []
  return knownCommits(git, mirrorDir, await knownCommits(git, workspaceDir, names))
}

/** Brings the objects of a bundle into a clone. Rejects with `snapshot.incomplete` when they need others. */
export async function fetchBundle(
  git: Git,
  cwd: string,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const options = { cwd, signal, limitMs: GIT_LIMITS.transfer }
  const check = await git.run(['bundle', 'verify', file], options)
  if (check.exitCode !== 0) {
    throw incomplete(`a bundle cannot be read: ${check.stderr.trim().slice(0, 300)}`)
  }
  const args = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--no-auto-gc']
  await unlockedText(git, [...args, '--', file, `+refs/*:${RESTORED}*`], options)
}

/** Forgets under which names a bundle was fetched. */
export async function forgetFetched(git: Git, cwd: string): Promise<void> {
  const names = await git.text(['for-each-ref', '--format=%(refname)', RESTORED], { cwd })
  await updateRefs(
    git,
    cwd,
    names
      .split('\n')
      .filter((name) => name !== '')
      .map((name) => `delete ${name}`),
  )
}

/** Makes the refs and the stashes again; their objects are there. Rejects with `snapshot.incomplete` when not. */
export async function restoreLocalRefs(git: Git, cwd: string, kept: Refs): Promise<void> {
  const objects = [...kept.refs, ...kept.stashes].map(({ commit }) => commit)
  await mustHaveObjects(git, cwd, objects)
  await updateRefs(
    git,
    cwd,
    kept.refs.map(({ name, commit }) => `update ${name} ${commit}`),
  )
  for (const { commit, message } of [...kept.stashes].reverse()) {
    await git.text(['stash', 'store', '--quiet', '-m', message, commit], { cwd })
  }
}

/** Those of them whose objects are there, and the names of the others. */
export async function partOfRefs(
  git: Git,
  cwd: string,
  { refs, stashes }: Refs,
): Promise<{ whole: Refs; lost: readonly string[] }> {
  const ids = [...refs, ...stashes].map(({ commit }) => commit)
  const missing = new Set(await missingObjects(git, cwd, ids))
  const isWhole = ({ commit }: { commit: string }) => !missing.has(commit)
  const isLost = (each: { commit: string }) => !isWhole(each)
  return {
    whole: { refs: refs.filter(isWhole), stashes: stashes.filter(isWhole) },
    lost: [
      ...refs.filter(isLost).map(({ name }) => name.replace(/^refs\/(heads|tags)\//, '')),
      ...stashes.filter(isLost).map(({ message }) => `the stash "${message}"`),
    ],
  }
}

async function mustHaveObjects(git: Git, cwd: string, ids: readonly string[]): Promise<void> {
  const missing = await missingObjects(git, cwd, ids)
  if (missing.length > 0) {
    throw incomplete(`it lacks ${missing.map((id) => id.slice(0, 12)).join(', ')}`)
  }
}

async function missingObjects(git: Git, cwd: string, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const answer = await git.text(['cat-file', '--batch-check'], { cwd, input: ids.join('\n') })
  const end = ' missing'
  return answer
    .split('\n')
    .flatMap((line) => (line.endsWith(end) ? [line.slice(0, -end.length)] : []))
}

export async function updateRefs(git: Git, cwd: string, commands: readonly string[]) {
  if (commands.length === 0) return
  await unlockedText(git, ['update-ref', '--stdin'], { cwd, input: `${commands.join('\n')}\n` })
}

export function incomplete(why: string): BalletError {
  return new BalletError({
    code: 'snapshot.incomplete',
    message: `Not everything of the parked work is here: ${why}.`,
    hint: 'Make the remote reachable, and import everything that was exported with it, then resume again.',
  })
}

function unnamable(): BalletError {
  return new BalletError({
    code: 'workspace.ref-name',
    message: 'The workspace has a branch or a tag whose name is no UTF-8.',
    hint: 'Have the agent rename it, then park again. The session and its workspace are kept.',
  })
}

/** Where a bundle is written before it is sealed. */
export function bundlePath(folder: string, name: string): string {
  return join(folder, `${name}.bundle`)
}
