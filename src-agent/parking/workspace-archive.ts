import { lstat, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import { withoutCredentials } from '../git/redact.ts'
import type { Git } from '../git/run.ts'
import { type ArchiveEntry, extractInto, packEntries } from './archive.ts'
import { incomplete } from './local-refs.ts'
import { absolutePath, comparePaths, type PathBytes } from './path-bytes.ts'
import { openSealed, type SealedFile, sealStream } from './sealed-file.ts'
import { LONG_LIMIT_MS, listed, type Survey } from './survey.ts'

/** A larger archive is not made; bytes of the files that go into it. */
export const ARCHIVE_LIMIT_BYTES = 2 * 1024 ** 3

const SETTINGS = '.git/config'

/** Of a git that was cut, and Ballet's own. */
const NOT_IN_GIT = /\.lock$|^ballet-(scan$|index-)|^fsmonitor--daemon/

/**
 * Seals the whole workspace with its `.git`, without what is ignored. Rejects with `workspace.too-large` before
 * anything is written when it is over the limit; `reasons` are why commits cannot hold the work.
 */
export async function archiveWorkspace(
  git: Git,
  survey: Survey,
  target: { file: string; key: Uint8Array; reasons: readonly string[]; limitBytes?: number },
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
  const links = entries.filter(({ mode }) => mode === '160000').map(({ path }) => path)
  for (const inner of [...nested, ...links]) await addIgnored(git, cwd, inner, skipped)
  const found: ArchiveEntry[] = []
  let bytes = 0
  const walk = async (folder: PathBytes) => {
    const names = (await readdir(absolutePath(cwd, folder), { encoding: 'buffer' })).map((name) =>
      name.toString('latin1'),
    )
    for (const name of names.sort(comparePaths)) {
      const path = folder === '' ? name : `${folder}/${name}`
      if (skipped.has(path) || (folder === '.git' && NOT_IN_GIT.test(name))) continue
      const source = absolutePath(cwd, path)
      const info = await lstat(source)
      found.push({ path, source })
      if (info.isDirectory()) await walk(path)
      else bytes += info.size
    }
  }
  await walk('')
  return { bytes, entries: found }
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
  const found = await listed(git, args, { cwd: folder, limitMs: LONG_LIMIT_MS })
  for (const path of found) skipped.add(`${inner}/${path.replace(/\/$/, '')}`)
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
  const check = ['rev-list', '--objects', '--quiet', '--all', 'HEAD', '--not', '--remotes']
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
