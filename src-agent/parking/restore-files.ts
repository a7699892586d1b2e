import { mkdir, readFile, rm, rmdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import { GIT_LIMITS, type Git, type GitOptions } from '../git/run.ts'
import { extractInto, makeFolders } from './archive.ts'
import { withoutDrivers } from './conversions.ts'
import { setModes } from './file-modes.ts'
import { partOfRefs, restoreLocalRefs, updateRefs } from './local-refs.ts'
import type { SnapshotCommits, SnapshotManifest } from './manifest.ts'
import { isListed, isRestorable } from './own-settings.ts'
import {
  absolutePath,
  foldersAbove,
  joinList,
  type PathBytes,
  pathOfName,
  safeParts,
} from './path-bytes.ts'
import { openSealed } from './sealed-file.ts'
import { readConfig, readIndex, setting } from './survey.ts'

type Sealed = { file: string; key: Uint8Array }

/**
 * Brings the work of a snapshot back into a clone in which nothing is checked out: files, index, flags, branches,
 * stashes, HEAD. All its objects are there, but for those of branches and stashes where it is partial: gives the names of
 * those that lack them. Rejects with `BalletError`; the folder is then of no use.
 */
export async function restoreFiles(
  git: Git,
  cwd: string,
  snapshot: SnapshotCommits,
  { aside, isPartial }: { aside: Sealed | null; isPartial: boolean },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { manifest } = snapshot
  await restoreSettings(git, cwd, manifest)
  const env = withoutDrivers(await readConfig(git, { cwd }))
  const options: GitOptions = { cwd, env, signal, limitMs: GIT_LIMITS.clone }
  await git.text(['read-tree', '--reset', '-u', snapshot.work], options)
  await writeRaw(git, pathsOf(manifest.raw), options)
  for (const { path, absent } of manifest.skipWorktree) {
    if (absent) await removeWithFolders(cwd, safe(path))
  }
  const modes = manifest.modes.map(({ path, mode }) => ({ path: safe(path), mode }))
  await setModes(cwd, modes)
  // Those of an earlier parking may be in the commits by now.
  if (aside !== null) {
    await extractInto(openSealed(aside.file, aside.key), cwd, isPartial ? 'skip' : 'refuse')
  }
  // What git knows of the files stays where index and files agree.
  await git.text(['read-tree', '--reset', snapshot.index], options)
  await lookAgain(git, pathsOf(manifest.raw), options)
  await intendToAdd(git, manifest.intentToAdd, options)
  await setFlag(git, '--assume-unchanged', pathsOf(manifest.assumeUnchanged), options)
  const skipped = manifest.skipWorktree.map(({ path }) => safe(path))
  await setFlag(git, '--skip-worktree', skipped, options)
  for (const folder of pathsOf(manifest.emptyFolders)) await makeFolders(cwd, folder)
  const { whole, lost } = isPartial
    ? await partOfRefs(git, cwd, manifest)
    : { whole: manifest, lost: [] }
  await restoreLocalRefs(git, cwd, whole)
  await restoreHead(git, cwd, manifest)
  return lost
}

/** Checks out a commit that stands for the whole work. */
export async function restoreCommit(
  git: Git,
  cwd: string,
  { branch, commit }: { branch: string; commit: string },
  signal: AbortSignal,
): Promise<void> {
  const env = withoutDrivers(await readConfig(git, { cwd }))
  const options: GitOptions = { cwd, env, signal, limitMs: GIT_LIMITS.clone }
  await git.text(['read-tree', '--reset', '-u', commit], options)
  await updateRefs(git, cwd, [`update refs/heads/${branch} ${commit}`])
  await git.text(['symbolic-ref', 'HEAD', `refs/heads/${branch}`], { cwd })
}

async function restoreSettings(git: Git, cwd: string, manifest: SnapshotManifest): Promise<void> {
  const known = await readConfig(git, { cwd })
  for (const [name, value] of manifest.config) {
    // A session may have been brought in from elsewhere: nothing in it may make git run a program.
    if (!isRestorable(name)) continue
    if (isListed(name)) await git.text(['config', '--add', name, value], { cwd })
    else if (setting(known, name) !== value) await git.text(['config', name, value], { cwd })
  }
  for (const [name, text] of manifest.info) {
    await writeFile(join(cwd, '.git', 'info', name), pathOfName(text), 'latin1')
  }
}

/** Removes a file, and the folders that were only there for it. */
async function removeWithFolders(cwd: string, path: PathBytes): Promise<void> {
  await rm(absolutePath(cwd, path), { force: true })
  for (const folder of foldersAbove(path)) {
    const isGone = await rmdir(absolutePath(cwd, folder)).then(
      () => true,
      () => false,
    )
    if (!isGone) return
  }
}

/** Puts files on the disk with the very bytes that the index has of them. */
async function writeRaw(git: Git, paths: readonly PathBytes[], options: GitOptions): Promise<void> {
  if (paths.length === 0) return
  const { cwd } = options
  const attributes = join(cwd, '.git', 'info', 'attributes')
  const before = await readIfThere(attributes)
  for (const path of paths) await rm(absolutePath(cwd, path), { force: true })
  // The strongest of all attributes, in a clone that nobody uses yet.
  await writeFile(attributes, '* -text -eol -crlf -ident -filter -working-tree-encoding\n')
  const env = {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'core.autocrlf',
    GIT_CONFIG_VALUE_0: 'false',
  }
  // The index is not written: without conversions git would take other files for changed.
  const args = ['checkout-index', '--force', '-z', '--stdin']
  await git.text(args, { ...options, env, input: joinList(paths) })
  if (before === null) await rm(attributes)
  else await writeFile(attributes, before)
}

/** Makes git forget what it knows of files, and compare their content with the index. */
async function lookAgain(
  git: Git,
  paths: readonly PathBytes[],
  options: GitOptions,
): Promise<void> {
  if (paths.length === 0) return
  const wanted = new Set(paths)
  const lines = (await readIndex(git, options))
    .filter(({ path }) => wanted.has(path))
    .map(({ mode, id, path }) => `${mode} ${id}\t${path}`)
  const args = ['update-index', '-z', '--index-info']
  await git.text(args, { ...options, input: joinList(lines) })
  // Its exit code says whether something differs, which it may.
  await git.run(['update-index', '-q', '--refresh'], options)
}

/** In a folder of its own, so that no file of the work is touched: what is intended may not be there any more. */
async function intendToAdd(
  git: Git,
  entries: SnapshotManifest['intentToAdd'],
  options: GitOptions,
): Promise<void> {
  if (entries.length === 0) return
  const gitDir = join(options.cwd, '.git')
  const folder = join(gitDir, 'ballet-intended')
  await mkdir(folder)
  const paths: PathBytes[] = []
  for (const { path: name, mode } of entries) {
    const path = safe(name)
    const [parent] = foldersAbove(path)
    if (parent !== undefined) await makeFolders(folder, parent)
    const file = absolutePath(folder, path)
    if (mode === '120000') await symlink('.', file)
    else await writeFile(file, '', { mode: mode === '100755' ? 0o755 : 0o644 })
    paths.push(path)
  }
  const args = [
    'add',
    '--intent-to-add',
    '--force',
    '--pathspec-from-file=-',
    '--pathspec-file-nul',
  ]
  const env = { GIT_DIR: gitDir, GIT_WORK_TREE: folder, GIT_LITERAL_PATHSPECS: '1' }
  const input = joinList(paths)
  await git.text(args, { ...options, cwd: folder, env: { ...options.env, ...env }, input })
  await rm(folder, { recursive: true })
}

async function setFlag(
  git: Git,
  flag: string,
  paths: readonly PathBytes[],
  options: GitOptions,
): Promise<void> {
  if (paths.length === 0) return
  const args = ['update-index', flag, '-z', '--stdin']
  await git.text(args, { ...options, input: joinList(paths) })
}

async function restoreHead(git: Git, cwd: string, manifest: SnapshotManifest): Promise<void> {
  const { head, own, branch } = manifest
  if (own !== null) await updateRefs(git, cwd, [`update refs/heads/${branch} ${own}`])
  if (head.branch !== null) {
    await git.text(['symbolic-ref', 'HEAD', `refs/heads/${head.branch}`], { cwd })
  } else if (head.commit !== null) {
    await git.text(['update-ref', '--no-deref', 'HEAD', head.commit], { cwd })
  }
}

function pathsOf(names: readonly string[]): PathBytes[] {
  return names.map(safe)
}

/** Names come with a commit that others can write: none of them may lead out of the workspace, or into `.git`. */
function safe(name: string): PathBytes {
  const path = pathOfName(name)
  const first = safeParts(path)?.[0]
  if (first !== undefined && first.toLowerCase() !== '.git') return path
  throw new BalletError({
    code: 'snapshot.broken',
    message: `The snapshot names ${JSON.stringify(name)}, which is no path in a workspace.`,
    hint: 'Somebody changed the snapshot. Its files are in the commit: check it out by hand.',
  })
}

async function readIfThere(file: string): Promise<Buffer | null> {
  try {
    return await readFile(file)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}
