import { randomBytes } from 'node:crypto'
import { access, link, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Probe, ProbeFinding } from '../../src-shared/agent-wire.ts'
import type { KeptFileKind } from '../../src-shared/parking.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import type { Git } from '../git/run.ts'
import { type ArchiveEntry, packEntries } from '../parking/archive.ts'
import { isDamage, keyOf } from '../parking/kept-work.ts'
import { createBundle, knownCommits, updateRefs } from '../parking/local-refs.ts'
import { sealStream, syncFolder, unsealFile } from '../parking/sealed-file.ts'
import { withRefusals } from '../workspace/failure.ts'
import { kindOf } from '../workspace/folders.ts'
import { withLockFile } from '../workspace/lock-file.ts'
import { commitOf } from '../workspace/state.ts'
import { newKey } from './passphrase.ts'

type Plan = Omit<Extract<Probe, { kind: 'session.pack' }>, 'kind' | 'env' | 'marker'>
type Found = Extract<ProbeFinding, { kind: 'session.pack' }>

/** In the folder that is packed, one file a kind of kept file, as it was before it was sealed. */
export const KEPT_FOLDER = 'kept'
const LOCK_MS = 60_000

/**
 * Writes an exported session to a new file: what Core put into the folder, and beside it what was kept of the
 * session, opened, with a bundle of its commits. The folder is Core's to remove. Rejects with `export.exists`,
 * `state.…`, and what the system says; then there is no file.
 */
export function packSession(git: Git, plan: Plan, signal: AbortSignal): Promise<Found> {
  return withRefusals(`writing ${plan.file}`, () => pack(git, plan, signal))
}

async function pack(git: Git, plan: Plan, signal: AbortSignal): Promise<Found> {
  const { file, folder, passphrase } = plan
  await mustBeNew(file)
  const kept = join(folder, KEPT_FOLDER)
  await mkdir(kept, { recursive: true, mode: 0o700 })
  for (const { kind, name, contentSha256 } of plan.work.files) {
    const { sha256 } = await unsealFile(
      join(plan.keptDir, name),
      join(kept, kind),
      keyOf(plan),
    ).catch((error: unknown) => {
      throw isDamage(error) ? notKept(name, error) : error
    })
    if (sha256 !== contentSha256) throw notKept(name)
  }
  if (!plan.work.files.some(({ kind }) => kind === 'bundle')) {
    await bundleWork(git, plan, join(kept, 'bundle' satisfies KeptFileKind), signal)
  }
  const { key, prefix } = await newKey(passphrase)
  // A name that nobody else writes to at the same time.
  const part = `${file}.${randomBytes(6).toString('hex')}`
  try {
    const sealed = await sealStream(packEntries(entriesOf(folder)), part, key, signal, prefix)
    await publish(part, file)
    return { kind: 'session.pack', bytes: sealed.bytes }
  } finally {
    await rm(part, { force: true })
  }
}

async function mustBeNew(file: string): Promise<void> {
  const isThere = await access(file).then(
    () => true,
    () => false,
  )
  if (isThere) throw isThereAlready(file)
}

/** Gives a whole file its name, which is still nobody's. */
async function publish(part: string, file: string): Promise<void> {
  try {
    await link(part, file)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw isThereAlready(file, error)
    if (!NO_LINKS.has(codeOf(error))) throw error
    await take(file)
    await rename(part, file)
  }
  await syncFolder(dirname(file))
}

/** What file systems without hard links say, such as those of memory sticks. */
const NO_LINKS: ReadonlySet<unknown> = new Set([
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EINVAL',
])

async function take(file: string): Promise<void> {
  try {
    await writeFile(file, '', { flag: 'wx', mode: 0o600 })
  } catch (error) {
    throw codeOf(error) === 'EEXIST' ? isThereAlready(file, error) : error
  }
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

function isThereAlready(file: string, cause?: unknown): BalletError {
  return new BalletError(
    {
      code: 'export.exists',
      message: `${file} is there already.`,
      hint: 'Name a new file: nothing is written over.',
    },
    { cause },
  )
}

/** What the remote's base branch does not bring. Nothing where that is everything, or where it is not on this machine. */
async function bundleWork(
  git: Git,
  { work: { commit }, mirrorDir, baseBranch, branch, repo }: Plan,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  if (commit === null || (await kindOf(mirrorDir)) !== 'folder') return
  const lock = { limitMs: LOCK_MS, signal }
  await withLockFile(`${mirrorDir}.lock`, lock, async () => {
    if ((await commitOf(git, mirrorDir, commit)) === null) {
      const args = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--no-auto-gc']
      // Without it the file is enough where the remote is.
      await git.run([...args, '--', repo, commit], { cwd: mirrorDir, signal })
    }
    if ((await commitOf(git, mirrorDir, commit)) === null) return
    const ref = `refs/ballet/parked/${branch}`
    await updateRefs(git, mirrorDir, [`update ${ref} ${commit}`])
    const without = await knownCommits(git, mirrorDir, [`refs/heads/${baseBranch}`])
    await createBundle(git, mirrorDir, { file, refs: [ref], without, signal })
  })
}

async function* entriesOf(folder: string, inside = ''): AsyncGenerator<ArchiveEntry> {
  const entries = await readdir(join(folder, inside), { withFileTypes: true })
  for (const { name } of entries.filter((entry) => entry.isFile())) {
    const path = inside === '' ? name : `${inside}/${name}`
    yield { path, source: join(folder, path) }
  }
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    yield* entriesOf(folder, inside === '' ? name : `${inside}/${name}`)
  }
}

function notKept(name: string, cause?: BalletError): BalletError {
  return new BalletError(
    {
      code: cause?.code ?? 'state.corrupt',
      message:
        cause?.message ?? `The kept file ${name} holds another content than the one that was kept.`,
      hint: 'Put it back from a backup, then export again. To go on without it: `ballet resume`, which says how where that fails, and export it then.',
    },
    cause === undefined ? {} : { cause },
  )
}
