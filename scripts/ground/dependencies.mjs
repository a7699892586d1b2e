import { lstat, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { GroundError } from './errors.mjs'
import { readIfThere, readJson, sha256, writeJson } from './files.mjs'
import { mustRun } from './run.mjs'

const NPM_LIMIT_MS = 20 * 60_000
const SCRIPT_LIMIT_MS = 5 * 60_000

/**
 * The packages that need their own script after their files are there, which puts their program in place, and the
 * script. No other package's script runs: npm would also compile better-sqlite3, which has a step of its own.
 *
 * @type {Readonly<Record<string, string>>}
 */
export const INSTALL_SCRIPTS = {
  '@anthropic-ai/claude-code': 'install.cjs',
  'claude-code-oldest': 'install.cjs',
  'opencode-ai': 'postinstall.mjs',
}

/**
 * `npm ci` without the scripts of packages, where what is in node_modules is not what package-lock.json says, and then
 * those scripts that are needed.
 *
 * @param {string} root the folder of the lock file
 * @param {import('./progress.mjs').Step} step
 * @param {import('./lock.mjs').Lock} [lock]
 * @returns {Promise<string | { skipped: string }>}
 * @throws {GroundError} NODE_MODULES_IS_A_LINK, NPM_CI_FAILED, INSTALL_SCRIPT_FAILED
 */
export async function ensureDependencies(root, step, lock) {
  const modules = join(root, 'node_modules')
  await refuseLink(modules)
  const stamp = join(modules, '.ballet-setup.json')
  const wanted = { lock: await lockHash(root), scripts: INSTALL_SCRIPTS }
  const done = await readJson(stamp)
  if (JSON.stringify(done) === JSON.stringify(wanted)) return { skipped: 'as the lock file says' }
  if (await isInstalledAsLocked(root)) {
    // Somebody ran npm by hand, or was interrupted right after it.
    await runInstallScripts(root, step, lock)
    await writeJson(stamp, wanted)
    return { skipped: 'as the lock file says' }
  }

  // npm removes these among all else, in any order: cut off there, they would tell of what is gone.
  for (const note of [stamp, join(modules, '.package-lock.json')]) await rm(note, { force: true })
  await installLocked(root, step, lock)
  await runInstallScripts(root, step, lock)
  await writeJson(stamp, wanted)
  const installed = await readJson(join(modules, '.package-lock.json'))
  return `${Object.keys(installed?.packages ?? {}).length} packages`
}

/**
 * `npm ci` empties the folder, and through a link another clone's.
 * @param {string} modules
 */
async function refuseLink(modules) {
  const found = await lstat(modules).catch((/** @type {NodeJS.ErrnoException} */ error) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (!found?.isSymbolicLink()) return
  throw new GroundError(
    'NODE_MODULES_IS_A_LINK',
    `${modules} is a symbolic link, and installing would empty the folder that it leads to.`,
    `Remove the link (rm ${modules}) and run the command again; nothing was changed.`,
  )
}

/**
 * @param {string} root
 * @param {import('./progress.mjs').Step} step
 * @param {import('./lock.mjs').Lock} [lock]
 */
async function installLocked(root, step, lock) {
  const total = await countPackages(root)
  let packages = 0
  const quiet = ['--no-audit', '--no-fund', '--loglevel', 'http']
  await mustRun('npm', ['ci', '--ignore-scripts', ...quiet], {
    cwd: root,
    limitMs: NPM_LIMIT_MS,
    ...(lock ? { lock } : {}),
    onLine: (line) => {
      if (/^npm http (fetch|cache) /.test(line)) {
        packages += 1
        step.progress(Math.min(packages, total), total, 'packages')
      }
    },
    failure: {
      code: 'NPM_CI_FAILED',
      message: 'The dependencies could not be installed with npm ci.',
      hint: 'Check the connection to the npm registry and the output above, then run the command again.',
    },
  })
}

/**
 * @param {string} root
 * @param {import('./progress.mjs').Step} step
 * @param {import('./lock.mjs').Lock} [lock]
 */
async function runInstallScripts(root, step, lock) {
  const locked = await readJson(join(root, 'package-lock.json'))
  for (const [name, script] of Object.entries(INSTALL_SCRIPTS)) {
    if (locked?.packages?.[`node_modules/${name}`] === undefined) continue
    step.detail(`putting ${name} in place`)
    await mustRun(process.execPath, [script], {
      cwd: join(root, 'node_modules', name),
      limitMs: SCRIPT_LIMIT_MS,
      ...(lock ? { lock } : {}),
      failure: {
        code: 'INSTALL_SCRIPT_FAILED',
        message: `${name} could not put its program in place with ${script}.`,
        hint: `Check the free space on the disk and the output above; if it stays so, remove ${join(root, 'node_modules')} and run the command again.`,
      },
    })
  }
}

/**
 * How many packages the lock file has for this system.
 * @param {string} root
 * @param {{ platform: string, arch: string }} [system]
 */
export async function countPackages(root, { platform, arch } = process) {
  const lock = await readJson(join(root, 'package-lock.json'))
  /** @type {Record<string, { link?: boolean, os?: string[], cpu?: string[] }>} */
  const entries = lock?.packages ?? {}
  return Object.entries(entries).filter(
    ([path, { link, os, cpu }]) =>
      path !== '' && !link && isMeant(os, platform) && isMeant(cpu, arch),
  ).length
}

/**
 * Whether npm's list of systems, some of them with a `!` before them, means this one.
 * @param {string[] | undefined} list
 * @param {string} own
 */
function isMeant(list, own) {
  if (list === undefined || list.includes(own)) return true
  return list.every((each) => each.startsWith('!')) && !list.includes(`!${own}`)
}

/** @param {string} root */
async function lockHash(root) {
  const content = await readIfThere(join(root, 'package-lock.json'))
  return content ? sha256(content) : 'missing'
}

/**
 * Whether npm's own note of what it installed, which it writes last, agrees with package-lock.json:
 * then somebody ran npm by hand, and installing all again would only take time.
 *
 * @param {string} root
 */
export async function isInstalledAsLocked(root) {
  const [locked, installed] = await Promise.all([
    readJson(join(root, 'package-lock.json')),
    readJson(join(root, 'node_modules', '.package-lock.json')),
  ])
  if (!locked?.packages || !installed?.packages) return false
  for (const [path, entry] of Object.entries(locked.packages)) {
    if (path === '') continue
    const there = installed.packages[path]
    // An optional one may be for another system.
    if (there === undefined ? !entry.optional : there.version !== entry.version) return false
  }
  return Object.keys(installed.packages).every((path) => path in locked.packages)
}
