import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { mkdir, readdir, readlink, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import { type Git, type GitOptions, gitFailure } from '../git/run.ts'
import { copyIndex } from '../workspace/snapshot.ts'
import { type Blob, hashFiles, hashWritten } from './conversions.ts'
import { unusualModes } from './file-modes.ts'
import { FileMode } from './manifest.ts'
import {
  absolutePath,
  comparePaths,
  foldersAbove,
  joinList,
  nameOfPath,
  type PathBytes,
} from './path-bytes.ts'
import { statAll } from './stat-files.ts'
import {
  type IndexEntry,
  isEmptyBlob,
  LONG_LIMIT_MS,
  listed,
  type Survey,
  setting,
} from './survey.ts'

/** The work in a workspace as two trees of git, and what trees cannot hold. */
export type ScannedWork = {
  /** Tree of the index. */
  indexTree: string
  /** Tree of the files on the disk: tracked, and untracked but not ignored. */
  workTree: string
  /** Entries of the index that are only intended to be added. */
  intentToAdd: readonly { path: PathBytes; mode: FileMode }[]
  /** Permissions that are not those of a new file on this machine; not the bits for other users' rights. */
  modes: readonly { path: PathBytes; mode: number }[]
  assumeUnchanged: readonly PathBytes[]
  skipWorktree: readonly { path: PathBytes; absent: boolean }[]
  /** Files of which git would write other bytes to the disk than the ones that are there. */
  raw: readonly PathBytes[]
  /** Folders in which there is nothing to keep, and above no other of them. */
  emptyFolders: readonly PathBytes[]
  /** SHA-256 over path, mode and bytes of every file of `workTree` as it is on the disk. */
  digest: string
}

/** In `.git`, for the time of a scan. */
const SCRATCH = 'ballet-scan'

/**
 * Turns what is in a workspace into objects of its repository. Its files, index, HEAD and branches stay as they are.
 * Nothing may be writing to it. Rejects with `BalletError` when something cannot be read or stored.
 */
export async function scanWork(
  git: Git,
  survey: Survey,
  signal: AbortSignal,
): Promise<ScannedWork> {
  const { cwd } = survey
  const scratch = join(cwd, '.git', SCRATCH)
  // What a scan that was killed left.
  await rm(scratch, { recursive: true, force: true })
  await mkdir(scratch)
  const index = join(scratch, 'index')
  const env = { ...survey.conversions.withoutDrivers, GIT_INDEX_FILE: index }
  const options: GitOptions = { cwd, env, signal, limitMs: LONG_LIMIT_MS }
  try {
    await copyIndex(join(cwd, '.git', 'index'), index)
    const indexTree = await git.text(['write-tree'], options)
    const intentToAdd = await findIntentToAdd(git, survey, indexTree, options)
    const skipWorktree = await findSkipped(survey)
    await clearFlags(git, survey, skipWorktree, options)
    const files = await readFiles(git, survey, { intentToAdd, skipWorktree, scratch }, options)
    await addToIndex(git, survey, files, options)
    const workTree = await git.text(['write-tree'], options)
    return {
      ...{ indexTree, workTree, intentToAdd, skipWorktree },
      assumeUnchanged: pathsOf(survey.entries.filter((entry) => entry.assumeUnchanged)),
      raw: pathsOf(files.filter((file) => file.raw)),
      modes: await unusualModes(survey, pathsOf(files.filter(({ mode }) => mode !== '120000'))),
      emptyFolders: await findEmptyFolders(survey, files),
      digest: digestOf(files),
    }
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

/** They are the entries that do not get into a tree. */
async function findIntentToAdd(
  git: Git,
  survey: Survey,
  tree: string,
  options: GitOptions,
): Promise<ScannedWork['intentToAdd']> {
  const empty = survey.entries.filter(({ id, stage }) => stage === 0 && isEmptyBlob(id))
  if (empty.length === 0) return []
  const inTree = await listed(git, ['ls-tree', '-rz', '--name-only', '--full-tree', tree], options)
  const known = new Set(inTree)
  return empty
    .filter(({ path }) => !known.has(path))
    .map(({ path, mode }) => ({ path, mode: FileMode.parse(mode) }))
}

async function findSkipped(survey: Survey) {
  const skipped = survey.entries.filter((entry) => entry.skipWorktree)
  const infos = await statAll(survey.cwd, pathsOf(skipped))
  return skipped.map(({ path }) => ({ path, absent: infos.get(path) === undefined }))
}

/** In the copy of the index only: git shall look at these files after all. */
async function clearFlags(
  git: Git,
  survey: Survey,
  skipWorktree: ScannedWork['skipWorktree'],
  options: GitOptions,
): Promise<void> {
  const clear = async (flag: string, paths: readonly PathBytes[]) => {
    if (paths.length === 0) return
    const args = ['update-index', `--no-${flag}`, '-z', '--stdin']
    await must(git, args, { ...options, input: joinList(paths) })
  }
  const present = skipWorktree.filter(({ absent }) => !absent)
  await clear('skip-worktree', pathsOf(present))
  await clear('assume-unchanged', pathsOf(survey.entries.filter((each) => each.assumeUnchanged)))
}

/** A file on the disk that belongs to the work. */
type WorkFile = {
  path: PathBytes
  mode: string
  /** What the working tree's commit holds. */
  id: string
  /** Of the very bytes on the disk. */
  rawId: string
  raw: boolean
  entry: IndexEntry | null
}

type Known = {
  intentToAdd: ScannedWork['intentToAdd']
  skipWorktree: ScannedWork['skipWorktree']
  scratch: string
}

async function readFiles(
  git: Git,
  survey: Survey,
  known: Known,
  options: GitOptions,
): Promise<WorkFile[]> {
  const { cwd, conversions, untracked } = survey
  const aside = new Set(pathsOf(survey.aside))
  const absent = new Set(pathsOf(known.skipWorktree.filter((each) => each.absent)))
  const isIntended = new Set(pathsOf(known.intentToAdd))
  const changed = await changedFiles(git, options)
  const tracked = survey.entries.filter(
    ({ path, stage, mode }) =>
      stage === 0 &&
      mode !== '160000' &&
      !absent.has(path) &&
      !aside.has(path) &&
      // Also when a look would find another file there, through a folder that is a link now.
      changed.get(path) !== 'D',
  )
  const isDirty = (path: PathBytes) =>
    changed.has(path) || isIntended.has(path) || conversions.driven.has(path)
  const looked: { path: PathBytes }[] = [
    ...tracked.filter(({ path }) => isDirty(path) || conversions.cleaned.has(path)),
    ...untracked.map((path) => ({ path })),
  ]
  const trusted = tracked.filter(({ path }) => !isDirty(path) && !conversions.cleaned.has(path))
  const unlike = await findUnlike(git, trusted, options)
  const isLooked = (path: PathBytes) => isDirty(path) || unlike.has(path)
  looked.push(...trusted.filter(({ path }) => unlike.has(path)))
  const infos = await statAll(cwd, pathsOf(looked))
  const rawIds = await hashAll(git, survey, infos, known.scratch, options)
  const files: WorkFile[] = []
  const take = (path: PathBytes, entry: IndexEntry | null) => {
    const info = infos.get(path)
    const rawId = rawIds.get(path)
    if (info === undefined || rawId === undefined) return
    const mode = modeOf(info, entry, survey)
    files.push({ path, mode, id: rawId, rawId, raw: false, entry })
  }
  for (const entry of tracked) {
    if (isLooked(entry.path) || conversions.cleaned.has(entry.path)) take(entry.path, entry)
    else {
      const { path, mode, id } = entry
      files.push({ path, mode, id, rawId: id, raw: false, entry })
    }
  }
  for (const path of untracked) take(path, null)
  return decideBytes(git, survey, { files, infos }, options)
}

/**
 * Files that git takes for unchanged and whose bytes are not those of the index: what made them so, an attribute that
 * is gone by now, may not be there for the one who gets them back.
 */
async function findUnlike(
  git: Git,
  trusted: readonly IndexEntry[],
  options: GitOptions,
): Promise<Set<PathBytes>> {
  const files = trusted.filter(({ mode }) => mode !== '120000')
  const ids = await hashFiles(git, pathsOf(files), false, options)
  return new Set(pathsOf(files.filter(({ path, id }) => ids.get(path) !== id)))
}

/** Where git changes bytes on their way to the disk, the tree holds what gives the right ones, if anything does. */
async function decideBytes(
  git: Git,
  { conversions }: Survey,
  found: {
    files: readonly WorkFile[]
    infos: ReadonlyMap<PathBytes, Stats>
  },
  options: GitOptions,
): Promise<WorkFile[]> {
  const { files, infos } = found
  const asked = files.filter(({ path, mode }) => mode !== '120000' && conversions.smudged.has(path))
  if (asked.length === 0) return [...files]
  const blobs = (idOf: (file: WorkFile) => string): Blob[] =>
    asked.map((file) => {
      return { path: file.path, id: idOf(file), bytes: infos.get(file.path)?.size ?? 0 }
    })
  // By content alone, never by what git remembers of it: a proof must come to the same tree.
  const kept = (file: WorkFile) => file.entry?.id ?? file.rawId
  const first = await hashWritten(git, blobs(kept), options)
  const second = await hashWritten(
    git,
    blobs(({ rawId }) => rawId),
    options,
  )
  const isAsked = new Set(pathsOf(asked))
  return files.map((file) => {
    if (!isAsked.has(file.path)) return file
    if (first.get(file.path) === file.rawId) return { ...file, id: kept(file) }
    return { ...file, id: file.rawId, raw: second.get(file.path) !== file.rawId }
  })
}

/** Tracked files that may differ from the index, by what git remembers of them, with the letter for how. */
async function changedFiles(git: Git, options: GitOptions): Promise<Map<PathBytes, string>> {
  const args = ['diff-files', '-z', '--name-status', '--ignore-submodules=all', '--no-renames']
  const fields = await listed(git, args, options)
  const found = new Map<PathBytes, string>()
  for (let at = 0; at + 1 < fields.length; at += 2)
    found.set(fields[at + 1] ?? '', fields[at] ?? '')
  return found
}

async function hashAll(
  git: Git,
  { cwd }: Survey,
  infos: ReadonlyMap<PathBytes, Stats>,
  scratch: string,
  options: GitOptions,
): Promise<Map<PathBytes, string>> {
  const files: PathBytes[] = []
  const links: PathBytes[] = []
  for (const [path, info] of infos) {
    if (info.isSymbolicLink()) links.push(path)
    else if (info.isFile()) files.push(path)
  }
  const found = await hashFiles(git, files, true, options)
  // git would follow a link: where it leads to is written to a file of its own.
  const targets = await Promise.all(
    links.map(async (path, number) => {
      const target = await readlink(absolutePath(cwd, path), { encoding: 'buffer' })
      await writeFile(join(scratch, String(number)), target)
      return Buffer.from(join(scratch, String(number))).toString('latin1')
    }),
  )
  const ids = await hashFiles(git, targets, true, options)
  for (const [number, path] of links.entries())
    found.set(path, ids.get(targets[number] ?? '') ?? '')
  return found
}

function modeOf(info: Stats, entry: IndexEntry | null, { config }: Survey): string {
  if (info.isSymbolicLink()) return '120000'
  if (entry?.mode === '120000' && setting(config, 'core.symlinks') === 'false') return entry.mode
  if (setting(config, 'core.filemode') !== 'false') {
    return (info.mode & 0o100) === 0 ? '100644' : '100755'
  }
  return entry?.mode === '100755' ? entry.mode : '100644'
}

async function addToIndex(
  git: Git,
  survey: Survey,
  files: readonly WorkFile[],
  options: GitOptions,
): Promise<void> {
  const present = new Set(pathsOf(files))
  const aside = new Set(pathsOf(survey.aside))
  const lines: string[] = []
  const zero = '0'.repeat(survey.entries[0]?.id.length ?? 40)
  for (const { path, mode, stage, skipWorktree } of survey.entries) {
    const isKept = present.has(path) || mode === '160000' || aside.has(path) || stage !== 0
    // What sparse files hold is in the index alone.
    if (!isKept && !skipWorktree) lines.push(`0 ${zero}\t${path}`)
  }
  for (const { path, mode, id, entry } of files) {
    if (entry?.mode !== mode || entry.id !== id || isEmptyBlob(id)) {
      lines.push(`${mode} ${id}\t${path}`)
    }
  }
  if (lines.length === 0) return
  const args = ['update-index', '--add', '--replace', '-z', '--index-info']
  await must(git, args, { ...options, input: joinList(lines) })
  // What it does not take it leaves out, and succeeds.
  const held = new Set(await listed(git, ['ls-files', '-z', '--cached'], options))
  const left = files.find(({ path }) => !held.has(path))
  if (left !== undefined) throw notTaken(left.path)
}

function notTaken(path: PathBytes): BalletError {
  return new BalletError({
    code: 'workspace.file-name',
    message: `git takes no file with the name ${JSON.stringify(nameOfPath(path))} into a commit.`,
    hint: 'Have the agent rename, ignore or delete it, then park again. The session and its workspace are kept.',
  })
}

/** Folders that hold no file of the work, and no other such folder. Ignored ones and repositories are not looked at. */
async function findEmptyFolders(
  { cwd, ignored, nested, entries, aside }: Survey,
  files: readonly WorkFile[],
): Promise<PathBytes[]> {
  const used = new Set<PathBytes>()
  for (const { path } of [...files, ...aside]) for (const each of foldersAbove(path)) used.add(each)
  const closed = new Set<PathBytes>([
    ...nested,
    ...pathsOf(entries.filter(({ mode }) => mode === '160000')),
  ])
  const found: PathBytes[] = []
  /** Gives whether something in the folder is kept. */
  const walk = async (folder: PathBytes): Promise<boolean> => {
    let isUsed = used.has(folder)
    const names = await readdir(absolutePath(cwd, folder), {
      withFileTypes: true,
      encoding: 'buffer',
    })
    for (const entry of names) {
      if (!entry.isDirectory()) continue
      const path = (folder === '' ? '' : `${folder}/`) + entry.name.toString('latin1')
      // No manifest may name what some system takes for the repository itself.
      if (path.toLowerCase() === '.git' || closed.has(path) || ignored.has(`${path}/`)) continue
      isUsed = (await walk(path)) || isUsed
    }
    if (!isUsed) found.push(folder)
    return true
  }
  await walk('')
  return found.filter((path) => path !== '').sort(comparePaths)
}

function digestOf(files: readonly WorkFile[]): string {
  const hash = createHash('sha256')
  for (const { path, mode, rawId } of [...files].sort((a, b) => comparePaths(a.path, b.path))) {
    hash.update(`${mode} ${rawId}\t${path}\0`, 'latin1')
  }
  return hash.digest('hex')
}

async function must(git: Git, args: readonly string[], options: GitOptions): Promise<void> {
  const result = await git.run(args, options)
  if (result.exitCode !== 0) throw gitFailure(args, result)
}

function pathsOf(all: Iterable<{ path: PathBytes }>): PathBytes[] {
  return Array.from(all, ({ path }) => path)
}
