import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FALLBACK, verifyFile } from './electron-fallback.mjs'
import { ensureRuntime, readRuntime, runtimeFolder } from './electron-runtime.mjs'
import { GroundError } from './errors.mjs'
import { takeLock } from './lock.mjs'
import { placesOf } from './places.mjs'

/** @typedef {import('./electron-runtime.mjs').Source} Source */

const HOUR = 60 * 60_000

/** @type {string} */
let folder
/** @type {import('./places.mjs').Places} */
let places
/** @type {string[]} */
let made
/** @type {number} */
let now
/** @type {{ official: 'reachable' | 'unreachable' | 'wrong', fallback: 'reachable' | 'wrong' | 'interrupted' }} */
let world

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-runtime-'))
  places = placesOf(join(folder, 'clone'), { BALLET_CACHE: join(folder, 'cache') })
  mkdirSync(places.scratch, { recursive: true })
  made = []
  now = Date.UTC(2025, 0, 1)
  world = { official: 'unreachable', fallback: 'reachable' }
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/**
 * @param {'official' | 'fallback'} kind
 * @returns {Source}
 */
const source = (kind) => ({
  kind,
  key: `${kind}-1`,
  electron: kind === 'official' ? '45.5.0' : '33.2.1',
  executable: 'electron',
  make: async (dist) => {
    made.push(kind)
    if (world[kind] === 'unreachable') throw new GroundError('OFFICIAL_UNREACHABLE', 'no', 'hint')
    if (world[kind] === 'wrong') throw new GroundError('CHECKSUM_MISMATCH', 'no', 'hint')
    writeFileSync(join(dist, 'electron'), `#!/bin/sh\necho ${kind}\n`)
    if (world[kind] === 'interrupted') throw new Error('killed')
    chmodSync(join(dist, 'electron'), 0o755)
    mkdirSync(join(dist, 'locales'))
    writeFileSync(join(dist, 'locales/en.pak'), 'en')
  },
})
const ensure = (sources = [source('official'), source('fallback')]) =>
  ensureRuntime(places, {
    step: { detail: () => {}, progress: () => {} },
    lockCache: (path) => takeLock(path, { limitMs: 1_000 }),
    sources,
    now: () => now,
  })
const runs = async () => {
  const runtime = await readRuntime(places)
  return runtime && execFileSync(runtime.path, { encoding: 'utf8' }).trim()
}

describe('the runtime', () => {
  it('is the pinned one where it can be had', async () => {
    world.official = 'reachable'
    expect(await ensure()).toBe('Electron 45.5.0, the pinned version')
    expect(await runs()).toBe('official')
    expect(await readRuntime(places)).toMatchObject({ kind: 'official', electron: '45.5.0' })
    expect(made).toEqual(['official'])
  })

  it('is the stand-in elsewhere, and says so', async () => {
    expect(await ensure()).toMatch(/Electron 33\.2\.1, a stand-in .* cannot be downloaded here/)
    expect(await runs()).toBe('fallback')
  })

  it('is left alone when it is there', async () => {
    await ensure()
    made = []
    expect(await ensure()).toEqual({ skipped: expect.stringContaining('33.2.1') })
    expect(made).toEqual([])
  })

  it('is asked for again after half a day, and then replaced by the pinned one', async () => {
    await ensure()
    world.official = 'reachable'
    now += 11 * HOUR
    await ensure()
    expect(await runs()).toBe('fallback')
    now += 2 * HOUR
    await ensure()
    expect(await runs()).toBe('official')
  })

  it('stays as it is when asking again fails again, and that is remembered anew', async () => {
    await ensure()
    now += 13 * HOUR
    expect(await ensure()).toEqual({ skipped: expect.stringContaining('33.2.1') })
    expect(made).toEqual(['official', 'fallback', 'official'])
    await ensure()
    expect(made).toHaveLength(3)
  })

  it('is never the stand-in after the pinned one was there', async () => {
    world.official = 'reachable'
    await ensure()
    world.official = 'unreachable'
    rmSync(runtimeFolder(places), { recursive: true })
    await ensure()
    expect(await runs()).toBe('official')
    expect(made).toEqual(['official'])
  })

  it('comes from the cache in another clone', async () => {
    await ensure()
    places = placesOf(join(folder, 'clone2'), { BALLET_CACHE: join(folder, 'cache') })
    mkdirSync(places.scratch, { recursive: true })
    await ensure()
    expect(await runs()).toBe('fallback')
    expect(made).toEqual(['official', 'fallback'])
  })

  it.each([
    ['changed', (/** @type {string} */ dist) => writeFileSync(join(dist, 'locales/en.pak'), 'xx')],
    ['gone', (/** @type {string} */ dist) => rmSync(join(dist, 'locales/en.pak'))],
    ['added', (/** @type {string} */ dist) => writeFileSync(join(dist, 'evil.so'), 'x')],
  ])('is made again where a file in the cache is %s', async (_, damage) => {
    await ensure()
    rmSync(runtimeFolder(places), { recursive: true })
    damage(join(places.cache, 'electron', 'fallback-1', 'dist'))
    await ensure()
    expect(made).toEqual(['official', 'fallback', 'fallback'])
    expect(await runs()).toBe('fallback')
    expect(existsSync(join(runtimeFolder(places), 'evil.so'))).toBe(false)
  })

  it('is not there, and not in the cache, after making it was interrupted', async () => {
    world.fallback = 'interrupted'
    await expect(ensure()).rejects.toThrow('killed')
    expect(await readRuntime(places)).toBeUndefined()
    expect(existsSync(join(places.cache, 'electron'))).toBe(false)
    world.fallback = 'reachable'
    await ensure()
    expect(await runs()).toBe('fallback')
  })

  it('is refused when its checksum is wrong, and the other one is not used instead', async () => {
    world.official = 'wrong'
    await expect(ensure()).rejects.toMatchObject({ code: 'CHECKSUM_MISMATCH' })
    expect(await readRuntime(places)).toBeUndefined()
    expect(made).toEqual(['official'])
  })

  it('is a clear failure where there is no stand-in, and tried again at once', async () => {
    const only = () => ensure([source('official')])
    await expect(only()).rejects.toMatchObject({ code: 'OFFICIAL_UNREACHABLE' })
    await expect(only()).rejects.toMatchObject({ code: 'OFFICIAL_UNREACHABLE' })
    expect(made).toEqual(['official', 'official'])
  })

  it('is not taken for one whose program is gone', async () => {
    await ensure()
    rmSync(join(runtimeFolder(places), 'electron'))
    expect(await readRuntime(places)).toBeUndefined()
  })
})

it('refuses a file that is not the expected one, naming both checksums', async () => {
  const path = join(folder, 'file.tgz')
  writeFileSync(path, 'A')
  const right = '559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd'
  await verifyFile(path, 'sha256', 'hex', right)
  const failure = verifyFile(path, 'sha256', 'hex', FALLBACK.zipSha256)
  await expect(failure).rejects.toMatchObject({ code: 'CHECKSUM_MISMATCH' })
  await expect(failure).rejects.toThrow(new RegExp(`${right}, not ${FALLBACK.zipSha256}`))
  expect(readFileSync(path, 'utf8')).toBe('A')
})
