import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { BalletError } from '../../src-shared/refusal.ts'

/**
 * A sealed file: compressed, then encrypted in chunks, so that it is written and read in little memory and every
 * byte that comes out was proven first.
 *
 *     magic 8 | salt 16 | key check 16 | checksum 8      the head
 *     (64 KiB of compressed content + tag 16)*           the last one may be shorter
 *     size 8, chunks 4, sha256 32 of the content + tag 16
 *
 * The key of the file comes from the given key and the salt. The nonce of a chunk is its number and whether it is
 * the end, the head is authenticated with each: none can be left out, moved, repeated or added.
 */
const MAGIC = Buffer.from('BLTSEAL1')
const SALT_BYTES = 16
const CHECK_BYTES = 16
const CHECKSUM_BYTES = 8
const HEAD_BYTES = MAGIC.length + SALT_BYTES + CHECK_BYTES + CHECKSUM_BYTES
export const CHUNK_BYTES = 64 * 1024
const TAG_BYTES = 16
const END_BYTES = 8 + 4 + 32 + TAG_BYTES

const KEY_BYTES = 32

/** What a sealed file holds. */
export type SealedContent = { bytes: number; sha256: string }

/** The beginning of a sealed file, and the key of its chunks. */
type Head = { bytes: Buffer; key: Buffer }

export function makeHead(key: Uint8Array): Head {
  const salt = randomBytes(SALT_BYTES)
  const begin = Buffer.concat([MAGIC, salt, derive(key, salt, 'check', CHECK_BYTES)])
  return {
    bytes: Buffer.concat([begin, checksumOf(begin)]),
    key: derive(key, salt, 'content', KEY_BYTES),
  }
}

/** Tells a wrong key from damage: only a head that is whole can say that the key is another. */
function readHead(bytes: Buffer, file: string, key: Uint8Array): Head {
  const begin = bytes.subarray(0, HEAD_BYTES - CHECKSUM_BYTES)
  if (!begin.subarray(0, MAGIC.length).equals(MAGIC)) throw corrupt(file, 'it is no sealed file')
  if (!checksumOf(begin).equals(bytes.subarray(begin.length))) {
    throw corrupt(file, 'its beginning is damaged')
  }
  const salt = begin.subarray(MAGIC.length, MAGIC.length + SALT_BYTES)
  const check = begin.subarray(MAGIC.length + SALT_BYTES)
  if (!derive(key, salt, 'check', CHECK_BYTES).equals(check)) {
    throw new BalletError({
      code: 'state.wrong-key',
      message: `${file} was sealed with another key than the one of this data folder.`,
      hint: 'Open it with the data folder that made it, or put the key of that one, which `ballet key export` writes, in this one as the file `key`.',
    })
  }
  return { bytes, key: derive(key, salt, 'content', KEY_BYTES) }
}

function derive(key: Uint8Array, salt: Uint8Array, use: string, bytes: number): Buffer {
  if (key.length !== KEY_BYTES) throw new RangeError(`a key has ${KEY_BYTES} bytes`)
  return Buffer.from(hkdfSync('sha256', key, salt, `ballet sealed file 1: ${use}`, bytes))
}

function checksumOf(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest().subarray(0, CHECKSUM_BYTES)
}

function nonceOf(number: number, isEnd: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUInt8(isEnd ? 1 : 0, 7)
  nonce.writeUInt32BE(number, 8)
  return nonce
}

export function encryptChunk(head: Head, number: number, isEnd: boolean, plain: Buffer): Buffer {
  const cipher = createCipheriv('aes-256-gcm', head.key, nonceOf(number, isEnd))
  cipher.setAAD(head.bytes)
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

function decryptChunk(head: Head, number: number, isEnd: boolean, sealed: Buffer): Buffer | null {
  const decipher = createDecipheriv('aes-256-gcm', head.key, nonceOf(number, isEnd))
  decipher.setAAD(head.bytes)
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
  const plain = decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES))
  try {
    decipher.final()
    return plain
  } catch {
    return null
  }
}

export function endOf(size: number, chunks: number, sha256: Buffer): Buffer {
  const numbers = Buffer.alloc(12)
  numbers.writeBigUInt64BE(BigInt(size), 0)
  numbers.writeUInt32BE(chunks, 8)
  return Buffer.concat([numbers, sha256])
}

/**
 * The compressed content of an open file from `begin` on, chunk by proven chunk; what its end says of it comes last,
 * in `end`.
 */
export async function* decrypt(
  handle: FileHandle,
  { file, begin }: { file: string; begin: number },
  key: Uint8Array,
  end: { value: SealedContent | null },
): AsyncGenerator<Buffer> {
  const { size } = await handle.stat()
  if (size < begin + HEAD_BYTES + END_BYTES) throw corrupt(file, 'it is cut off')
  const head = readHead(await readExactly(handle, begin, HEAD_BYTES, file), file, key)
  const endAt = size - END_BYTES
  const chunksAt = begin + HEAD_BYTES
  // The end comes first: a file that was cut, or to which something was added, gives not one byte away.
  const sealedEnd = await readExactly(handle, endAt, END_BYTES, file)
  const chunks = Math.ceil((endAt - chunksAt) / (CHUNK_BYTES + TAG_BYTES))
  const last = decryptChunk(head, chunks, true, sealedEnd)
  if (last === null || last.readUInt32BE(8) !== chunks) throw corrupt(file, 'its end is damaged')
  let number = 0
  for (let at = chunksAt; at < endAt; number += 1) {
    const length = Math.min(CHUNK_BYTES + TAG_BYTES, endAt - at)
    if (length <= TAG_BYTES) throw corrupt(file, 'its last chunk is cut off')
    const plain = decryptChunk(head, number, false, await readExactly(handle, at, length, file))
    if (plain === null) throw corrupt(file, `its chunk ${number + 1} is damaged`)
    yield plain
    at += length
  }
  end.value = {
    bytes: Number(last.readBigUInt64BE(0)),
    sha256: last.subarray(12).toString('hex'),
  }
}

async function readExactly(
  handle: FileHandle,
  position: number,
  length: number,
  file: string,
): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled)
    if (bytesRead === 0) throw corrupt(file, 'it is cut off')
    filled += bytesRead
  }
  return buffer
}

export function corrupt(file: string, why: string): BalletError {
  return new BalletError({
    code: 'state.corrupt',
    message: `${file} is not what was stored: ${why}.`,
    hint: 'Restore it from a backup, or resume without it: the session begins a new conversation.',
  })
}
