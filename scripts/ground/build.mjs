import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ENTRIES } from './entries.mjs'
import { GroundError } from './errors.mjs'
import { hashFiles, listFiles, readJson, replaceFolder, writeJson } from './files.mjs'
import { mustRun } from './run.mjs'

/** @typedef {import('./places.mjs').Places} Places */

const STAMP = '.stamp.json'
const BUILD_LIMIT_MS = 10 * 60_000

const BUILDS = [
  {
    title: 'the window and main process',
    args: ['electron-vite/bin/electron-vite.js', 'build', '--outDir'],
    below: '',
  },
  {
    title: 'agent, host and command line',
    args: ['vite/bin/vite.js', 'build', '--config', 'vite.node.config.ts', '--outDir'],
    below: 'node',
  },
]

/**
 * Builds into a folder beside `out` and puts it in place as a whole, where the sources changed.
 *
 * @param {Places} places
 * @param {import('./progress.mjs').Step} step
 * @param {import('./lock.mjs').Lock} lock
 * @param {{ force?: boolean }} [options]
 * @returns {Promise<string | { skipped: string }>}
 */
export async function ensureBuild(places, step, lock, { force = false } = {}) {
  const { root } = places
  const out = join(root, 'out')
  const sources = await sourcesHash(root)
  const stamp = await readJson(join(out, STAMP))
  if (!force && stamp?.sources === sources) return { skipped: 'nothing changed' }

  const absent = Object.values(ENTRIES).filter((source) => !existsSync(join(root, source)))
  if (absent.length > 0) {
    throw new GroundError(
      'ENTRY_MISSING',
      `Nothing can be built without ${absent.join(', ')}.`,
      'Bring the files back (git status shows what is missing), or change scripts/ground/entries.mjs.',
    )
  }
  // As deep as `out`, so that the source maps' relative paths are right after the move.
  const fresh = join(root, '.out-new')
  await rm(fresh, { recursive: true, force: true })
  await mkdir(fresh)
  for (const { title, args, below } of BUILDS) {
    const [tool = '', ...rest] = args
    step.detail(title)
    await mustRun(
      process.execPath,
      [join(root, 'node_modules', tool), ...rest, join(fresh, below)],
      {
        cwd: root,
        limitMs: BUILD_LIMIT_MS,
        lock,
        onLine: (line) => step.detail(`${title}: ${line.trim()}`),
        failure: {
          code: 'BUILD_FAILED',
          message: `Building ${title} failed.`,
          hint: 'The output above names the file. What was built before is still in place.',
        },
      },
    )
  }
  const unmade = Object.keys(ENTRIES).filter((made) => !existsSync(join(fresh, made)))
  if (unmade.length > 0) {
    throw new GroundError(
      'BUILD_INCOMPLETE',
      `The build ended without making ${unmade.join(', ')}.`,
      'Compare electron.vite.config.ts and vite.node.config.ts with scripts/ground/entries.mjs.',
    )
  }
  await writeJson(join(fresh, STAMP), { sources })
  await replaceFolder(fresh, out, places.scratch)
  return ''
}

/**
 * One hash over all that a build reads.
 * @param {string} root
 */
export async function sourcesHash(root) {
  const paths = await listFiles(root, isSource)
  return hashFiles(root, paths)
}

/** @param {string} path relative to the root; folders end with a slash */
export function isSource(path) {
  if (/\.(test|spec)\.tsx?$/.test(path)) return false
  if (/^(src-[^/]+|resources|e2e\/model)\//.test(path)) return !path.includes('/node_modules/')
  return [
    'package.json',
    'package-lock.json',
    'tsconfig.base.json',
    'electron.vite.config.ts',
    'vite.node.config.ts',
    'e2e/',
    'scripts/',
    'scripts/ground/',
    'scripts/ground/build.mjs',
    'scripts/ground/entries.mjs',
  ].includes(path)
}
