import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The clone that these scripts are in. */
export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

/**
 * Where things are, for one clone and one cache.
 *
 * @typedef {object} Places
 * @property {string} root the clone
 * @property {string} state what the set-up made and noted in this clone (`.runtime`)
 * @property {string} scratch unfinished work of this clone; swept when the lock is taken
 * @property {string} cache what can be shared between clones
 * @property {string} cacheScratch unfinished work of the cache; swept when its lock is taken
 */

/**
 * @param {string} [root]
 * @param {NodeJS.ProcessEnv} [env] BALLET_CACHE names another cache folder
 * @returns {Places}
 */
export function placesOf(root = ROOT, env = process.env) {
  const cache = env.BALLET_CACHE ? resolve(env.BALLET_CACHE) : defaultCache(env)
  const state = join(root, '.runtime')
  return { root, state, scratch: join(state, 'tmp'), cache, cacheScratch: join(cache, 'tmp') }
}

/** @param {NodeJS.ProcessEnv} env */
function defaultCache(env) {
  if (process.platform === 'win32' && env.LOCALAPPDATA) {
    return join(env.LOCALAPPDATA, 'ballet', 'Cache')
  }
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'ballet')
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'ballet')
}

/**
 * Empties a scratch folder. Only its lock's owner may: to everybody else its content is in use.
 * @param {string} scratch
 */
export async function sweep(scratch) {
  await rm(scratch, { recursive: true, force: true })
  await mkdir(scratch, { recursive: true })
}

/** Whether the C library is musl, whose binaries are other ones than glibc's. */
export function libc() {
  if (process.platform !== 'linux') return 'system'
  const report = /** @type {any} */ (process.report?.getReport())
  return report?.header?.glibcVersionRuntime ? 'glibc' : 'musl'
}

/**
 * The full path of a program on the PATH.
 * @param {string} name
 * @param {NodeJS.ProcessEnv} [env]
 */
export function findProgram(name, env = process.env) {
  const separator = process.platform === 'win32' ? ';' : ':'
  const endings = process.platform === 'win32' ? ['.exe', '.cmd', ''] : ['']
  for (const folder of (env.PATH ?? '').split(separator)) {
    for (const ending of endings) {
      const path = join(folder, `${name}${ending}`)
      if (folder !== '' && existsSync(path)) return path
    }
  }
  return undefined
}
