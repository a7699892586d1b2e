import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createBrotliCompress, createBrotliDecompress } from 'node:zlib'
import { BalletError } from '../../src-shared/refusal.ts'
import {
  CHUNK_BYTES,
  corrupt,
  decrypt,
  encryptChunk,
  endOf,
  makeHead,
  type SealedContent,
} from './sealed-chunks.ts'

export type SealedFile = {
  /** Absolute path. */
  file: string
  /** Of the sealed file itself. */
  bytes: number
  sha256: string
  content: SealedContent
}

/**
 * Seals a stream of bytes with a key of 32 bytes. The file appears under its name only when it is whole, on the disk,
 * and was read back and compared. Rejects with `state.not-stored` when what is read back differs, and with what the
 * source or the system says; then nothing is left under the name that was not there before. `prefix` stands before it,
 * as it is.
 */
export async function sealStream(
  source: AsyncIterable<Uint8Array>,
  file: string,
  key: Uint8Array,
  signal?: AbortSignal,
  prefix: Uint8Array = new Uint8Array(),
): Promise<SealedFile> {
  const part = `${file}.part`
  try {
    const written = await writeSealed(source, part, key, prefix, signal)
    const read = await readBack(part, key, prefix.length)
    if (read.sha256 !== written.content.sha256 || read.bytes !== written.content.bytes) {
      throw new BalletError({
        code: 'state.not-stored',
        message: `What was written to ${file} is not what is read from it.`,
        hint: 'The disk may be failing. Check it, then try again. The workspace is kept.',
      })
    }
    await rename(part, file)
    await syncFolder(dirname(file))
    return { file, ...written }
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** `sealStream` of one file. */
export function sealFile(
  source: string,
  file: string,
  key: Uint8Array,
  signal?: AbortSignal,
): Promise<SealedFile> {
  return sealStream(createReadStream(source), file, key, signal)
}

/**
 * The content of a sealed file, which stands from `begin` on. It is whole, and the content that was sealed, only when the iteration ends without an
 * error. Rejects with `state.missing`, `state.wrong-key`, `state.corrupt`.
 */
export async function* openSealed(
  file: string,
  key: Uint8Array,
  begin = 0,
): AsyncGenerator<Buffer> {
  const handle = await openExisting(file)
  try {
    const end: { value: SealedContent | null } = { value: null }
    const hash = createHash('sha256')
    let bytes = 0
    const plain = Readable.from(decrypt(handle, { file, begin }, key, end), { objectMode: false })
    const unpacked = createBrotliDecompress()
    const flow = pipeline(plain, unpacked)
    // What it rejects with is met below, in the iteration.
    flow.catch(() => undefined)
    try {
      for await (const chunk of unpacked) {
        const piece = chunk as Buffer
        hash.update(piece)
        bytes += piece.length
        yield piece
      }
      await flow
    } catch (error) {
      throw isFromDecompression(error) ? corrupt(file, 'it cannot be decompressed') : error
    } finally {
      unpacked.destroy()
      await flow.catch(() => undefined)
    }
    const isSame = end.value?.bytes === bytes && end.value.sha256 === hash.digest('hex')
    if (!isSame) throw corrupt(file, 'its content has another checksum than the one in it')
  } finally {
    await handle.close()
  }
}

/**
 * Writes the content of a sealed file to another file, which appears only when it is whole. Rejects like
 * `openSealed`, and with `state.corrupt` when it is not the expected content.
 */
export async function unsealFile(
  sealed: string,
  file: string,
  key: Uint8Array,
  expected?: SealedContent,
): Promise<SealedContent> {
  const part = `${file}.part`
  try {
    const hash = createHash('sha256')
    let bytes = 0
    const target = await open(part, 'w', 0o600)
    try {
      for await (const piece of openSealed(sealed, key)) {
        hash.update(piece)
        bytes += piece.length
        await writeAll(target, piece)
      }
      await target.sync()
    } finally {
      await target.close()
    }
    const content = { bytes, sha256: hash.digest('hex') }
    mustBeExpected(sealed, content, expected)
    await rename(part, file)
    return content
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** Reads a sealed file to its end. Rejects like `unsealFile`. */
export async function verifySealed(
  file: string,
  key: Uint8Array,
  expected?: SealedContent,
): Promise<SealedContent> {
  const content = await readBack(file, key)
  mustBeExpected(file, content, expected)
  return content
}

function mustBeExpected(file: string, found: SealedContent, expected?: SealedContent): void {
  if (expected === undefined) return
  if (found.sha256 === expected.sha256 && found.bytes === expected.bytes) return
  throw corrupt(file, 'it is whole, but holds another content than the one that was stored')
}

async function readBack(file: string, key: Uint8Array, begin = 0): Promise<SealedContent> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const piece of openSealed(file, key, begin)) {
    hash.update(piece)
    bytes += piece.length
  }
  return { bytes, sha256: hash.digest('hex') }
}

async function writeSealed(
  source: AsyncIterable<Uint8Array>,
  file: string,
  key: Uint8Array,
  prefix: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<Omit<SealedFile, 'file'>> {
  const handle = await open(file, 'w', 0o600)
  try {
    const head = makeHead(key)
    const outside = createHash('sha256')
    let bytes = 0
    const write = async (piece: Uint8Array) => {
      outside.update(piece)
      bytes += piece.length
      await writeAll(handle, piece)
    }
    await write(prefix)
    await write(head.bytes)
    const inside = createHash('sha256')
    let size = 0
    async function* counted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of chunks) {
        inside.update(chunk)
        size += chunk.length
        yield chunk
      }
    }
    let number = 0
    const encrypt = async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of inPieces(chunks, CHUNK_BYTES)) {
        await write(encryptChunk(head, number, false, chunk))
        number += 1
      }
    }
    const compress = createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 3 } })
    const options = signal === undefined ? {} : { signal }
    await pipeline(source, counted, compress, encrypt, options)
    const sha256 = inside.digest()
    await write(encryptChunk(head, number, true, endOf(size, number, sha256)))
    await handle.sync()
    return {
      bytes,
      sha256: outside.digest('hex'),
      content: { bytes: size, sha256: sha256.toString('hex') },
    }
  } finally {
    await handle.close()
  }
}

async function* inPieces(chunks: AsyncIterable<Buffer>, size: number): AsyncGenerator<Buffer> {
  let kept: Buffer[] = []
  let length = 0
  for await (const chunk of chunks) {
    kept.push(chunk)
    length += chunk.length
    if (length < size) continue
    const all = Buffer.concat(kept, length)
    let at = 0
    for (; length - at >= size; at += size) yield all.subarray(at, at + size)
    kept = [all.subarray(at)]
    length -= at
  }
  if (length > 0) yield Buffer.concat(kept, length)
}

async function writeAll(handle: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.length; ) {
    at += (await handle.write(piece, at, piece.length - at)).bytesWritten
  }
}

/** Makes a rename last. Windows cannot open a folder, and needs none of it. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function openExisting(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'r')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    throw new BalletError(
      {
        code: 'state.missing',
        message: `${file} is not there any more.`,
        hint: 'Something else removed it. Put it back from a backup, then try again.',
      },
      { cause: error },
    )
  }
}

function isFromDecompression(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.startsWith('ERR_') && code.includes('BROTLI') ? true : code === 'Z_BUF_ERROR'
}
