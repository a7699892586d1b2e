import { lstat, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import { withoutCredentials } from '../git/redact.ts'
import type { Git } from '../git/run.ts'
import { type ArchiveEntry, extractInto, packEntries } from './archive.ts'
import { forgetGone, withBorrowed } from './borrowed-objects.ts'
import { incomplete } from './local-refs.ts'
import { absolutePath, comparePaths, type PathBytes, splitList } from './path-bytes.ts'
import { openSealed, type SealedFile, sealStream } from './sealed-file.ts'
import { LONG_LIMIT_MS, type Survey } from './survey.ts'

/** A larger archive is not made; bytes of the files that go into it. */
export const ARCHIVE_LIMIT_BYTES = 2 * 1024 ** 3

const SETTINGS = '.git/config'

/** Of a git that was cut, and Ballet's own. */
const NOT_IN_GIT = /\.lock$|^ballet-(scan$|index-)|^fsmonitor--daemon/

type ArchiveTarget = {
  file: string
  key: Uint8Array
  reasons: readonly string[]
  /** Commits that every clone from the project's mirror has. */
  without: readonly string[]
  limitBytes?: number
}

/**
 * Seals the whole workspace with its `.git`, without what is ignored. Rejects with `workspace.too-large` before
 * anything is written when it is over the limit; `reasons` are why commits cannot hold the work.
 */
export function archiveWorkspace(
  git: Git,
  survey: Survey,
  target: ArchiveTarget,
  signal: AbortSignal,
): Promise<SealedFile> {
  const { cwd } = survey
  const pack = { cwd, without: target.without, signal }
  return withBorrowed(git, pack, () => sealWorkspace(git, survey, target, signal))
}

async function sealWorkspace(
  git: Git,
  survey: Survey,
  target: ArchiveTarget,
  signal: AbortSignal,
): Promise<SealedFile> {
  const { bytes, entries } = await listEntries(git, survey)
  const limit = target.limitBytes ?? ARCHIVE_LIMIT_BYTES
  if (bytes > limit) throw tooLarge(survey.cwd, bytes, limit, target.reasons)
  const settings = `${target.file}.config`
  try {
    await copySettings(survey.cwd, settings)
    const named = entries.map((entry) =>
      entry.path === SETTINGS ? { ...entry, source: settings } : entry,
    )
    return await sealStream(packEntries(named), target.file, target.key, signal)
  } finally {
    await rm(settings, { force: true })
  }
}

/** The address of the remote may hold a password: that is of the project, and no part of the work. */
async function copySettings(cwd: string, copy: string): Promise<void> {
  const file = absolutePath(cwd, SETTINGS)
  const text = withoutCredentials(await readFile(file, 'latin1'))
  await writeFile(copy, text, { encoding: 'latin1', mode: (await lstat(file)).mode & 0o777 })
}

async function listEntries(
  git: Git,
  { cwd, ignored, nested, entries }: Survey,
): Promise<{ bytes: number; entries: ArchiveEntry[] }> {
  const skipped = new Set<PathBytes>([...ignored].map((path) => path.replace(/\/$/, '')))
  const worktrees = await innerWorktrees(cwd)
  const links = entries.filter(({ mode }) => mode === '160000').map(({ path }) => path)
  for (const inner of new Set([...nested, ...links, ...worktrees])) {
    // Whatever it ignores, files of the workspace's own index are kept.
    const isShared = entries.some(({ path }) => path.startsWith(`${inner}/`))
    if (!isShared) await addIgnored(git, cwd, inner, skipped)
  }
  const found: ArchiveEntry[] = []
  let bytes = 0
  /** Of an ignored folder only what leads to a worktree. */
  const walk = async (folder: PathBytes, isIgnored: boolean) => {
    const names = (await readdir(absolutePath(cwd, folder), { encoding: 'buffer' })).map((name) =>
      name.toString('latin1'),
    )
    for (const name of names.sort(comparePaths)) {
      const path = folder === '' ? name : `${folder}/${name}`
      const isWorktree = worktrees.has(path)
      const isLeft = !isWorktree && (isIgnored || skipped.has(path))
      if (isLeft && !isAboveOne(path, worktrees)) continue
      if (folder === '.git' && NOT_IN_GIT.test(name)) continue
      const source = absolutePath(cwd, path)
      const info = await lstat(source)
      found.push({ path, source })
      if (info.isDirectory()) await walk(path, isLeft)
      else bytes += info.size
    }
  }
  await walk('', false)
  return { bytes, entries: found }
}

/** Worktrees of the workspace inside of it: they are work, also where git ignores the place. */
async function innerWorktrees(cwd: string): Promise<Set<PathBytes>> {
  const folder = join(cwd, '.git', 'worktrees')
  const found = new Set<PathBytes>()
  for (const name of await readdir(folder).catch(() => [])) {
    const text = await readFile(join(folder, name, 'gitdir'), 'latin1').catch(() => '')
    const place = text.trim().replace(/[\\/]\.git$/, '')
    const above = `${Buffer.from(cwd).toString('latin1')}/`
    if (place.startsWith(above)) found.add(place.slice(above.length))
  }
  return found
}

function isAboveOne(path: PathBytes, worktrees: ReadonlySet<PathBytes>): boolean {
  for (const each of worktrees) if (each.startsWith(`${path}/`)) return true
  return false
}

/** What a repository inside of the workspace ignores itself. */
async function addIgnored(
  git: Git,
  cwd: string,
  inner: PathBytes,
  skipped: Set<PathBytes>,
): Promise<void> {
  const folder = absolutePath(cwd, inner).toString('utf8')
  // A name that is no UTF-8 cannot be a working folder here: then everything in it is kept.
  if ((await lstat(join(folder, '.git')).catch(() => null)) === null) return
  const args = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory']
  const listed = await git.run(args, { cwd: folder, limitMs: LONG_LIMIT_MS })
  // One that git cannot read is kept with everything.
  if (listed.exitCode !== 0) return
  for (const path of splitList(listed.stdout)) skipped.add(`${inner}/${path.replace(/\/$/, '')}`)
}

/**
 * Makes a workspace again, in a new folder, out of its archive. `from` is where it was, `to` where it will be, `mirrorDir` what
 * it borrows objects from now, `repo` its remote. Rejects with `state.…`, and with `snapshot.incomplete` when the mirror lacks objects.
 */
export async function restoreArchive(
  git: Git,
  sealed: { file: string; key: Uint8Array },
  place: { folder: string; from: string; to: string; mirrorDir: string; repo: string },
  signal: AbortSignal,
): Promise<void> {
  const { folder, from, to, mirrorDir, repo } = place
  await extractInto(openSealed(sealed.file, sealed.key), folder)
  await git.text(['config', '--replace-all', 'remote.origin.url', repo], { cwd: folder })
  await writeFile(
    join(folder, '.git', 'objects', 'info', 'alternates'),
    `${join(mirrorDir, 'objects').replaceAll('\\', '/')}\n`,
  )
  await forgetGone(git, folder)
  const isBorn = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD'], { cwd: folder })
  const tips = ['--all', ...(isBorn.exitCode === 0 ? ['HEAD'] : [])]
  const check = ['rev-list', '--objects', '--quiet', ...tips, '--not', '--remotes']
  const whole = await git.run(check, { cwd: folder, signal, limitMs: LONG_LIMIT_MS })
  if (whole.exitCode !== 0) throw incomplete(whole.stderr.trim().slice(0, 300))
  await moveWorktrees(folder, from, to)
}

/** Worktrees inside of the workspace name each other by absolute paths. */
async function moveWorktrees(folder: string, from: string, to: string): Promise<void> {
  const worktrees = join(folder, '.git', 'worktrees')
  for (const name of await readdir(worktrees).catch(() => [])) {
    const gitdir = join(worktrees, name, 'gitdir')
    const place = (await readFile(gitdir, 'utf8').catch(() => '')).trim()
    if (!place.startsWith(`${from}/`)) {
      // What it had elsewhere is not here.
      await rm(join(worktrees, name), { recursive: true, force: true })
      continue
    }
    const inner = place.slice(from.length + 1)
    await writeFile(gitdir, `${join(to, inner)}\n`)
    // One whose folder is gone can be there again, or be pruned.
    if ((await lstat(dirname(join(folder, inner))).catch(() => null)) === null) continue
    await writeFile(join(folder, inner), `gitdir: ${join(to, '.git', 'worktrees', name)}\n`)
  }
}

function tooLarge(
  cwd: string,
  bytes: number,
  limit: number,
  reasons: readonly string[],
): BalletError {
  const inGb = (value: number) => (value / 1024 ** 3).toFixed(1)
  return new BalletError({
    code: 'workspace.too-large',
    message: `The workspace ${cwd} must be stored as a whole, because ${reasons.join(', and ')}; but it has ${inGb(bytes)} GB, and at most ${inGb(limit)} GB are stored.`,
    hint: 'Have the agent commit or finish that, or delete or ignore large files, then park again. Nothing was touched; the session and its workspace are kept.',
  })
}
