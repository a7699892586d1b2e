import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { desktopDataKey, type Keychain } from './data-key.ts'

let folder: string
let files: { key: string; wrappedKey: string }
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-key-'))
  files = { key: join(folder, 'key'), wrappedKey: join(folder, 'key.wrapped') }
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const flip = (bytes: Buffer) => Buffer.from(bytes.map((byte) => byte ^ 0xff))

const keychain = (parts: Partial<Keychain> = {}): Keychain => ({
  isEncryptionAvailable: () => true,
  encryptString: (text) => flip(Buffer.from(text)),
  decryptString: (wrapped) => flip(wrapped).toString(),
  getSelectedStorageBackend: () => 'gnome_libsecret',
  ...parts,
})

const keyOf = (chain: Keychain) => desktopDataKey(chain, 'linux')(files)()

test('the key is made once, and lies on the disk only as the keychain wrapped it', async () => {
  const keys = new Set(await Promise.all([1, 2, 3].map(() => keyOf(keychain()))))
  expect(keys.size).toBe(1)
  const [key = ''] = keys
  expect(Buffer.from(key, 'base64')).toHaveLength(32)
  expect(readdirSync(folder)).toEqual(['key.wrapped'])
  expect(readFileSync(files.wrappedKey, 'latin1')).not.toContain(key)
  if (process.platform !== 'win32') expect(statSync(files.wrappedKey).mode & 0o777).toBe(0o600)
  expect(await keyOf(keychain())).toBe(key)
})

test('a keychain that is none gives a file of its owner alone', async () => {
  const basic = keychain({ getSelectedStorageBackend: () => 'basic_text' })
  const key = await keyOf(basic)
  expect(readdirSync(folder)).toEqual(['key'])
  expect(await keyOf(keychain({ isEncryptionAvailable: () => false }))).toBe(key)
  // The one of the folder stays its key when there is a keychain later.
  expect(await keyOf(keychain())).toBe(key)
  expect(readdirSync(folder)).toEqual(['key'])
})

test('a key that cannot be unwrapped is said, and never made anew', async () => {
  const key = await keyOf(keychain())
  const fails = keychain({
    decryptString: () => {
      throw new Error('locked')
    },
  })
  await expect(keyOf(fails)).rejects.toMatchObject({ code: 'key.locked' })
  const basic = keychain({ getSelectedStorageBackend: () => 'basic_text' })
  await expect(keyOf(basic)).rejects.toMatchObject({
    code: 'key.wrapped',
    hint: expect.stringContaining('ballet key export'),
  })
  expect(readdirSync(folder)).toEqual(['key.wrapped'])
  // As an export of it leaves it.
  writeFileSync(files.key, `${key}\n`)
  expect(await keyOf(fails)).toBe(key)
})

test('a keychain that is locked is no missing one: what it wrapped waits for it', async () => {
  const shut = keychain({ isEncryptionAvailable: () => false })
  const key = await keyOf(keychain())
  await expect(keyOf(shut)).rejects.toMatchObject({
    code: 'key.locked',
    hint: expect.stringContaining('start it again'),
  })
  expect(readdirSync(folder)).toEqual(['key.wrapped'])
  expect(await keyOf(keychain())).toBe(key)
})
