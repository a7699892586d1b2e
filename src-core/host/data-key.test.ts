import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { layOut } from './data-folder.ts'
import { dataKeyFile, keyNotes } from './data-key.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-key-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a key is made once, also by several who need it at the same moment', async () => {
  const files = layOut(folder)
  const asked = Array.from({ length: 5 }, () => dataKeyFile(files))
  const keys = new Set(await Promise.all(asked.map((key) => key())))
  expect(keys.size).toBe(1)
  const [key = ''] = keys
  expect(Buffer.from(key, 'base64')).toHaveLength(32)
  expect(readFileSync(files.key, 'utf8').trim()).toBe(key)
  expect(await dataKeyFile(files)()).toBe(key)
  expect(readdirSync(folder)).toEqual(['key'])
  if (process.platform !== 'win32') expect(statSync(files.key).mode & 0o777).toBe(0o600)
})

test('a key that the keychain wrapped, and one that is none, are never replaced', async () => {
  const files = layOut(folder)
  writeFileSync(files.wrappedKey, 'wrapped')
  const key = dataKeyFile(files)
  await expect(key()).rejects.toMatchObject({
    code: 'key.wrapped',
    hint: expect.stringContaining('ballet key export'),
  })
  writeFileSync(files.key, 'short')
  await expect(key()).rejects.toMatchObject({ code: 'key.malformed' })
  expect(readFileSync(files.key, 'utf8')).toBe('short')
  // Put right, it is used without a new start.
  const right = Buffer.alloc(32, 7).toString('base64')
  writeFileSync(files.key, right)
  expect(await key()).toBe(right)
})

test('a key that others could read is closed to them, and one that is no file is said', async () => {
  const files = layOut(folder)
  const right = Buffer.alloc(32, 7).toString('base64')
  writeFileSync(files.key, right)
  chmodSync(files.key, 0o644)
  expect(await dataKeyFile(files)()).toBe(right)
  if (process.platform !== 'win32') expect(statSync(files.key).mode & 0o777).toBe(0o600)
  rmSync(files.key)
  mkdirSync(files.key)
  await expect(dataKeyFile(files)()).rejects.toMatchObject({ code: 'key.unusable' })
})

test('a person is told of a key in a file, and of one that was exported', async () => {
  const files = layOut(folder)
  expect(await keyNotes(files)).toEqual([])
  await dataKeyFile(files)()
  expect(await keyNotes(files)).toMatchObject([
    { code: 'key.in-file', hint: expect.stringContaining('no keychain') },
  ])
  writeFileSync(files.wrappedKey, 'wrapped')
  expect(await keyNotes(files)).toMatchObject([
    { code: 'key.in-file', hint: expect.stringContaining('exported') },
  ])
})
