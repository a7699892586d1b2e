import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Log } from '../src-core/index.ts'
import { openKeptTexts } from './kept-texts.ts'

const log = { info() {}, warn() {}, error() {}, debug() {} } as unknown as Log
let folder: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ballet-kept-'))
  file = join(folder, 'drafts.json')
})
afterEach(() => rm(folder, { recursive: true }))

it('keeps and forgets texts, for the owner alone', async () => {
  const kept = openKeptTexts(file, log)
  expect(await kept.all()).toEqual({})
  kept.change({ a: 'one', b: 'two' })
  kept.change({ b: null, c: 'three' })
  await kept.settled()
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ a: 'one', c: 'three' })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await openKeptTexts(file, log).all()).toEqual({ a: 'one', c: 'three' })
})

it('takes nothing that is no text', async () => {
  const kept = openKeptTexts(file, log)
  kept.change({ a: 1 })
  kept.change('a')
  await kept.settled()
  expect(await kept.all()).toEqual({})
})

it('puts a file aside that cannot be read', async () => {
  await writeFile(file, '{"a":')
  const kept = openKeptTexts(file, log)
  expect(await kept.all()).toEqual({})
  kept.change({ b: 'new' })
  await kept.settled()
  expect((await readdir(folder)).sort()).toEqual(['drafts.json', 'drafts.json.unreadable'])
})
