import { randomBytes } from 'node:crypto'
import { access, chmod, link, open, readFile, rm, stat } from 'node:fs/promises'
import { BalletError, type Refusal } from '../../src-shared/refusal.ts'
import type { DataFolder } from './data-folder.ts'

const KEY_BYTES = 32

/**
 * The data key of a host without a keychain: 32 random bytes in base64, in a file of its owner alone, made when it is
 * first needed, and closed to others where it is open to them. A key that cannot be read is never made anew: what is
 * sealed with it would be lost. Rejects with `BalletError`: `key.wrapped`, `key.malformed`, `key.unusable`.
 */
export function dataKeyFile({
  key: file,
  wrappedKey,
}: Pick<DataFolder, 'key' | 'wrappedKey'>): () => Promise<string> {
  let known: Promise<string> | null = null
  return () => {
    known ??= readOrMake(file, wrappedKey)
    known.catch(() => {
      known = null
    })
    return known
  }
}

/** Writes a key for a host without a keychain, if it is not there. Rejects with `key.other` where another one is. */
export async function writeDataKey(
  { key: file }: Pick<DataFolder, 'key'>,
  key: string,
): Promise<{ file: string; written: boolean }> {
  const existing = await read(file)
  if (existing === undefined) await make(file, key)
  const there = existing ?? (await read(file))
  if (there === key) return { file, written: existing === undefined }
  throw new BalletError({
    code: 'key.other',
    message: `${file} holds another data key.`,
    hint: 'Nothing was written. Move it away if nothing that was sealed with it is needed, then try again.',
  })
}

/** What a person at a desktop should know of where the key lies; the keychain is asked nothing. */
export async function keyNotes({
  key: file,
  wrappedKey,
}: Pick<DataFolder, 'key' | 'wrappedKey'>): Promise<Refusal[]> {
  if (!(await isThere(file))) return []
  return [
    {
      code: 'key.in-file',
      message: `The data key, which seals what is kept of parked sessions, is in the file ${file}, which only you can read.`,
      hint: (await isThere(wrappedKey))
        ? 'It was exported for a headless host. The keychain has it too: remove the file when no such host needs it.'
        : 'There was no keychain when it was made. Whoever can read this file can read what is kept.',
    },
  ]
}

async function readOrMake(file: string, wrapped: string): Promise<string> {
  const existing = await read(file)
  if (existing !== undefined) return existing
  if (await isThere(wrapped)) throw wrappedOnly(file, wrapped)
  await make(file, randomBytes(KEY_BYTES).toString('base64'))
  const made = await read(file)
  if (made !== undefined) return made
  throw unusable(file, 'it is gone right after it was made')
}

async function read(file: string): Promise<string | undefined> {
  let text: string
  try {
    text = (await readFile(file, 'utf8')).trim()
    await closeToOthers(file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw unusable(file, textOf(error), error)
  }
  if (Buffer.from(text, 'base64').length === KEY_BYTES) return text
  throw new BalletError({
    code: 'key.malformed',
    message: `${file} does not hold a data key.`,
    hint: 'Put the right key back, from a backup or with: ballet key export. Without it nothing that is kept of parked sessions can be read; moving the file away makes a new key for what is parked from now on.',
  })
}

/** A key that was copied here may be as open as the folder that it came from. */
async function closeToOthers(file: string): Promise<void> {
  if (process.platform === 'win32') return
  if (((await stat(file)).mode & 0o077) !== 0) await chmod(file, 0o600)
}

/** Under its name only when it is whole and on the disk; one that somebody else made meanwhile counts. */
async function make(file: string, key: string): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString('hex')}.new`
  try {
    const handle = await open(draft, 'w', 0o600)
    try {
      await handle.writeFile(`${key}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await link(draft, file)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw unusable(file, textOf(error), error)
  } finally {
    await rm(draft, { force: true })
  }
}

async function isThere(file: string): Promise<boolean> {
  try {
    await access(file)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw unusable(file, textOf(error), error)
  }
}

function wrappedOnly(file: string, wrapped: string): BalletError {
  return new BalletError({
    code: 'key.wrapped',
    message: `The data key in ${wrapped} is wrapped by the desktop's keychain, which this host cannot ask.`,
    hint: `In the desktop application's session run: ballet key export. It writes ${file} for this host.`,
  })
}

function unusable(file: string, why: string, cause?: unknown): BalletError {
  return new BalletError(
    {
      code: 'key.unusable',
      message: `The data key ${file} cannot be used: ${why}.`,
      hint: 'Check that the data folder can be read and written and the disk is not full, then try again.',
    },
    { cause },
  )
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
