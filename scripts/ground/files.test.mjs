import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  copyTree,
  digestFile,
  digestTree,
  hashFiles,
  listFiles,
  readJson,
  replaceFolder,
  writeJson,
} from './files.mjs'

/** @type {string} */
let root
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ballet-files-'))
  mkdirSync(join(root, 'tree/deep'), { recursive: true })
  writeFileSync(join(root, 'tree/a'), 'A')
  writeFileSync(join(root, 'tree/deep/b'), 'B')
  symlinkSync('deep/b', join(root, 'tree/link'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

describe('a hash over files', () => {
  const paths = ['tree/a', 'tree/deep/b']

  it('stays as long as names and contents stay', async () => {
    const before = await hashFiles(root, paths)
    writeFileSync(join(root, 'tree/a'), 'A')
    expect(await hashFiles(root, paths)).toBe(before)
  })

  it('changes with a content, a name, and a file that is gone', async () => {
    const before = await hashFiles(root, paths)
    expect(await hashFiles(root, ['tree/a'])).not.toBe(before)
    writeFileSync(join(root, 'tree/a'), 'A2')
    const changed = await hashFiles(root, paths)
    expect(changed).not.toBe(before)
    rmSync(join(root, 'tree/a'))
    expect([before, changed]).not.toContain(await hashFiles(root, paths))
  })
})

it('digests a file as other programs do', async () => {
  // From `printf A | sha256sum`.
  expect(await digestFile(join(root, 'tree/a'))).toBe(
    '559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd',
  )
})

it('lists files below, without what is not wanted', async () => {
  expect(await listFiles(join(root, 'tree'))).toEqual(['a', 'deep/b', 'link'])
  expect(await listFiles(join(root, 'tree'), (path) => path !== 'deep/')).toEqual(['a', 'link'])
})

it('copies a tree with its links, and digests it the same', async () => {
  const digest = await digestTree(join(root, 'tree'))
  await copyTree(join(root, 'tree'), join(root, 'copy'), digest)
  expect(await digestTree(join(root, 'copy'))).toEqual(digest)
  expect(readlinkSync(join(root, 'copy/link'))).toBe('deep/b')
})

it('replaces a folder as a whole', async () => {
  mkdirSync(join(root, 'scratch'))
  mkdirSync(join(root, 'new'))
  writeFileSync(join(root, 'new/c'), 'C')
  await replaceFolder(join(root, 'new'), join(root, 'tree'), join(root, 'scratch'))
  expect(await listFiles(join(root, 'tree'))).toEqual(['c'])
  expect(existsSync(join(root, 'new'))).toBe(false)
  expect(await listFiles(join(root, 'scratch'))).toEqual([])
})

it('reads JSON, and nothing from a file that is missing or cut', async () => {
  const path = join(root, 'stamp.json')
  expect(await readJson(path)).toBeUndefined()
  await writeJson(path, { a: 1 })
  expect(await readJson(path)).toEqual({ a: 1 })
  writeFileSync(path, readFileSync(path, 'utf8').slice(0, 4))
  expect(await readJson(path)).toBeUndefined()
})
