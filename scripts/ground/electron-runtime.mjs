import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { FALLBACK, fallbackFits, makeFallback } from './electron-fallback.mjs'
import {
  downloadOfficial,
  officialExecutable,
  officialSource,
  pinnedVersion,
} from './electron-official.mjs'
import { GroundError } from './errors.mjs'
import { copyTree, digestTree, readJson, replaceFolder, writeJson } from './files.mjs'
import { sweep } from './places.mjs'

/**
 * What a runtime folder says about itself, in `ballet-runtime.json`.
 *
 * @typedef {object} RuntimeStamp
 * @property {string} key names source, version, system and recipe
 * @property {'official' | 'fallback'} kind
 * @property {string} electron its version
 * @property {string} executable relative to the folder
 */

/** @typedef {import('./places.mjs').Places} Places */

const STAMP = 'ballet-runtime.json'
// How long a release site that could not be reached is not asked again.
const UNREACHABLE_MEMORY_MS = 12 * 60 * 60_000

/** @param {Places} places */
export const runtimeFolder = (places) => join(places.state, 'electron')

/**
 * The runtime that the set-up provided.
 * @param {Places} places
 * @returns {Promise<(RuntimeStamp & { path: string }) | undefined>} `path` is the program's full path
 */
export async function readRuntime(places) {
  const folder = runtimeFolder(places)
  const stamp = /** @type {RuntimeStamp | undefined} */ (await readJson(join(folder, STAMP)))
  if (typeof stamp?.executable !== 'string') return undefined
  const path = join(folder, stamp.executable)
  return existsSync(path) ? { ...stamp, path } : undefined
}

/**
 * The sources in the order of preference; each makes a whole distribution in an empty folder.
 *
 * @typedef {object} Source
 * @property {'official' | 'fallback'} kind
 * @property {string} key
 * @property {string} electron
 * @property {string} executable
 * @property {(dist: string, step: import('./progress.mjs').Step, lock: import('./lock.mjs').Lock) => Promise<void>} make
 */

/**
 * @param {Places} places
 * @returns {Promise<Source[]>}
 */
export async function runtimeSources(places) {
  const system = `${process.platform}-${process.arch}`
  const version = await pinnedVersion(places.root)
  /** @type {Source[]} */
  const sources = [
    {
      kind: 'official',
      key: `official-${version}-${system}`,
      electron: version,
      executable: officialExecutable(),
      make: (dist, step) =>
        downloadOfficial(dist, {
          root: places.root,
          version,
          scratch: places.cacheScratch,
          step,
        }),
    },
  ]
  if (fallbackFits()) {
    sources.push({
      kind: 'fallback',
      key: `fallback-${FALLBACK.electron}-${system}-${FALLBACK.recipe}`,
      electron: FALLBACK.electron,
      executable: 'electron',
      make: (dist, step, lock) => makeFallback(dist, places.cacheScratch, step, lock),
    })
  }
  return sources
}

/**
 * Puts an Electron runtime into `.runtime/electron`: the pinned one where it can be had, else the
 * stand-in. What was made once is kept in the cache, and verified when it is taken from there.
 *
 * @param {Places} places
 * @param {object} context
 * @param {import('./progress.mjs').Step} context.step
 * @param {(path: string) => Promise<import('./lock.mjs').Lock>} context.lockCache takes the cache's lock
 * @param {Source[]} [context.sources]
 * @param {() => number} [context.now]
 * @returns {Promise<string | { skipped: string }>}
 */
export async function ensureRuntime(places, { step, lockCache, sources, now = Date.now }) {
  const wanted = sources ?? (await runtimeSources(places))
  const present = await readRuntime(places)
  if (present && present.key === wanted[0]?.key) return { skipped: describeRuntime(present) }
  const candidates = await worthTrying(places, wanted, now)
  if (present && present.key === candidates[0]?.key) return { skipped: describeRuntime(present) }

  const lock = await lockCache(join(places.cache, 'lock'))
  try {
    await sweep(places.cacheScratch)
    for (const source of candidates) {
      if (present?.key === source.key) return { skipped: describeRuntime(present) }
      try {
        await takeFromCache(places, source, step, lock)
        return describeRuntime(source)
      } catch (error) {
        if (!(error instanceof GroundError) || error.code !== 'OFFICIAL_UNREACHABLE') throw error
        await writeJson(memoryFile(places), {
          key: source.key,
          source: officialSource(),
          at: now(),
        })
        if (source === candidates.at(-1)) throw error
        step.detail('Electron’s releases cannot be reached: using the stand-in')
      }
    }
  } finally {
    lock.release()
  }
  throw new GroundError(
    'RUNTIME_UNREACHABLE',
    `Electron could not be downloaded, and for ${process.platform} ${process.arch} there is no stand-in.`,
    `Set ELECTRON_MIRROR to a mirror that is reachable from here, and run the command again.`,
  )
}

/** @param {Pick<RuntimeStamp, 'kind' | 'electron'>} runtime */
export function describeRuntime({ kind, electron }) {
  return kind === 'official'
    ? `Electron ${electron}, the pinned version`
    : `Electron ${electron}, a stand-in for development and tests: the pinned version cannot be downloaded here`
}

/**
 * @param {Places} places
 * @param {Source} source
 * @param {import('./progress.mjs').Step} step
 * @param {import('./lock.mjs').Lock} lock the cache's
 */
async function takeFromCache(places, source, step, lock) {
  const shelf = shelfOf(places, source.key)
  const made = join(places.scratch, 'electron')
  let digest = await verifiedDigest(shelf, step)
  if (digest === undefined) {
    const fresh = join(places.cacheScratch, 'electron')
    await rm(fresh, { recursive: true, force: true })
    await mkdir(join(fresh, 'dist'), { recursive: true })
    await source.make(join(fresh, 'dist'), step, lock)
    step.detail('noting checksums')
    digest = await digestTree(join(fresh, 'dist'))
    await writeJson(join(fresh, 'checksums.json'), digest)
    await replaceFolder(fresh, shelf, places.cacheScratch)
  }
  step.detail('copying')
  await rm(made, { recursive: true, force: true })
  await copyTree(join(shelf, 'dist'), made, digest)
  /** @type {RuntimeStamp} */
  const stamp = {
    key: source.key,
    kind: source.kind,
    electron: source.electron,
    executable: source.executable,
  }
  await writeJson(join(made, STAMP), stamp)
  await replaceFolder(made, runtimeFolder(places), places.scratch)
}

/**
 * The checksums of what is on the shelf, where every file agrees with them.
 *
 * @param {string} shelf
 * @param {import('./progress.mjs').Step} step
 */
async function verifiedDigest(shelf, step) {
  const noted = await readJson(join(shelf, 'checksums.json'))
  if (noted === undefined) return undefined
  step.detail('verifying the cached one')
  const found = await digestTree(join(shelf, 'dist')).catch(() => undefined)
  return JSON.stringify(found) === JSON.stringify(noted) ? noted : undefined
}

/** @param {Places} places */
const memoryFile = (places) => join(places.cache, 'electron-unreachable.json')

/**
 * The sources without the one that could not be reached a short while ago, if there is another.
 *
 * @param {Places} places
 * @param {Source[]} sources
 * @param {() => number} now
 */
async function worthTrying(places, sources, now) {
  if (sources.length < 2) return sources
  const memory = await readJson(memoryFile(places))
  const fresh = memory?.source === officialSource() && now() - memory.at < UNREACHABLE_MEMORY_MS
  return sources.filter(
    ({ key }) => !(fresh && memory.key === key) || existsSync(join(shelfOf(places, key), 'dist')),
  )
}

/**
 * @param {Places} places
 * @param {string} key
 */
const shelfOf = (places, key) => join(places.cache, 'electron', key)
