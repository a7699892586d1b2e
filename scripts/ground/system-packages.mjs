import { GroundError } from './errors.mjs'
import { findProgram } from './places.mjs'
import { mustRun, run } from './run.mjs'

/** What Electron, and tests without a display, need beside a bare Debian or Ubuntu. */
export const DISPLAY_PACKAGES = [
  'xvfb',
  'xauth',
  'dbus',
  'libgtk-3-0',
  'libnss3',
  'libasound2',
  'libgbm1',
  'libxss1',
  'libatk-bridge2.0-0',
]
/** What single end-to-end tests need besides, which are left out where it is missing: a keychain, a clock in hand. */
export const TEST_PACKAGES = ['gnome-keyring', 'libfaketime']
/** What compiling better-sqlite3 needs. */
export const COMPILER_PACKAGES = ['python3', 'make', 'g++']

const APT_LIMIT_MS = 15 * 60_000

/**
 * The packages that are not installed. Newer Debian and Ubuntu renamed some of them for 64-bit time
 * (`libgtk-3-0t64`); either name will do.
 *
 * @param {readonly string[]} wanted
 * @param {typeof run} [runner]
 * @returns {Promise<string[]>}
 */
export async function missingPackages(wanted, runner = run) {
  const names = wanted.flatMap((name) => [name, `${name}t64`])
  const { stdout } = await runner(
    'dpkg-query',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholders are dpkg's.
    ['-W', '-f', '${db:Status-Abbrev} ${Package}\\n', ...names],
    { limitMs: 30_000 },
  )
  const installed = new Set(
    stdout
      .split('\n')
      .filter((line) => line.startsWith('ii '))
      .map((line) => line.slice(3).trim()),
  )
  return wanted.filter((name) => !installed.has(name) && !installed.has(`${name}t64`))
}

/** @param {readonly string[]} packages */
export const installCommand = (packages) =>
  `sudo apt-get update && sudo apt-get install -y --no-install-recommends ${packages.join(' ')}`

/**
 * Installs what is missing where this process may (root, apt); otherwise says the one command.
 *
 * @param {readonly string[]} wanted
 * @param {import('./progress.mjs').Step} step
 * @param {import('./progress.mjs').Report} report
 * @param {import('./lock.mjs').Lock} [lock]
 * @returns {Promise<string | { skipped: string }>}
 */
export async function ensureSystemPackages(wanted, step, report, lock) {
  if (process.platform !== 'linux') return { skipped: `not needed on ${process.platform}` }
  if (!findProgram('dpkg-query') || !findProgram('apt-get')) {
    return { skipped: `no apt here; the equivalents of these must be there: ${wanted.join(' ')}` }
  }
  const missing = await missingPackages(wanted)
  if (missing.length === 0) return { skipped: 'all there' }
  if (process.getuid?.() !== 0) {
    report.line(`  ! Debian packages are missing. To install them:\n    ${installCommand(missing)}`)
    return { skipped: `${missing.length} missing` }
  }

  const failure = {
    code: 'APT_FAILED',
    message: `The Debian packages ${missing.join(' ')} could not be installed.`,
    hint: `Run it by hand and read its output: ${installCommand(missing)}`,
  }
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const options = {
    env,
    limitMs: APT_LIMIT_MS,
    failure,
    onLine: step.detail,
    ...(lock ? { lock } : {}),
  }
  // Waits for another apt instead of failing on its lock.
  const apt = ['-o', 'DPkg::Lock::Timeout=300']
  // What an interrupted run left half configured would make the install refuse.
  await mustRun('dpkg', ['--configure', '-a'], options)
  await mustRun('apt-get', [...apt, 'update'], options)
  const names = await installableNames(missing)
  await mustRun('apt-get', [...apt, 'install', '-y', '--no-install-recommends', ...names], options)
  const left = await missingPackages(wanted)
  if (left.length > 0) {
    throw new GroundError(
      'APT_INCOMPLETE',
      `apt-get ended well, but these packages are not installed: ${left.join(' ')}.`,
      failure.hint,
    )
  }
  return `installed ${names.join(' ')}`
}

/**
 * The name that this release has for each package.
 * @param {readonly string[]} packages
 */
async function installableNames(packages) {
  return Promise.all(
    packages.map(async (name) => {
      const { stdout } = await run('apt-cache', ['policy', name], { limitMs: 60_000 })
      return /Candidate: (?!\(none\))\S/.test(stdout) ? name : `${name}t64`
    }),
  )
}
