import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describeError } from './ground/errors.mjs'
import { readJson } from './ground/files.mjs'
import { ROOT } from './ground/places.mjs'
import { createReport } from './ground/progress.mjs'
import { endChildrenOnSignals, mustRun, run } from './ground/run.mjs'
import { renderCapabilities, renderRuns, tallyRuns, withBlock } from './ground/runtimes-page.mjs'
import { withDisplay } from './ground/suites.mjs'
import { setUp } from './setup.mjs'

/** @typedef {import('./ground/runtimes-page.mjs').ConformanceRun} ConformanceRun */
/** @typedef {import('./ground/runtimes-page.mjs').RuntimeRow} RuntimeRow */

/** The last run of each runtime at each version that the page names. */
export const RUNS_FILE = 'e2e/runtimes/runs.json'
const PAGE = 'docs/runtimes.md'
const LIMIT_MS = 45 * 60_000

const USAGE = `Usage: node scripts/runtimes.mjs check|latest|page [RUNTIME …]

  check   runs the conformance suite with the pinned runtimes, notes the results, and writes ${PAGE}
  latest  installs the newest of each runtime in a folder of its own, and runs the suite with them; notes nothing
  page    writes ${PAGE} from what the drivers say and from the noted results
  RUNTIME only this one, as the suite’s titles begin, such as codex
`

/**
 * The runtimes as the page shows them: those with a driver of their own, and one line for all of a protocol.
 *
 * @param {(source: string) => Promise<any>} load
 * @returns {Promise<RuntimeRow[]>}
 */
export async function runtimeRows(load) {
  const { drivers } = await load('src-agent/runtimes/registry.ts')
  const { titleOfRuntime, ACP_PRESETS } = await load('src-shared/runtimes.ts')
  /** @type {Record<string, string>} */
  const own = {
    'claude-code': 'npm install -g @anthropic-ai/claude-code',
    opencode: 'npm install -g opencode-ai',
    codex: 'npm install -g @openai/codex',
  }
  return Object.values(drivers).map(({ runtime, capabilities, versions }) => ({
    ...{ runtime, capabilities, versions, title: titleOfRuntime(runtime) },
    install: own[runtime] ?? ACP_PRESETS[runtime.slice('acp:'.length)]?.install ?? '',
  }))
}

/**
 * @param {string} page
 * @param {readonly RuntimeRow[]} rows
 * @param {readonly ConformanceRun[]} runs
 */
export function pageOf(page, rows, runs) {
  const own = rows.filter(({ runtime }) => !runtime.startsWith('acp:'))
  const acp = rows.filter(({ runtime }) => runtime.startsWith('acp:'))
  return [
    /** @type {const} */ (['capabilities', renderCapabilities(own)]),
    /** @type {const} */ (['agent client protocol', renderCapabilities(acp)]),
    /** @type {const} */ (['runs', renderRuns(runs)]),
  ].reduce((text, [name, block]) => withBlock(text, name, block), page)
}

async function writePage() {
  const { load } = await import('./ground/load-source.mjs')
  const runs = (await readJson(join(ROOT, RUNS_FILE))) ?? []
  const path = join(ROOT, PAGE)
  writeFileSync(path, pageOf(readFileSync(path, 'utf8'), await runtimeRows(load), runs))
}

/**
 * Runs the suite, and gives what each runtime came to.
 *
 * @param {readonly string[]} only titles of runtimes; none: all of them
 * @param {string} [folder] of other versions than the pinned ones
 * @returns {Promise<ConformanceRun[]>}
 */
async function runSuite(only, folder) {
  if (folder !== undefined) process.env.BALLET_RUNTIMES_DIR = folder
  const { load } = await import('./ground/load-source.mjs')
  /** @type {{ TESTED: readonly { title: string, version: string }[] }} */
  const { TESTED } = await load('e2e/support/runtimes.ts')
  const chosen = TESTED.filter(({ title }) => only.length === 0 || only.includes(title))
  if (chosen.length === 0) throw new Error(`Of ${only.join(', ')} there is no runtime.`)
  const file = join(ROOT, 'test-results', 'runtimes.json')
  rmSync(file, { force: true })
  const cli = join(ROOT, 'node_modules/@playwright/test/cli.js')
  const titles = `(^|\\s)(${chosen.map(({ title }) => title).join('|')}): `
  const config = ['--config', 'e2e/playwright.config.ts']
  const args = [cli, 'test', ...config, 'e2e/specs/runtimes', '--grep', titles]
  const command = withDisplay(process.env, process.execPath, [...args, '--reporter', 'list,json'])
  await run(command.program, command.args, {
    cwd: ROOT,
    env: { ...process.env, PLAYWRIGHT_JSON_OUTPUT_FILE: file },
    limitMs: LIMIT_MS,
    inherit: true,
  })
  const report = await readJson(file)
  if (report === undefined) throw new Error('The suite wrote no report.')
  const tally = tallyRuns(report)
  const date = new Date().toISOString().slice(0, 10)
  const system = `${process.platform} ${process.arch}`
  return chosen.map(({ title, version }) => ({
    ...{ runtime: title, version, date, system },
    ...(tally.get(title) ?? { passed: 0, failed: 1, failures: ['no test ran'] }),
  }))
}

/** @param {string} folder */
async function installLatest(folder) {
  const names = ['@anthropic-ai/claude-code@latest', 'opencode-ai@latest', '@openai/codex@latest']
  // npm 11 runs the scripts of those that are named here, and of no others.
  const allowScripts = { '@anthropic-ai/claude-code': true, 'opencode-ai': true }
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, allowScripts }))
  // Newer ones of Claude Code want a newer Node for their installation; the program brings its own.
  const args = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--engine-strict=false']
  await mustRun('npm', [...args, ...names], {
    cwd: folder,
    limitMs: LIMIT_MS,
    failure: {
      code: 'RUNTIMES_NOT_INSTALLED',
      message: 'The newest runtimes could not be installed.',
      hint: 'Check the connection to the npm registry and the output above, then run the command again.',
    },
  })
}

/**
 * @param {string} command
 * @param {readonly string[]} only
 */
async function main(command, only) {
  const report = createReport()
  if (command === 'page') return writePage()
  await setUp({ forTests: true, report })
  /** @type {ConformanceRun[]} */
  let runs
  if (command === 'latest') {
    const folder = mkdtempSync(join(tmpdir(), 'ballet-runtimes-'))
    try {
      await report.step('Newest runtimes', () => installLatest(folder))
      runs = await runSuite(only, folder)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  } else {
    runs = await runSuite(only)
    const kept = /** @type {ConformanceRun[]} */ ((await readJson(join(ROOT, RUNS_FILE))) ?? [])
    const isNew = (/** @type {ConformanceRun} */ { runtime, version }) =>
      runs.some((each) => each.runtime === runtime && each.version === version)
    const all = [...kept.filter((each) => !isNew(each)), ...runs].sort((a, b) =>
      `${a.runtime} ${a.version}`.localeCompare(`${b.runtime} ${b.version}`),
    )
    writeFileSync(join(ROOT, RUNS_FILE), `${JSON.stringify(all, null, 2)}\n`)
    await writePage()
  }
  report.line(`\n${renderRuns(runs)}\n`)
  if (runs.some(({ failed }) => failed > 0)) process.exitCode = 1
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [command = '', ...only] = process.argv.slice(2)
  if (!['check', 'latest', 'page'].includes(command)) {
    process.stderr.write(USAGE)
    process.exitCode = 2
  } else {
    endChildrenOnSignals()
    await main(command, only).catch((error) => {
      process.stderr.write(`${describeError(error)}\n`)
      process.exitCode = 1
    })
  }
}
