import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { pageOf, RUNS_FILE, runtimeRows } from '../runtimes.mjs'
import { ROOT } from './places.mjs'
import { renderRuns, tallyRuns, withBlock } from './runtimes-page.mjs'

it('docs/runtimes.md says what the drivers say; npm run runtimes:page writes it', async () => {
  const page = readFileSync(join(ROOT, 'docs/runtimes.md'), 'utf8')
  const { load } = await import('./load-source.mjs')
  const runs = JSON.parse(readFileSync(join(ROOT, RUNS_FILE), 'utf8'))
  expect(pageOf(page, await runtimeRows(load), runs)).toBe(page)
})

it('names each version that a driver calls tested in a run without a failure', async () => {
  const { load } = await import('./load-source.mjs')
  /** @type {import('./runtimes-page.mjs').ConformanceRun[]} */
  const runs = JSON.parse(readFileSync(join(ROOT, RUNS_FILE), 'utf8'))
  const good = runs.filter(({ failed, passed }) => failed === 0 && passed > 0)
  const missing = (await runtimeRows(load)).flatMap(({ runtime, versions }) =>
    versions.tested
      .filter((version) => !good.some((run) => run.version === version && isOf(run, runtime)))
      .map((version) => `${runtime} ${version}`),
  )
  expect(missing).toEqual([])
})

/**
 * Titles of the suite begin with the name of the runtime, without its colon.
 * @param {import('./runtimes-page.mjs').ConformanceRun} run
 * @param {string} runtime
 */
function isOf(run, runtime) {
  return run.runtime.startsWith(runtime.replace(':', '-'))
}

it('puts a text in its block and nowhere else', () => {
  const page = 'a\n<!-- x -->\nold\n<!-- /x -->\nb'
  expect(withBlock(page, 'x', 'new')).toBe('a\n<!-- x -->\nnew\n<!-- /x -->\nb')
  expect(() => withBlock(page, 'y', 'new')).toThrow('no block y')
})

it('counts the tests of each runtime, and names those that failed', () => {
  const spec = (/** @type {string} */ title, /** @type {boolean} */ ok, status = 'expected') => ({
    ...{ title, ok, tests: [{ status }] },
  })
  const specs = [spec('codex: a', true), spec('codex: b', false), spec('other', true)]
  const skipped = spec('claude-code: c', true, 'skipped')
  const report = { suites: [{ specs, suites: [{ specs: [skipped, spec('opencode: a', true)] }] }] }
  expect([...tallyRuns(report)]).toEqual([
    ['opencode', { passed: 1, failed: 0, failures: [] }],
    ['codex', { passed: 1, failed: 1, failures: ['b'] }],
  ])
})

it('shows a run in a line', () => {
  const run = { runtime: 'codex', version: '1.2.3', date: '2026-11-30', system: 'linux x64' }
  const table = renderRuns([{ ...run, passed: 1, failed: 1, failures: ['b'] }])
  expect(table.split('\n')[2]).toBe('| codex | 1.2.3 | 2026-11-30 | linux x64 | 1 | 1: b |')
})
