import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describeError } from './errors.mjs'
import { readJson } from './files.mjs'
import { run } from './run.mjs'
import { readPlaywright, readVitest } from './test-reports.mjs'

/** @typedef {import('./test-reports.mjs').Report} Report */

/**
 * @typedef {object} Suite
 * @property {string} name
 * @property {number} limitMs
 * @property {{ program: string, args: string[] }} command
 * @property {boolean} [needsBuild] it would test an older build where the build failed
 * @property {string} [results] a JSON report that the command writes
 * @property {(report: any, root: string) => Report} [read] without it a suite counts as one
 */

const MINUTE = 60_000

/**
 * @param {string} root
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Suite[]}
 */
export function suitesOf(root, env = process.env) {
  const node = process.execPath
  /** @param {string} path */
  const bin = (path) => join(root, 'node_modules', path)
  const biome = bin('@biomejs/biome/bin/biome')
  const unit = join(root, 'test-results', 'unit.json')
  const e2e = join(root, 'test-results', 'e2e.json')
  const playwright = [
    bin('@playwright/test/cli.js'),
    'test',
    '--config',
    'e2e/playwright.config.ts',
  ]
  return [
    {
      name: 'lint',
      limitMs: 5 * MINUTE,
      command: { program: node, args: [biome, 'check', '--error-on-warnings', '.'] },
    },
    {
      name: 'rooms',
      limitMs: 2 * MINUTE,
      command: { program: node, args: ['scripts/check-rooms.mjs'] },
    },
    {
      name: 'types',
      limitMs: 5 * MINUTE,
      command: { program: node, args: [bin('typescript/bin/tsc'), '-b'] },
    },
    {
      name: 'unused',
      limitMs: 5 * MINUTE,
      command: { program: node, args: [bin('knip/bin/knip.js')] },
    },
    {
      name: 'unit',
      limitMs: 20 * MINUTE,
      command: {
        program: node,
        args: [
          bin('vitest/vitest.mjs'),
          'run',
          '--reporter=default',
          '--reporter=json',
          `--outputFile.json=${unit}`,
        ],
      },
      results: unit,
      read: readVitest,
    },
    {
      name: 'bundles',
      limitMs: 2 * MINUTE,
      command: { program: node, args: ['scripts/check-bundles.mjs'] },
      needsBuild: true,
    },
    {
      name: 'e2e',
      limitMs: 60 * MINUTE,
      command: withDisplay(env, node, playwright),
      needsBuild: true,
      results: e2e,
      read: readPlaywright,
    },
  ]
}

/**
 * Under a virtual display where there is no real one.
 *
 * @param {NodeJS.ProcessEnv} env
 * @param {string} program
 * @param {string[]} args
 */
export function withDisplay(env, program, args, platform = process.platform) {
  if (platform !== 'linux' || env.DISPLAY || env.WAYLAND_DISPLAY) return { program, args }
  return { program: 'xvfb-run', args: ['-a', program, ...args] }
}

/**
 * Runs a suite on this process's outputs. Whatever keeps it from a result counts as one failure: a
 * program that does not start or end, a report that is missing, no test at all.
 *
 * @param {Suite} suite
 * @param {string} root
 * @returns {Promise<Report & { problem?: string }>}
 */
export async function runSuite(suite, root) {
  if (suite.results) await rm(suite.results, { force: true })
  const { program, args } = suite.command
  let code
  try {
    const end = await run(program, args, { cwd: root, limitMs: suite.limitMs, inherit: true })
    code = end.code
  } catch (error) {
    return { ...NOTHING, failed: 1, problem: describeError(error) }
  }
  if (!suite.results || !suite.read) {
    return code === 0 ? { ...NOTHING, passed: 1 } : { ...NOTHING, failed: 1 }
  }
  const report = await readJson(suite.results)
  if (report === undefined) {
    return { ...NOTHING, failed: 1, problem: `exit code ${code}, and no report` }
  }
  const counts = suite.read(report, root)
  if (counts.passed + counts.failed === 0) return { ...counts, failed: 1, problem: 'no test ran' }
  if (code !== 0 && counts.failed === 0) {
    return { ...counts, failed: 1, problem: `exit code ${code}, though no test failed` }
  }
  return counts
}

const NOTHING = { passed: 0, failed: 0, skipped: 0, failures: [] }
