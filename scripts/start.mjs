import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { withoutNpmFolders } from '../bin/npm-path.mjs'
import { readRuntime } from './ground/electron-runtime.mjs'
import { describeError, GroundError } from './ground/errors.mjs'
import { placesOf } from './ground/places.mjs'
import { createReport } from './ground/progress.mjs'
import { endChildrenOnSignals, SIGNAL_EXIT_CODES, watchParent } from './ground/run.mjs'
import { sortLines } from './ground/system-lines.mjs'
import { setUp } from './setup.mjs'

const USAGE = `Usage: npm start [-- [--demo] [--data DIR] [-- SWITCH…]]

  --demo      goes straight to the demo, which needs no account
  --data DIR  uses this data folder instead of the usual one, as BALLET_DATA=DIR does
  --help      shows this
  -- SWITCH…  hands what follows to Electron as it is, such as --disable-gpu`

/**
 * What a person asked of `npm start`.
 *
 * @param {readonly string[]} args
 * @returns {{ demo: boolean, dataDir: string | undefined, switches: string[] } | { help: string } | { wrong: string }}
 */
export function readStartArguments(args) {
  const end = args.indexOf('--')
  const own = end === -1 ? args : args.slice(0, end)
  try {
    const { values } = parseArgs({
      args: [...own],
      options: {
        demo: { type: 'boolean', default: false },
        data: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) return { help: USAGE }
    if (values.data === '') return { wrong: `--data needs a folder.\n\n${USAGE}` }
    return {
      demo: values.demo,
      dataDir: values.data,
      switches: end === -1 ? [] : args.slice(end + 1),
    }
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error)
    return { wrong: `${why}.\n\n${USAGE}` }
  }
}

/**
 * @typedef {object} LaunchPlan
 * @property {string} program
 * @property {string[]} args
 * @property {NodeJS.ProcessEnv} env
 * @property {boolean} showsAll also what Chromium says about the system
 * @property {string[]} notes said before it
 */

/**
 * What to launch, given the surroundings.
 *
 * @param {object} surroundings
 * @param {string} surroundings.root
 * @param {{ demo: boolean, dataDir: string | undefined, switches: readonly string[] }} surroundings.asked
 * @param {string | undefined} surroundings.electron full path of the runtime
 * @param {NodeJS.ProcessEnv} surroundings.env
 * @param {NodeJS.Platform} [surroundings.platform]
 * @param {number | undefined} [surroundings.uid]
 * @returns {LaunchPlan}
 */
export function launchPlan({
  root,
  asked,
  electron,
  env,
  platform = process.platform,
  uid = process.getuid?.(),
}) {
  const data = asked.dataDir === undefined ? [] : ['--data', asked.dataDir]
  if (platform === 'linux' && !env.DISPLAY && !env.WAYLAND_DISPLAY) {
    return {
      program: process.execPath,
      args: [join(root, 'bin', 'ballet.mjs'), 'demo', ...data],
      // The demo alone runs there, and with the Claude Code of this clone, which npm put first.
      env,
      showsAll: true,
      notes: [
        'There is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set), so no window can open.',
        'The demo ticket runs in the headless host instead; its timeline follows.',
        'For the window: xvfb-run -a npm start, or run npm start in a desktop session.',
      ],
    }
  }
  if (electron === undefined) {
    throw new GroundError(
      'RUNTIME_MISSING',
      'There is no Electron runtime in this clone.',
      'Run npm run setup and read what it says about the runtime.',
    )
  }
  // A terminal of an editor that is itself an Electron program carries it, and Electron would be Node.
  const { ELECTRON_RUN_AS_NODE: _, ...withoutNodeMode } = env
  const asRoot = platform === 'linux' && uid === 0
  return {
    program: electron,
    args: [
      ...(asRoot ? ['--no-sandbox'] : []),
      ...asked.switches,
      root,
      ...(asked.demo ? ['--demo'] : []),
      ...data,
    ],
    env: withoutNpmFolders(withoutNodeMode, root),
    showsAll: asked.switches.some((each) => WANTS_LOG.test(each)),
    notes: asRoot
      ? ['Running as root: Chromium’s sandbox refuses to, so the window runs without it.']
      : [],
  }
}

/** How long output is still read after the application ended. */
const LATE_OUTPUT_MS = 500
/** Switches of a person who wants to read what Chromium says. */
const WANTS_LOG = /^--(enable-logging|log-level|v|vmodule)(=|$)/
/** What Chromium says when its display went before it, as with xvfb-run, which the same Ctrl-C ends. */
const LOST_DISPLAY = /:FATAL:|:ERROR:connection\.cc\(/

/**
 * Runs the program with this terminal, hands signals on, and ends as it ends.
 *
 * @param {Omit<LaunchPlan, 'notes'>} plan
 * @param {{ cwd: string, log: string }} place `log` is the file for what Chromium says about the system
 * @returns {Promise<number>} the exit code
 */
export function launch({ program, args, env, showsAll }, { cwd, log }) {
  const show = (/** @type {string} */ line) => process.stderr.write(`${line}\n`)
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: ['inherit', 'inherit', 'pipe'] })
    let isEnding = false
    let isInterrupted = false
    let hasLostDisplay = false
    const lines = sortLines(log, show)
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (isInterrupted && LOST_DISPLAY.test(line)) hasLostDisplay = true
      else if (showsAll) show(line)
      else lines.take(line)
    })
    const end = (/** @type {NodeJS.Signals} */ signal) => {
      isEnding = true
      child.kill(signal)
    }
    process.on('SIGTERM', () => end('SIGTERM'))
    process.on('SIGHUP', () => end('SIGHUP'))
    process.on('SIGINT', () => {
      isEnding = true
      isInterrupted = true
      // A terminal sends it to both; a second one would cut the drain short.
      if (!process.stdin.isTTY) child.kill('SIGINT')
    })
    watchParent(() => end('SIGTERM'))
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (hasLostDisplay) {
        process.stderr.write('The display was ended too. Sessions go on at the next start.\n')
        resolve(SIGNAL_EXIT_CODES.SIGINT)
        return
      }
      if (code !== 0 && !isEnding) lines.tellReason()
      const bySignal = SIGNAL_EXIT_CODES[/** @type {keyof typeof SIGNAL_EXIT_CODES} */ (signal)]
      resolve(code ?? bySignal ?? 1)
    })
    // What it left behind may hold the pipe open.
    child.on('exit', () => setTimeout(() => child.stderr.destroy(), LATE_OUTPUT_MS))
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const asked = readStartArguments(process.argv.slice(2))
  if ('help' in asked) process.stdout.write(`${asked.help}\n`)
  else if ('wrong' in asked) {
    process.stderr.write(`${asked.wrong}\n`)
    process.exitCode = 2
  } else process.exitCode = await start(asked)
}

/**
 * @param {{ demo: boolean, dataDir: string | undefined, switches: readonly string[] }} asked
 * @returns {Promise<number>} the exit code
 */
async function start(asked) {
  const report = createReport()
  const places = placesOf()
  try {
    const stop = endChildrenOnSignals()
    await setUp({ places, report })
    stop()
    const plan = launchPlan({
      root: places.root,
      asked,
      electron: (await readRuntime(places))?.path,
      env: process.env,
    })
    for (const note of plan.notes) report.line(note)
    const log = join(places.state, 'chromium.log')
    return await launch(plan, { cwd: places.root, log })
  } catch (error) {
    report.line(describeError(error))
    return 1
  }
}
