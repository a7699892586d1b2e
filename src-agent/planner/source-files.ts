import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readdir, realpath } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import picomatch from 'picomatch'
import type { Git } from '../git/run.ts'

/** A file that the planner may read. */
export type SourceFile = {
  /** With `/`, relative to the repository, or to the source outside it; a name when that is a single file. */
  path: string
  bytes: number
  /** What its listing reads it by. */
  id: string
}

export type Listing = {
  /** In the order of their names. */
  files: readonly SourceFile[]
  /** The contents in the same order; null where it cannot be read any more. */
  read: (files: readonly SourceFile[]) => Promise<(Buffer | null)[]>
}

export type Repository = { git: Git; cwd: string; commit: string; signal: AbortSignal }

/** Entries of a folder outside the repository that are looked at, at most. */
const MOST_ENTRIES = 20_000

/** The regular files of a commit; links and submodules are none. */
export async function listRepository(repository: Repository): Promise<Listing> {
  const { git, cwd, commit, signal } = repository
  const args = ['ls-tree', '-r', '-z', '-l', '--full-tree', commit]
  const listed = await git.text(args, { cwd, signal })
  const files = listed.split('\0').flatMap((entry) => {
    const [, mode, blob, size, path] =
      /^(\d+) blob ([0-9a-f]+) +(\d+)\t([\s\S]+)$/.exec(entry) ?? []
    if (mode === undefined || blob === undefined || path === undefined) return []
    if (!mode.startsWith('100') || !isPlainPath(path)) return []
    return { path, bytes: Number(size), id: blob }
  })
  return { files, read: (wanted) => readBlobs(repository, wanted) }
}

/** A tree that somebody built by hand can hold names that lead out of its folder. */
function isPlainPath(path: string): boolean {
  const isPart = (part: string) => part !== '' && part !== '.' && part !== '..'
  return path.split(/[\\/]/).every(isPart) && !(sep === '\\' && path.includes(':'))
}

async function readBlobs(
  { git, cwd, signal }: Repository,
  files: readonly SourceFile[],
): Promise<(Buffer | null)[]> {
  if (files.length === 0) return []
  const input = files.map(({ id }) => `${id}\n`).join('')
  const { stdout } = await git.run(['cat-file', '--batch'], { cwd, signal, input })
  let at = 0
  return files.map(() => {
    const end = stdout.indexOf('\n', at)
    if (end === -1) return null
    const bytes = /^[0-9a-f]+ blob (\d+)$/.exec(stdout.toString('latin1', at, end))?.[1]
    at = end + 1
    if (bytes === undefined) return null
    const content = stdout.subarray(at, at + Number(bytes))
    at += Number(bytes) + 1
    return content
  })
}

/** Whether a file belongs to a source: a path of a file or of a folder, or a glob. */
export function matcherOf(source: string): (path: string) => boolean {
  const plain = source.replace(/^(?:\.\/)+/, '').replace(/\/+$/, '')
  if (plain === '.' || plain === '') return () => true
  const isMatch = picomatch(plain, { dot: true, nonegate: true })
  return (path) => path === plain || path.startsWith(`${plain}/`) || isMatch(path)
}

/**
 * The regular files of a source outside the repository: a file, a folder or a glob below one, by its absolute path.
 * Null when there is nothing of that name. Links in it are not followed; one that the source itself names is.
 */
export async function listOutside(
  source: string,
): Promise<(Listing & { root: string; isFile: boolean }) | null> {
  const { base, glob, isGlob } = picomatch.scan(source)
  const root = await realpath(base).catch(() => null)
  const info = root === null ? null : await lstat(root).catch(() => null)
  if (root === null || info === null) return null
  if (info.isFile()) {
    const file = { path: basename(base), bytes: info.size, id: root }
    return { root: base, isFile: true, files: isGlob ? [] : [file], read: readFiles }
  }
  if (!info.isDirectory()) return null
  const isMatch = isGlob ? picomatch(glob, { dot: true }) : () => true
  const files = (await walk(root)).filter(({ path }) => isMatch(path))
  return { root: base, isFile: false, files, read: readFiles }
}

async function walk(root: string): Promise<SourceFile[]> {
  const files: SourceFile[] = []
  const folders = [root]
  let looked = 0
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
    entries.sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const entry of entries) {
      looked += 1
      if (looked > MOST_ENTRIES) return files
      const path = join(folder, entry.name)
      if (entry.isDirectory() && entry.name !== '.git') folders.push(path)
      if (!entry.isFile()) continue
      const info = await lstat(path).catch(() => null)
      if (info === null || !info.isFile()) continue
      const name = relative(root, path).split(sep).join('/')
      files.push({ path: name, bytes: info.size, id: path })
    }
  }
  return files
}

async function readFiles(files: readonly SourceFile[]): Promise<(Buffer | null)[]> {
  const contents: (Buffer | null)[] = []
  for (const { id } of files) contents.push(await readRegular(id))
  return contents
}

/** Null where it became something else meanwhile, or may not be read. */
async function readRegular(path: string): Promise<Buffer | null> {
  let file: FileHandle | undefined
  try {
    file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
    if (!(await file.stat()).isFile()) return null
    return await file.readFile()
  } catch {
    return null
  } finally {
    await file?.close()
  }
}
