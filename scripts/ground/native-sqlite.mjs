import { existsSync } from 'node:fs'
import { copyFile, cp, mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { GroundError } from './errors.mjs'
import { digestFile, readJson, replaceFolder, writeJson } from './files.mjs'
import { findProgram, libc, sweep } from './places.mjs'
import { mustRun, run } from './run.mjs'
import { COMPILER_PACKAGES, ensureSystemPackages, installCommand } from './system-packages.mjs'

/**
 * @typedef {import('./places.mjs').Places} Places
 * @typedef {import('./electron-runtime.mjs').RuntimeStamp} RuntimeStamp
 */

// The prebuilt binary of better-sqlite3 calls Node-API 10 and ends an older process by a signal.
const PREBUILT_NODE_API = 10
const FIRST_ELECTRON_WITH_IT = 35
// The same source for the Node-API that is there: without the fixed version, with the newer calls
// that it uses declared as experimental ones.
const CXXFLAGS = '-UNAPI_VERSION -DNAPI_EXPERIMENTAL -DNODE_API_EXPERIMENTAL_NO_WARNING'
// Raised when the flags change.
const RECIPE = 1
const COMPILE_LIMIT_MS = 30 * 60_000
const HEADERS_LIMIT_MS = 3 * 60_000
const LOAD_LIMIT_MS = 60_000

const BINARY = 'better_sqlite3.node'

/**
 * Whether the prebuilt binary runs in this Node and in this runtime.
 *
 * @param {string | undefined} nodeApi `process.versions.napi`
 * @param {Pick<RuntimeStamp, 'electron'> | undefined} runtime
 */
export function prebuiltRuns(nodeApi, runtime) {
  const electron = Number.parseInt(runtime?.electron ?? '', 10)
  return (
    Number(nodeApi) >= PREBUILT_NODE_API &&
    (Number.isNaN(electron) || electron >= FIRST_ELECTRON_WITH_IT)
  )
}

/**
 * Makes better-sqlite3 load in Node and in the runtime, compiling it once where it has to be, and
 * proves it by loading it in both.
 *
 * @param {Places} places
 * @param {object} context
 * @param {import('./progress.mjs').Step} context.step
 * @param {import('./progress.mjs').Report} context.report
 * @param {import('./lock.mjs').Lock} context.lock the clone's
 * @param {(path: string) => Promise<import('./lock.mjs').Lock>} context.lockCache
 * @param {(RuntimeStamp & { path: string }) | undefined} context.runtime
 * @returns {Promise<string | { skipped: string }>}
 */
export async function ensureSqlite(places, { step, report, lock, lockCache, runtime }) {
  const folder = join(places.root, 'node_modules', 'better-sqlite3')
  const installed = join(folder, 'build', 'Release', BINARY)
  const { version } = await readJson(join(folder, 'package.json'))
  const compiled = !prebuiltRuns(process.versions.napi, runtime)
  const state = {
    version,
    recipe: compiled ? RECIPE : 'prebuilt',
    node: process.version,
    libc: libc(),
    runtime: runtime?.key ?? 'none',
  }
  const stampFile = join(folder, 'build', 'ballet-checked.json')
  const stamp = await readJson(stampFile)
  if (JSON.stringify(stamp) === JSON.stringify(state) && existsSync(installed) === compiled) {
    return { skipped: `${version} loads` }
  }

  await rm(stampFile, { force: true })
  if (compiled) {
    const cached = await compiledBinary(places, { folder, version, step, report, lockCache })
    await mkdir(dirname(installed), { recursive: true })
    await copyFile(cached, `${installed}.tmp`)
    await rename(`${installed}.tmp`, installed)
  } else {
    // One that an older Node made necessary would be preferred to the prebuilt.
    await rm(join(folder, 'build'), { recursive: true, force: true })
  }

  step.detail('loading it')
  await proveItLoads(places.root, process.execPath, 'Node', process.env, lock)
  if (runtime) {
    const env = { ...process.env, ELECTRON_RUN_AS_NODE: '1' }
    try {
      await proveItLoads(places.root, runtime.path, `Electron ${runtime.electron}`, env, lock)
    } catch (error) {
      if (!(error instanceof GroundError) || error.code !== 'LIBRARY_MISSING') throw error
      // The headless host needs no Electron: said, not noted as done, and tried again the next time.
      report.line(`  ! ${error.message}\n    ${error.hint}`)
      return { skipped: `${version} loads in Node` }
    }
  }
  await writeJson(stampFile, state)
  return `${version}, ${compiled ? 'compiled for this Node-API' : 'prebuilt'}`
}

/**
 * The compiled binary in the cache, made there first where it is not or is damaged.
 *
 * @param {Places} places
 * @param {object} context
 * @param {string} context.folder
 * @param {string} context.version
 * @param {import('./progress.mjs').Step} context.step
 * @param {import('./progress.mjs').Report} context.report
 * @param {(path: string) => Promise<import('./lock.mjs').Lock>} context.lockCache
 */
async function compiledBinary(places, { folder, version, step, report, lockCache }) {
  const name = `${version}-${process.platform}-${process.arch}-${libc()}-${RECIPE}`
  const shelf = join(places.cache, 'better-sqlite3', name)
  const cached = join(shelf, BINARY)
  if (await isIntact(shelf)) return cached

  const lock = await lockCache(join(places.cache, 'lock'))
  try {
    if (await isIntact(shelf)) return cached
    await sweep(places.cacheScratch)
    const missing = ['python3', 'make', 'g++'].filter((program) => !findProgram(program))
    if (missing.length > 0 && process.platform === 'linux') {
      await ensureSystemPackages(COMPILER_PACKAGES, step, report, lock)
    }
    const work = join(places.cacheScratch, 'sqlite')
    await compile(folder, work, step, lock)
    const made = join(places.cacheScratch, 'sqlite-made')
    await mkdir(made)
    await copyFile(
      join(work, 'node_modules/better-sqlite3/build/Release', BINARY),
      join(made, BINARY),
    )
    await writeJson(join(made, 'checksums.json'), {
      [BINARY]: await digestFile(join(made, BINARY)),
    })
    await replaceFolder(made, shelf, places.cacheScratch)
    await rm(work, { recursive: true, force: true })
    return cached
  } finally {
    lock.release()
  }
}

/** @param {string} shelf */
async function isIntact(shelf) {
  const noted = await readJson(join(shelf, 'checksums.json'))
  if (noted === undefined || !existsSync(join(shelf, BINARY))) return false
  return (await digestFile(join(shelf, BINARY))) === noted[BINARY]
}

/**
 * Compiles a copy, so that an interrupted compilation leaves nothing in node_modules.
 *
 * @param {string} folder
 * @param {string} work
 * @param {import('./progress.mjs').Step} step
 * @param {import('./lock.mjs').Lock} lock
 */
async function compile(folder, work, step, lock) {
  const modules = join(work, 'node_modules')
  await cp(folder, join(modules, 'better-sqlite3'), {
    recursive: true,
    filter: (path) => path !== join(folder, 'build'),
  })
  await cp(join(folder, '..', 'node-addon-api'), join(modules, 'node-addon-api'), {
    recursive: true,
  })
  const nodeGyp = join(folder, '..', 'node-gyp', 'bin', 'node-gyp.js')
  const headers = await headersFolder()
  if (headers === undefined) await downloadHeaders(nodeGyp, step, lock)
  await mustRun(
    process.execPath,
    [
      nodeGyp,
      'rebuild',
      '--release',
      '--jobs=max',
      '--force_build=1',
      ...(headers ? [`--nodedir=${headers}`] : []),
    ],
    {
      cwd: join(modules, 'better-sqlite3'),
      env: { ...process.env, CXXFLAGS },
      limitMs: COMPILE_LIMIT_MS,
      lock,
      onLine: () => step.detail('compiling, once (a minute on an idle machine)'),
      failure: {
        code: 'SQLITE_COMPILE_FAILED',
        message: 'better-sqlite3 could not be compiled for this version of Node.',
        hint: `Use Node 22 or newer with Electron's own runtime, or install a compiler: ${installCommand(COMPILER_PACKAGES)}`,
      },
    },
  )
}

/**
 * Node's headers, where they are on the disk already: those of the Node that runs, then those that npm was told of.
 *
 * @param {string} [program] Node's
 * @param {() => Promise<string>} [configured]
 * @returns {Promise<string | undefined>} the folder with `include/node` in it
 */
export async function headersFolder(program = process.execPath, configured = npmNodedir) {
  const hasHeaders = (/** @type {string} */ folder) =>
    existsSync(join(folder, 'include', 'node', 'node_api.h'))
  const beside = join(dirname(program), '..')
  if (hasHeaders(beside)) return beside
  const told = await configured()
  return hasHeaders(told) ? told : undefined
}

async function npmNodedir() {
  const { stdout } = await run('npm', ['config', 'get', 'nodedir'], { limitMs: 30_000 })
  return stdout.trim()
}

/**
 * Lets node-gyp fetch the headers of this Node into its own cache, where it does not have them.
 *
 * @param {string} nodeGyp
 * @param {import('./progress.mjs').Step} step
 * @param {import('./lock.mjs').Lock} [lock]
 * @throws {GroundError} HEADERS_UNREACHABLE
 */
export async function downloadHeaders(nodeGyp, step, lock) {
  step.detail('downloading the headers of Node')
  const failure = {
    code: 'HEADERS_UNREACHABLE',
    message: `better-sqlite3 has to be compiled for Node ${process.version}, and the headers of Node are neither beside it nor to be downloaded from ${process.env.NODEJS_ORG_MIRROR ?? 'nodejs.org'}.`,
    hint: `Use a Node that brings its headers (those of nodejs.org and of nvm do; on Debian install libnode-dev), or name a folder with include/node in it (npm config set nodedir FOLDER), or a mirror (NODEJS_ORG_MIRROR=https://…), and run the command again.`,
  }
  try {
    await mustRun(process.execPath, [nodeGyp, 'install', '--ensure'], {
      limitMs: HEADERS_LIMIT_MS,
      ...(lock ? { lock } : {}),
      failure,
    })
  } catch (error) {
    // A network that swallows what is sent lets it wait for ever.
    if (!(error instanceof GroundError) || error.code !== 'PROGRAM_TOO_SLOW') throw error
    throw new GroundError(failure.code, failure.message, failure.hint, error)
  }
}

/**
 * Loads better-sqlite3 in another process, since the wrong binary ends it by a signal.
 *
 * @param {string} root
 * @param {string} program
 * @param {string} name
 * @param {NodeJS.ProcessEnv} env
 * @param {import('./lock.mjs').Lock} lock
 */
async function proveItLoads(root, program, name, env, lock) {
  const code = `const D = require('better-sqlite3'); const d = new D(':memory:');
    d.exec('create virtual table t using fts5(x)'); console.log(d.prepare('select 41 + 1').pluck().get())`
  const {
    code: exit,
    signal,
    stdout,
    tail,
  } = await run(program, ['-e', code], {
    cwd: root,
    env,
    limitMs: LOAD_LIMIT_MS,
    lock,
  })
  if (exit === 0 && stdout.trim() === '42') return
  const library = /error while loading shared libraries: ([^:\s]+)/.exec(tail)?.[1]
  if (library) {
    throw new GroundError(
      'LIBRARY_MISSING',
      `${name} does not start: the system has no ${library}.`,
      'Install the Debian packages named above (or the equivalents of your system) and run the command again.',
    )
  }
  throw new GroundError(
    'SQLITE_DOES_NOT_LOAD',
    `better-sqlite3 does not load in ${name} (${signal ?? `exit code ${exit}`}).\n${tail.trim()}`,
    `Remove ${join(root, 'node_modules')} and run the command again.`,
  )
}
