import { createHash, randomBytes } from 'node:crypto'
import { type Git, type GitOptions, gitFailure } from '../git/run.ts'
import { joinList, type PathBytes, quotedLine, splitList } from './path-bytes.ts'

/** Of which files git keeps other bytes than the ones on the disk, or writes other ones to the disk. */
export type Conversions = {
  /** Files for which a program of the user is called: LFS, encryption. */
  driven: ReadonlySet<PathBytes>
  /** Files whose line ends or encoding git changes when it takes them in. */
  cleaned: ReadonlySet<PathBytes>
  /** Those of them that it may change when it writes them to the disk. */
  smudged: ReadonlySet<PathBytes>
  /** Settings for git by which no program of the user is called. */
  withoutDrivers: Readonly<Record<string, string>>
}

type Config = ReadonlyMap<string, readonly string[]>
const ON = /^(true|yes|on|1)$/i

export async function readConversions(
  git: Git,
  paths: readonly PathBytes[],
  config: Config,
  options: GitOptions,
): Promise<Conversions> {
  const drivers = driversOf(config)
  const driven = new Set<PathBytes>()
  const cleaned = new Set<PathBytes>()
  const smudged = new Set<PathBytes>()
  const last = (name: string) => config.get(name)?.at(-1) ?? ''
  const isAutoOut = ON.test(last('core.autocrlf'))
  const isAuto = isAutoOut || last('core.autocrlf').toLowerCase() === 'input'
  const eol = last('core.eol').toLowerCase()
  const isNativeCrlf = process.platform === 'win32' && eol !== 'lf'
  const writesCrlf = isAutoOut || (!isAuto && (eol === 'crlf' || isNativeCrlf))
  const exempt = new Set<PathBytes>()
  for (const { path, name, value } of await attributesOf(git, paths, options)) {
    if (name === 'filter' && drivers.has(value)) driven.add(path)
    if (name === 'text' && value === 'unset') exempt.add(path)
    const isText = (name === 'text' || name === 'crlf') && value !== 'unset'
    const isOther = (name === 'ident' && value === 'set') || name === 'working-tree-encoding'
    if (isText || isOther || name === 'eol') cleaned.add(path)
    if ((isText && writesCrlf) || isOther || (name === 'eol' && value === 'crlf')) smudged.add(path)
  }
  if (isAuto) {
    for (const path of paths) {
      if (exempt.has(path)) continue
      cleaned.add(path)
      if (isAutoOut) smudged.add(path)
    }
  }
  return { driven, cleaned, smudged, withoutDrivers: withoutDrivers(config) }
}

/** Names of the programs that are set up to convert files. */
function driversOf(config: Config): Set<string> {
  const names = new Set<string>()
  for (const [name, values] of config) {
    const driver = /^filter\.(.+)\.(clean|smudge|process)$/s.exec(name)?.[1]
    if (driver !== undefined && values.at(-1) !== '') names.add(driver)
  }
  return names
}

/** Settings, as an environment for git, by which it calls none of these programs. */
export function withoutDrivers(config: Config): Record<string, string> {
  const settings = [...driversOf(config)].flatMap((driver) => [
    [`filter.${driver}.clean`, ''],
    [`filter.${driver}.smudge`, ''],
    [`filter.${driver}.process`, ''],
    [`filter.${driver}.required`, 'false'],
  ])
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(settings.length) }
  for (const [index, [key = '', value = '']] of settings.entries()) {
    env[`GIT_CONFIG_KEY_${index}`] = Buffer.from(key, 'latin1').toString('utf8')
    env[`GIT_CONFIG_VALUE_${index}`] = value
  }
  return env
}

type Attribute = { path: PathBytes; name: string; value: string }

async function attributesOf(
  git: Git,
  paths: readonly PathBytes[],
  options: GitOptions,
): Promise<Attribute[]> {
  if (paths.length === 0) return []
  const args = ['check-attr', '-z', '--all', '--stdin']
  const result = await git.run(args, { ...options, input: joinList(paths) })
  if (result.exitCode !== 0) throw gitFailure(args, result)
  const fields = splitList(result.stdout)
  const found: Attribute[] = []
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [path = '', name = '', value = ''] = fields.slice(at, at + 3)
    found.push({ path, name, value })
  }
  return found
}

/**
 * The ids of files by the very bytes on the disk, no filter applied; with `write` they are git's objects then. Paths
 * are below `cwd`, and no symbolic links. Rejects when one cannot be read.
 */
export async function hashFiles(
  git: Git,
  paths: readonly PathBytes[],
  write: boolean,
  options: GitOptions,
): Promise<Map<PathBytes, string>> {
  if (paths.length === 0) return new Map()
  const args = ['hash-object', ...(write ? ['-w'] : []), '--no-filters', '--stdin-paths']
  const input = Buffer.from(paths.map(quotedLine).join(''), 'latin1')
  const result = await git.run(args, { ...options, input })
  if (result.exitCode !== 0) throw gitFailure(args, result)
  const ids = result.stdout.toString('latin1').split('\n')
  return new Map(paths.map((path, index) => [path, ids[index] ?? '']))
}

/** Larger files are not asked about. */
const ASKED_BYTES = 8 * 1024 * 1024
const BATCH_BYTES = 32 * 1024 * 1024

export type Blob = { path: PathBytes; id: string; bytes: number }

/**
 * The id of what git would write to the disk for each blob. Without one: a file that is too large to ask about, or
 * whose name git cannot be asked about.
 */
export async function hashWritten(
  git: Git,
  blobs: readonly Blob[],
  options: GitOptions,
): Promise<Map<PathBytes, string>> {
  const found = new Map<PathBytes, string>()
  const asked = blobs.filter(({ path, bytes }) => bytes <= ASKED_BYTES && !path.includes('\n'))
  for (const batch of inBatches(asked)) {
    // The size that git prints is the one before the filters: a line that nobody can guess parts the contents.
    const line = randomBytes(24).toString('hex')
    const args = ['cat-file', `--batch=${line}`, '--filters']
    const input = Buffer.from(batch.map(({ id, path }) => `${id} ${path}\n`).join(''), 'latin1')
    const result = await git.run(args, { ...options, input })
    if (result.exitCode !== 0) throw gitFailure(args, result)
    let begin = line.length + 1
    for (const { path, id } of batch) {
      const next = result.stdout.indexOf(`\n${line}\n`, begin - 1)
      const end = next < 0 ? result.stdout.length - 1 : next
      found.set(path, blobId(result.stdout.subarray(begin, end), id.length))
      begin = end + line.length + 2
    }
  }
  return found
}

function* inBatches(blobs: readonly Blob[]): Generator<Blob[]> {
  let batch: Blob[] = []
  let bytes = 0
  for (const blob of blobs) {
    if (batch.length > 0 && bytes + blob.bytes > BATCH_BYTES) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(blob)
    bytes += blob.bytes
  }
  if (batch.length > 0) yield batch
}

/** Git's id of a content, in a repository whose ids have so many digits. */
function blobId(content: Buffer, digits: number): string {
  const hash = createHash(digits === 64 ? 'sha256' : 'sha1')
  return hash.update(`blob ${content.length}\0`).update(content).digest('hex')
}
