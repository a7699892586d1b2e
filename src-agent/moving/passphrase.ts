import { randomBytes, scrypt } from 'node:crypto'
import { open } from 'node:fs/promises'
import { BalletError } from '../../src-shared/refusal.ts'

/**
 * The beginning of an exported session: what turns the passphrase into the key of the sealed file behind it.
 *
 *     magic 8 | version 1 | log2 of N 1, r 1, p 1 of scrypt | zero 4 | salt 16
 */
const MAGIC = Buffer.from('BLTMOVED')
const VERSION = 1
const SALT_BYTES = 16
export const PREFIX_BYTES = MAGIC.length + 8 + SALT_BYTES

/** 128 MiB and about half a second: a guess at a passphrase costs as much. */
const COST = { logN: 17, r: 8, p: 1 }
/** What another file may ask of this machine. */
const MOST = { logN: 20, r: 16, p: 4 }

type Cost = typeof COST

/** A new key from a passphrase, and the beginning that tells how. */
export async function newKey(passphrase: string): Promise<{ key: Uint8Array; prefix: Buffer }> {
  const salt = randomBytes(SALT_BYTES)
  const { logN, r, p } = COST
  const prefix = Buffer.concat([MAGIC, Buffer.from([VERSION, logN, r, p, 0, 0, 0, 0]), salt])
  return { key: await derive(passphrase, salt, COST), prefix }
}

/** The key of an exported file. Rejects with `export.not-found`, `export.unknown`, `export.newer`. */
export async function keyOfFile(file: string, passphrase: string): Promise<Uint8Array> {
  const prefix = await readPrefix(file)
  if (!prefix.subarray(0, MAGIC.length).equals(MAGIC)) throw unknown(file)
  const [version = 0, logN = 0, r = 0, p = 0] = prefix.subarray(MAGIC.length)
  if (version !== VERSION) throw newer(file, version, VERSION)
  if (logN < 10 || logN > MOST.logN || r < 1 || r > MOST.r || p < 1 || p > MOST.p) {
    throw unknown(file)
  }
  return derive(passphrase, prefix.subarray(PREFIX_BYTES - SALT_BYTES), { logN, r, p })
}

function derive(passphrase: string, salt: Uint8Array, { logN, r, p }: Cost): Promise<Uint8Array> {
  const N = 2 ** logN
  // The same words typed in another way are the same passphrase.
  const words = passphrase.normalize('NFKC')
  return new Promise((resolve, reject) => {
    scrypt(words, salt, 32, { N, r, p, maxmem: 256 * N * r }, (error, key) => {
      if (error === null) resolve(key)
      else reject(error)
    })
  })
}

async function readPrefix(file: string): Promise<Buffer> {
  try {
    const handle = await open(file, 'r')
    try {
      const buffer = Buffer.alloc(PREFIX_BYTES)
      await handle.read(buffer, 0, PREFIX_BYTES, 0)
      return buffer
    } finally {
      await handle.close()
    }
  } catch (cause) {
    throw new BalletError(
      {
        code: 'export.not-found',
        message: `The file ${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}.`,
        hint: 'Name a file that `ballet session export` wrote; the host reads it, on its own machine.',
      },
      { cause },
    )
  }
}

function unknown(file: string): BalletError {
  return new BalletError({
    code: 'export.unknown',
    message: `${file} is no exported session.`,
    hint: 'Name a file that `ballet session export` wrote.',
  })
}

export function newer(file: string, version: number, known: number): BalletError {
  return new BalletError({
    code: 'export.newer',
    message: `${file} has version ${version} of the format; this Ballet knows ${known}.`,
    hint: 'A newer Ballet wrote it. Update Ballet on this machine, then import again.',
  })
}
