import { isAbsolute, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

/**
 * What a test program's report says. `failures` has a text for each test that failed: where it
 * stands and its name, then the first lines of the cause.
 * @typedef {{ passed: number, failed: number, skipped: number, failures: string[] }} Report
 */

const CAUSE_LINES = 12
const CAUSE_WIDTH = 300
const FROM_ELSEWHERE = /^\s+at .*(node_modules|<anonymous>|node:)/

/**
 * Vitest's JSON report. A file that could not be loaded has no test in it, and counts as one failure.
 * @param {any} report
 * @param {string} root what the files are named from
 * @returns {Report}
 */
export function readVitest(report, root) {
  const failures = report.testResults.flatMap((/** @type {any} */ file) => {
    if (file.status !== 'failed') return []
    const place = isAbsolute(file.name) ? relative(root, file.name) : file.name
    const failed = file.assertionResults.filter(
      (/** @type {any} */ test) => test.status === 'failed',
    )
    if (failed.length === 0) return [failureText(place, file.message)]
    return failed.map((/** @type {any} */ test) =>
      failureText(`${place} › ${test.fullName}`, test.failureMessages.join('\n')),
    )
  })
  return {
    passed: report.numPassedTests,
    failed: failures.length,
    skipped: report.numPendingTests + (report.numTodoTests ?? 0),
    failures,
  }
}

/**
 * Playwright's JSON report. Errors outside of tests count as failures; a flaky test is one too.
 * @param {any} report
 * @returns {Report}
 */
export function readPlaywright(report) {
  const { expected, unexpected, flaky, skipped } = report.stats
  const outside = report.errors.map((/** @type {any} */ error) =>
    failureText(
      error.location ? `${error.location.file}:${error.location.line}` : 'outside of the tests',
      error.message ?? error.value,
    ),
  )
  return {
    passed: expected,
    failed: unexpected + flaky + report.errors.length,
    skipped,
    failures: [...report.suites.flatMap((/** @type {any} */ it) => failuresIn(it, [])), ...outside],
  }
}

/**
 * @param {any} suite
 * @param {string[]} titles of the suites around it
 * @returns {string[]}
 */
function failuresIn(suite, titles) {
  const own = (suite.specs ?? []).flatMap((/** @type {any} */ spec) => {
    const failed = spec.tests.filter((/** @type {any} */ test) =>
      ['unexpected', 'flaky'].includes(test.status),
    )
    if (failed.length === 0) return []
    const errors = failed.flatMap((/** @type {any} */ test) =>
      test.results.flatMap((/** @type {any} */ result) => result.errors ?? []),
    )
    const name = [`${spec.file}:${spec.line}`, ...titles, spec.title].join(' › ')
    return [failureText(name, errors.map((/** @type {any} */ error) => error.message).join('\n'))]
  })
  const within = (suite.suites ?? []).flatMap((/** @type {any} */ inner) =>
    failuresIn(inner, [...titles, inner.title]),
  )
  return [...own, ...within]
}

/** @param {string} line */
const cut = (line) => (line.length > CAUSE_WIDTH ? `${line.slice(0, CAUSE_WIDTH)}…` : line)

/**
 * @param {string} name
 * @param {string | undefined} cause
 */
function failureText(name, cause) {
  const lines = stripVTControlCharacters(cause ?? '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !FROM_ELSEWHERE.test(line))
  const shown = lines.slice(0, CAUSE_LINES).map((line) => `      ${cut(line)}`)
  if (lines.length > CAUSE_LINES)
    shown.push(`      … ${lines.length - CAUSE_LINES} more lines above`)
  return [name, ...shown].join('\n')
}
