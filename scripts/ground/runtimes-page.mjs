/** What docs/runtimes.md says of runtimes and of runs of the conformance suite, and how it comes there. */

/**
 * A runtime that this build has a driver for.
 * @typedef {object} RuntimeRow
 * @property {string} runtime
 * @property {string} title as people know it
 * @property {string} install a command
 * @property {Record<string, any>} capabilities
 * @property {{ minimum: string | null, tested: string[] }} versions
 */

/**
 * A run of the conformance suite with one runtime.
 * @typedef {object} ConformanceRun
 * @property {string} runtime its title in the suite
 * @property {string} version
 * @property {string} date such as 2026-11-30
 * @property {string} system such as linux x64
 * @property {number} passed
 * @property {number} failed
 * @property {string[]} failures the titles of the tests that failed
 */

/** The order of the table, and what each capability is called there. */
const WORDS = /** @type {const} */ ([
  ['resume', 'goes on after it was killed'],
  ['moves', 'parks and resumes elsewhere in the same conversation'],
  ['steer', 'takes a message in the middle of a turn'],
  ['permissionRequests', 'asks for permission'],
  ['mcp', 'takes Ballet’s tools: its agents can ask'],
  ['usage', 'tells the tokens of a turn'],
  ['cost', 'tells the cost of a turn'],
  ['images', 'takes images'],
  ['planner', 'can be the planner'],
])

const RESUME = /** @type {const} */ ({
  proven: 'yes, proven before anything is said',
  unproven: 'as far as it says',
  none: 'no: a new conversation',
})

/** @param {readonly RuntimeRow[]} rows */
export function renderCapabilities(rows) {
  const head = ['', ...rows.map(({ title }) => title)]
  const lines = WORDS.map(([name, words]) => [
    words,
    ...rows.map(({ capabilities }) => {
      const value = capabilities[name]
      if (name !== 'resume') return value ? 'yes' : 'no'
      return RESUME[/** @type {keyof typeof RESUME} */ (value)]
    }),
  ])
  const versions = [
    ['oldest that is used', ...rows.map(({ versions }) => versions.minimum ?? 'any')],
    ['tested with', ...rows.map(({ versions }) => versions.tested.join(', ') || 'not yet')],
    ['to install it', ...rows.map(({ install }) => `\`${install}\``)],
  ]
  return markdownTable([head, ...lines, ...versions])
}

/** @param {readonly ConformanceRun[]} runs */
export function renderRuns(runs) {
  const head = ['runtime', 'version', 'date', 'system', 'passed', 'failed']
  const lines = runs.map(({ runtime, version, date, system, passed, failed, failures }) => [
    ...[runtime, version, date, system, String(passed)],
    failed === 0 ? '0' : `${failed}: ${failures.join('; ')}`,
  ])
  return markdownTable([head, ...lines])
}

/** @param {readonly (readonly string[])[]} rows the first one is the head */
function markdownTable(rows) {
  const [head = [], ...rest] = rows.map((cells) => `| ${cells.join(' | ')} |`)
  const columns = rows[0]?.length ?? 0
  return [head, `|${'---|'.repeat(columns)}`, ...rest].join('\n')
}

/**
 * The page with this text in the block of a name, which stands between `<!-- name -->` and `<!-- /name -->`.
 *
 * @param {string} page
 * @param {string} name
 * @param {string} text
 * @throws {Error} when the page has no such block
 */
export function withBlock(page, name, text) {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
  const from = page.indexOf(begin)
  const to = page.indexOf(end, from)
  if (from === -1 || to === -1) throw new Error(`The page has no block ${name}.`)
  return `${page.slice(0, from + begin.length)}\n${text}\n${page.slice(to)}`
}

/**
 * What Playwright’s JSON report says of each runtime; the titles of the suite begin with the runtime’s own.
 *
 * @param {any} report
 * @returns {Map<string, { passed: number, failed: number, failures: string[] }>}
 */
export function tallyRuns(report) {
  /** @type {Map<string, { passed: number, failed: number, failures: string[] }>} */
  const runs = new Map()
  /** @param {any} suite */
  const read = (suite) => {
    for (const inner of suite.suites ?? []) read(inner)
    for (const { title, ok, tests } of suite.specs ?? []) {
      const [, runtime, what] = /^([a-z0-9-]+): (.*)$/u.exec(title) ?? []
      const skipped = tests?.every((/** @type {any} */ test) => test.status === 'skipped')
      if (runtime === undefined || what === undefined || skipped) continue
      const run = runs.get(runtime) ?? { passed: 0, failed: 0, failures: [] }
      if (ok) run.passed += 1
      else {
        run.failed += 1
        run.failures.push(what)
      }
      runs.set(runtime, run)
    }
  }
  for (const suite of report.suites ?? []) read(suite)
  return runs
}
