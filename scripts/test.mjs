import { parseArgs } from 'node:util'
import { describeError } from './ground/errors.mjs'
import { placesOf } from './ground/places.mjs'
import { createReport, formatElapsed } from './ground/progress.mjs'
import { endChildrenOnSignals } from './ground/run.mjs'
import { runSuite, suitesOf } from './ground/suites.mjs'
import { setUp } from './setup.mjs'

endChildrenOnSignals()
const report = createReport()
const places = placesOf()
const suites = suitesOf(places.root)
const names = suites.map((suite) => suite.name)

/** @type {string[]} */
let only = []
try {
  const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } })
  only = values.only ?? []
} catch (error) {
  usage(error instanceof Error ? error.message : String(error))
}
const unknown = only.find((name) => !names.includes(name))
if (unknown !== undefined) usage(`There is no suite ${unknown}.`)

const totals = { passed: 0, failed: 0 }
/** @type {string[]} */
const lines = []
/** @type {string[]} */
const broken = []

/**
 * @param {string} name
 * @param {{ passed: number, failed: number, skipped?: number, failures?: string[], problem?: string }} result
 * @param {number} [elapsedMs]
 */
function note(name, { passed, failed, skipped = 0, failures = [], problem }, elapsedMs = 0) {
  totals.passed += passed
  totals.failed += failed
  const rest = `${skipped > 0 ? `, ${skipped} skipped` : ''}${problem ? ` (${problem})` : ''}`
  const time = elapsedMs > 0 ? ` in ${formatElapsed(elapsedMs)}` : ''
  const line = `${failed > 0 ? '✗' : '✓'} ${name}: ${passed} passed, ${failed} failed${rest}${time}`
  lines.push(line)
  broken.push(...failures)
  report.line(line)
}

let built = true
try {
  await setUp({ forTests: true, places, report })
} catch (error) {
  report.line(describeError(error))
  built = false
  note('set-up', { passed: 0, failed: 1 })
}

for (const suite of suites) {
  if (only.length > 0 && !only.includes(suite.name)) continue
  report.line(`\n▶ ${suite.name}`)
  const start = Date.now()
  const result =
    suite.needsBuild && !built
      ? { passed: 0, failed: 1, problem: 'not run: the set-up failed' }
      : await runSuite(suite, places.root)
  note(suite.name, result, Date.now() - start)
}

if (broken.length > 0) report.line(`\nWhat failed:\n${broken.map((it) => `  ✗ ${it}`).join('\n')}`)
report.line(`\n${lines.join('\n')}\n`)
report.line(`${totals.passed} passed, ${totals.failed} failed`)
process.exitCode = totals.failed > 0 ? 1 : 0

/** @param {string} problem */
function usage(problem) {
  report.line(`${problem}\nUsage: npm test [-- --only ${names.join('|')}]`)
  process.exit(2)
}
