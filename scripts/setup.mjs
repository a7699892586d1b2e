import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureBuild } from './ground/build.mjs'
import { ensureDependencies } from './ground/dependencies.mjs'
import { ensureRuntime, readRuntime } from './ground/electron-runtime.mjs'
import { describeError } from './ground/errors.mjs'
import { takeLock } from './ground/lock.mjs'
import { ensureSqlite } from './ground/native-sqlite.mjs'
import { placesOf, sweep } from './ground/places.mjs'
import { createReport } from './ground/progress.mjs'
import { endChildrenOnSignals, endGroup } from './ground/run.mjs'
import { DISPLAY_PACKAGES, ensureSystemPackages, TEST_PACKAGES } from './ground/system-packages.mjs'

/** The folder whose lock file pins the runtimes that the tests drive beside the Claude Code of this clone. */
const TESTED_RUNTIMES = join('e2e', 'runtimes')

/**
 * Makes this clone ready: system packages, dependencies, Electron runtime, better-sqlite3, build.
 * What is done already is left alone; it may be interrupted anywhere, and run by two at once.
 *
 * @param {object} [options]
 * @param {boolean} [options.forTests] also what only tests need: Debian packages, and the runtimes that they drive,
 *   about 1 GB
 * @param {import('./ground/places.mjs').Places} [options.places]
 * @param {import('./ground/progress.mjs').Report} [options.report]
 * @throws {import('./ground/errors.mjs').GroundError}
 */
export async function setUp({
  forTests = false,
  places = placesOf(),
  report = createReport(),
} = {}) {
  /**
   * @param {string} path
   * @param {(text: string) => void} say
   */
  const lockAt = (path, say) =>
    takeLock(path, {
      endChild: endGroup,
      onWait: (owner) => say(`waiting for another set-up (process ${owner.pid})`),
    })
  const lock = await lockAt(join(places.state, 'lock'), (text) => report.line(`  … ${text}`))
  try {
    await sweep(places.scratch)
    const packages = forTests ? [...DISPLAY_PACKAGES, ...TEST_PACKAGES] : DISPLAY_PACKAGES
    await report.step('System packages', (step) =>
      ensureSystemPackages(packages, step, report, lock),
    )
    await report.step('Dependencies', (step) => ensureDependencies(places.root, step, lock))
    await report.step('Electron runtime', (step) =>
      ensureRuntime(places, { step, lockCache: (path) => lockAt(path, step.detail) }),
    )
    const runtime = await readRuntime(places)
    await report.step('better-sqlite3', (step) =>
      ensureSqlite(places, {
        step,
        report,
        lock,
        lockCache: (path) => lockAt(path, step.detail),
        runtime,
      }),
    )
    await report.step('Build', (step) => ensureBuild(places, step, lock))
    if (forTests) {
      await report.step('Tested runtimes', (step) =>
        ensureDependencies(join(places.root, TESTED_RUNTIMES), step, lock),
      )
    }
  } finally {
    lock.release()
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  endChildrenOnSignals()
  const start = Date.now()
  const report = createReport({ verbose: true })
  try {
    await setUp({ report })
    report.line(`Ready (${((Date.now() - start) / 1000).toFixed(1)} s).`)
  } catch (error) {
    report.line(describeError(error))
    process.exitCode = 1
  }
}
