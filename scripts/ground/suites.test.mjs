import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runSuite, suitesOf, withDisplay } from './suites.mjs'

/** @type {string} */
let root
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ballet-suites-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/**
 * A suite that runs a piece of code, and whose report is read as it stands.
 * @param {string} code
 * @param {{ reports?: boolean, limitMs?: number }} [options]
 */
const suite = (code, { reports = false, limitMs = 10_000 } = {}) => ({
  name: 'x',
  limitMs,
  command: { program: process.execPath, args: ['-e', code] },
  ...(reports
    ? { results: join(root, 'report.json'), read: (/** @type {any} */ report) => report }
    : {}),
})
/** @param {object} counts */
const writes = (counts) =>
  `require('fs').writeFileSync('report.json', ${JSON.stringify(JSON.stringify(counts))});`

describe('a suite without a report', () => {
  it('counts as one, by its exit code', async () => {
    expect(await runSuite(suite(''), root)).toEqual({
      passed: 1,
      failed: 0,
      skipped: 0,
      failures: [],
    })
    expect(await runSuite(suite('process.exit(3)'), root)).toEqual({
      passed: 0,
      failed: 1,
      skipped: 0,
      failures: [],
    })
  })

  it('fails when its program is missing', async () => {
    const broken = { ...suite(''), command: { program: 'no-such-program', args: [] } }
    expect(await runSuite(broken, root)).toMatchObject({
      failed: 1,
      problem: expect.stringContaining('no-such-program could not be started'),
    })
  })

  it('fails when it does not end, and is ended', async () => {
    const late = suite("setTimeout(() => require('fs').writeFileSync('late', ''), 20_000)", {
      limitMs: 300,
    })
    expect(await runSuite(late, root)).toMatchObject({
      failed: 1,
      problem: expect.stringContaining('PROGRAM_TOO_SLOW'),
    })
    expect(existsSync(join(root, 'late'))).toBe(false)
  })
})

describe('a suite with a report', () => {
  it('counts what the report says', async () => {
    const counts = { passed: 5, failed: 0, skipped: 2 }
    expect(await runSuite(suite(writes(counts), { reports: true }), root)).toEqual(counts)
  })

  it('fails when no test ran', async () => {
    const code = writes({ passed: 0, failed: 0, skipped: 3 })
    expect(await runSuite(suite(code, { reports: true }), root)).toMatchObject({
      failed: 1,
      problem: 'no test ran',
    })
  })

  it('fails when the program failed, though no test did', async () => {
    const code = `${writes({ passed: 5, failed: 0, skipped: 0 })} process.exit(1)`
    expect(await runSuite(suite(code, { reports: true }), root)).toMatchObject({
      passed: 5,
      failed: 1,
    })
  })

  it('fails without a report, also where an older one lies about', async () => {
    writeFileSync(join(root, 'report.json'), JSON.stringify({ passed: 9, failed: 0, skipped: 0 }))
    expect(await runSuite(suite('', { reports: true }), root)).toMatchObject({
      passed: 0,
      failed: 1,
      problem: 'exit code 0, and no report',
    })
  })
})

it('puts a virtual display under the tests only where there is no display', () => {
  const bare = { program: 'xvfb-run', args: ['-a', 'node', 'x'] }
  expect(withDisplay({}, 'node', ['x'], 'linux')).toEqual(bare)
  expect(withDisplay({ DISPLAY: ':0' }, 'node', ['x'], 'linux').program).toBe('node')
  expect(withDisplay({ WAYLAND_DISPLAY: 'w' }, 'node', ['x'], 'linux').program).toBe('node')
  expect(withDisplay({}, 'node', ['x'], 'darwin').program).toBe('node')
})

it('has every suite once', () => {
  const names = suitesOf('/somewhere', {}).map(({ name }) => name)
  expect(names).toEqual(['lint', 'rooms', 'types', 'unused', 'unit', 'bundles', 'e2e'])
})
