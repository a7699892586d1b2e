import { join } from 'node:path'
import { readIfThere, readJson, sha256, writeJson } from './files.mjs'
import { mustRun } from './run.mjs'

const NPM_LIMIT_MS = 20 * 60_000

/**
 * `npm ci`, where what is in node_modules is not what package-lock.json says.
 *
 * @param {string} root the folder of the lock file
 * @param {import('./progress.mjs').Step} step
 * @param {import('./lock.mjs').Lock} [lock]
 * @returns {Promise<string | { skipped: string }>}
 */
export async function ensureDependencies(root, step, lock) {
  const stamp = join(root, 'node_modules', '.ballet-setup.json')
  const wanted = await lockHash(root)
  const done = await readJson(stamp)
  if (done?.lock === wanted) return { skipped: 'as the lock file says' }
  if (await isInstalledAsLocked(root)) {
    await writeJson(stamp, { lock: wanted })
    return { skipped: 'as the lock file says' }
  }

  const total = await countPackages(root)
  let packages = 0
  await mustRun('npm', ['ci', '--no-audit', '--no-fund', '--loglevel', 'http'], {
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
  await writeJson(stamp, { lock: wanted })
  const installed = await readJson(join(root, 'node_modules', '.package-lock.json'))
  return `${Object.keys(installed?.packages ?? {}).length} packages`
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
