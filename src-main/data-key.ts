import { randomBytes } from 'node:crypto'
import { access, link, open, readFile, rm } from 'node:fs/promises'
import type { SafeStorage } from 'electron'
import { type DataFolder, dataKeyFile } from '../src-core/index.ts'
import { BalletError } from '../src-shared/refusal.ts'

const KEY_BYTES = 32

const COPY_HINT =
  'Without the key nothing that is kept of parked sessions can be read; a copy of it, from ballet key export, may be put beside it as the file key.'

export type Keychain = Pick<
  SafeStorage,
  'isEncryptionAvailable' | 'encryptString' | 'decryptString'
> & {
  /** Of Linux alone. */
  getSelectedStorageBackend?: SafeStorage['getSelectedStorageBackend']
}

/**
 * The data key of the desktop: wrapped by the system's keychain, in `<data>/key.wrapped`. A key that stands in a file
 * already, which a headless host may have made, is the key; where there is no keychain it is kept in such a file too.
 * Rejects with `BalletError`: `key.locked` where the keychain does not open what it wrapped, and as `dataKeyFile`.
 */
export function desktopDataKey(
  keychain: Keychain,
  platform: NodeJS.Platform = process.platform,
): (folder: Pick<DataFolder, 'key' | 'wrappedKey'>) => () => Promise<string> {
  return (folder) => {
    const inFile = dataKeyFile(folder)
    let known: Promise<string> | null = null
    const find = async () => {
      if (await isThere(folder.key)) return inFile()
      const state = stateOf(keychain, platform)
      if (state === 'closed' && (await isThere(folder.wrappedKey))) throw closed(folder.wrappedKey)
      if (state !== 'open') return inFile()
      return (await unwrap(keychain, folder.wrappedKey)) ?? wrapNew(keychain, folder.wrappedKey)
    }
    return () => {
      known ??= find()
      known.catch(() => {
        known = null
      })
      return known
    }
  }
}

/** Closed: the desktop has one, which is locked or does not run. `basic_text` wraps with a key of every copy. */
function stateOf(keychain: Keychain, platform: NodeJS.Platform): 'open' | 'closed' | 'none' {
  if (platform === 'linux' && keychain.getSelectedStorageBackend?.() === 'basic_text') return 'none'
  return keychain.isEncryptionAvailable() ? 'open' : 'closed'
}

async function unwrap(keychain: Keychain, file: string): Promise<string | null> {
  let wrapped: Buffer
  try {
    wrapped = await readFile(file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw unusable(file, error)
  }
  try {
    const key = keychain.decryptString(wrapped)
    if (Buffer.from(key, 'base64').length === KEY_BYTES) return key
  } catch (cause) {
    throw locked(file, cause)
  }
  throw locked(file, undefined)
}

/** Under its name only when it is whole and on the disk; one that somebody else made meanwhile counts. */
async function wrapNew(keychain: Keychain, file: string): Promise<string> {
  const key = randomBytes(KEY_BYTES).toString('base64')
  const draft = `${file}.${randomBytes(6).toString('hex')}.new`
  try {
    const handle = await open(draft, 'w', 0o600)
    try {
      await handle.writeFile(keychain.encryptString(key))
      await handle.sync()
    } finally {
      await handle.close()
    }
    await link(draft, file)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw unusable(file, error)
  } finally {
    await rm(draft, { force: true })
  }
  const made = await unwrap(keychain, file)
  if (made !== null) return made
  throw unusable(file, new Error('it is gone right after it was made'))
}

async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}

/** Electron asks for it once in its life. */
function closed(file: string): BalletError {
  return new BalletError({
    code: 'key.locked',
    message: `The data key in ${file} is wrapped by the system's keychain, which is locked or does not run.`,
    hint: `Unlock the keychain, then quit Ballet and start it again. ${COPY_HINT}`,
  })
}

function locked(file: string, cause: unknown): BalletError {
  return new BalletError(
    {
      code: 'key.locked',
      message: `The system's keychain does not open the data key in ${file}.`,
      hint: `Unlock the keychain of the user who made it, and try again. ${COPY_HINT}`,
    },
    { cause },
  )
}

function unusable(file: string, cause: unknown): BalletError {
  return new BalletError(
    {
      code: 'key.unusable',
      message: `The data key ${file} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}.`,
      hint: 'Check that the data folder can be read and written and the disk is not full, then try again.',
    },
    { cause },
  )
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined
