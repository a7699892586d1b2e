import { constants } from 'node:fs'
import { lstat, mkdir, open, readlink, symlink } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type Entry, extract, type Headers, type Pack, pack } from 'tar-stream'
import { BalletError } from '../../src-shared/refusal.ts'
import {
  absolutePath,
  foldersAbove,
  nameOfPath,
  type PathBytes,
  pathOfName,
  safeParts,
} from './path-bytes.ts'

/** What goes into an archive: a file, a symbolic link or a folder, as it is on the disk when its turn comes. */
export type ArchiveEntry = {
  /** Its path in the archive. */
  path: PathBytes
  /** Where it is. */
  source: Buffer | string
}

/** Up to here a file is read at once. */
const SMALL_BYTES = 256 * 1024
/** Archives of the same files are the same bytes. */
const NO_TIME = new Date(0)

/**
 * A tar archive of the entries. A name that is no UTF-8 stands in it as `nameOfPath` gives it; of a mode only the
 * permissions are kept. The iteration throws what the system says, and `workspace.changing` for a file that became
 * shorter meanwhile.
 */
export async function* packEntries(
  entries: Iterable<ArchiveEntry> | AsyncIterable<ArchiveEntry>,
): AsyncGenerator<Uint8Array> {
  const archive = pack()
  // It is thrown below as well.
  archive.on('error', () => undefined)
  let failure: unknown
  const fill = async () => {
    for await (const entry of entries) await packEntry(archive, entry)
    archive.finalize()
  }
  const filling = fill().catch((error: unknown) => {
    failure = error
    archive.destroy(error instanceof Error ? error : new Error(String(error)))
  })
  try {
    for await (const chunk of archive) yield chunk
  } catch (error) {
    throw failure ?? error
  } finally {
    archive.destroy()
    await filling
  }
  if (failure !== undefined) throw failure
}

async function packEntry(archive: Pack, { path, source }: ArchiveEntry): Promise<void> {
  const info = await lstat(source)
  const header: Headers = { name: nameOfPath(path), mode: info.mode & 0o777, mtime: NO_TIME }
  if (info.isSymbolicLink()) {
    const target = (await readlink(source, { encoding: 'buffer' })).toString('latin1')
    await addWhole(archive, { ...header, type: 'symlink', linkname: nameOfPath(target) })
  } else if (info.isDirectory()) {
    await addWhole(archive, { ...header, type: 'directory' })
  } else if (info.isFile()) {
    await packFile(archive, header, source)
  }
  // Pipes and sockets hold nothing that could be kept.
}

async function packFile(archive: Pack, header: Headers, source: Buffer | string): Promise<void> {
  const handle = await open(source, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  try {
    const { size } = await handle.stat()
    if (size <= SMALL_BYTES) {
      const content = await handle.readFile()
      await addWhole(archive, { ...header, type: 'file', size: content.length }, content)
      return
    }
    const sink = archive.entry({ ...header, type: 'file', size })
    const stream = handle.createReadStream({ start: 0, end: size - 1, autoClose: false })
    let read = 0
    stream.on('data', (chunk) => {
      read += chunk.length
    })
    try {
      await pipeline(stream, sink)
    } catch (error) {
      if (read === size) throw error
      throw new BalletError(
        {
          code: 'workspace.changing',
          message: `${header.name} became shorter while it was being stored.`,
          hint: 'Something still writes to the workspace. Try again.',
        },
        { cause: error },
      )
    }
  } finally {
    await handle.close()
  }
}

function addWhole(archive: Pack, header: Headers, content?: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error | null) => (error ? reject(error) : resolve())
    if (content === undefined) archive.entry(header, done)
    else archive.entry(header, content, done)
  })
}

/**
 * Writes the entries of a tar archive below an existing folder, and gives the paths of its files and links. Nothing
 * is written outside of the folder, through a link, or over something that is there: those reject with
 * `state.corrupt` (what is there may be skipped instead), as does what is no file, link or folder. What was written until then stays.
 */
export async function extractInto(
  source: AsyncIterable<Uint8Array>,
  folder: string,
  overExisting: 'refuse' | 'skip' = 'refuse',
): Promise<PathBytes[]> {
  const known = new Set<PathBytes>()
  const isSkipped = (path: PathBytes) =>
    overExisting === 'skip' && isThere(absolutePath(folder, path))
  const links: { path: PathBytes; target: string }[] = []
  const written: PathBytes[] = []
  const extractor = extract()
  const flow = pipeline(source, extractor)
  // What it rejects with is met below.
  flow.catch(() => undefined)
  try {
    for await (const entry of extractor) {
      const path = pathOf(entry.header)
      if (entry.header.type === 'directory') {
        await makeFolders(folder, path, known)
        entry.resume()
      } else if (entry.header.type === 'symlink') {
        // Links come last: nothing can be written through one of them.
        links.push({ path, target: pathOfName(entry.header.linkname ?? '') })
        entry.resume()
      } else if (entry.header.type === 'file' && (await isSkipped(path))) {
        entry.resume()
      } else if (entry.header.type === 'file') {
        await makeFoldersAbove(folder, path, known)
        await writeEntry(entry, folder, path)
        written.push(path)
      } else {
        throw unsafe(path, `it is a ${entry.header.type ?? 'thing'} and no file`)
      }
    }
    await flow
  } catch (error) {
    extractor.destroy()
    // The source knows better why there is nothing to extract.
    await flow.catch((cause: unknown) => {
      if (cause instanceof BalletError && !(error instanceof BalletError)) throw cause
    })
    throw error
  }
  for (const { path, target } of links) {
    if (await isSkipped(path)) continue
    await makeFoldersAbove(folder, path, known)
    await symlink(Buffer.from(target, 'latin1'), absolutePath(folder, path)).catch(
      (error: unknown) => {
        throw whyNotNew(error, path)
      },
    )
    written.push(path)
  }
  return written
}

function isThere(path: Buffer): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

function pathOf(header: Headers): PathBytes {
  const name = header.type === 'directory' ? header.name.replace(/\/$/, '') : header.name
  const path = pathOfName(name)
  if (safeParts(path) === null) throw unsafe(path, 'it leads out of the folder')
  return path
}

async function writeEntry(entry: Entry, folder: string, path: PathBytes): Promise<void> {
  const mode = (entry.header.mode ?? 0o600) & 0o777
  const target = absolutePath(folder, path)
  // 'wx' makes the file, and follows no link.
  const handle = await open(target, 'wx', mode).catch((error: unknown) => {
    throw whyNotNew(error, path)
  })
  try {
    for await (const chunk of entry) await handle.writeFile(chunk)
    await handle.chmod(mode)
  } finally {
    await handle.close()
  }
}

function makeFoldersAbove(folder: string, path: PathBytes, known: Set<PathBytes>): Promise<void> {
  const parent = foldersAbove(path)[0]
  return parent === undefined ? Promise.resolve() : makeFolders(folder, parent, known)
}

/** Makes what is missing of the folders to `path`; rejects with `state.corrupt` when something else stands there. */
export async function makeFolders(
  folder: string,
  path: PathBytes,
  known: Set<PathBytes> = new Set(),
): Promise<void> {
  for (const each of [...foldersAbove(path).reverse(), path]) {
    if (known.has(each)) continue
    const target = absolutePath(folder, each)
    await mkdir(target).catch(async (error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
      if (!(await lstat(target)).isDirectory()) throw unsafe(each, 'no folder stands there')
    })
    known.add(each)
  }
}

function whyNotNew(error: unknown, path: PathBytes): unknown {
  const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST'
  return isThere ? unsafe(path, 'something is there already') : error
}

function unsafe(path: PathBytes, why: string): BalletError {
  return new BalletError({
    code: 'state.corrupt',
    message: `${JSON.stringify(nameOfPath(path))} of an archive is not written: ${why}.`,
    hint: 'Ballet makes no such archive. Do not trust it.',
  })
}
