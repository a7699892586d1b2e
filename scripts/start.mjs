import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { readRuntime } from './ground/electron-runtime.mjs'
import { describeError, GroundError } from './ground/errors.mjs'
import { placesOf } from './ground/places.mjs'
import { createReport } from './ground/progress.mjs'
import { endChildrenOnSignals, SIGNAL_EXIT_CODES, watchParent } from './ground/run.mjs'
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
 * What to launch, given the surroundings.
 *
 * @param {object} surroundings
 * @param {string} surroundings.root
 * @param {{ demo: boolean, dataDir: string | undefined, switches: readonly string[] }} surroundings.asked
 * @param {string | undefined} surroundings.electron full path of the runtime
 * @param {NodeJS.ProcessEnv} surroundings.env
 * @param {NodeJS.Platform} [surroundings.platform]
 * @param {number | undefined} [surroundings.uid]
 * @returns {{ program: string, args: string[], notes: string[] }} `notes` are said before it
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
    notes: asRoot
      ? ['Running as root: Chromium’s sandbox refuses to, so the window runs without it.']
      : [],
  }
}

/** How long output is still read after the application ended. */
const LATE_OUTPUT_MS = 500
/** What Chromium says about a system without D-Bus, which Ballet does without. */
const NOISE = /:ERROR:bus\.cc\(/
/** What it says when its display went before it, as with xvfb-run, which the same Ctrl-C ends. */
const LOST_DISPLAY = /:FATAL:|:ERROR:connection\.cc\(/

/**
 * Runs the program with this terminal, hands signals on, and ends as it ends.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {string} root
 * @returns {Promise<number>} the exit code
 */
export function launch(program, args, root) {
  // A terminal of an editor that is itself an Electron program carries it, and Electron would be Node.
  const { ELECTRON_RUN_AS_NODE: _, ...env } = process.env
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, env, stdio: ['inherit', 'inherit', 'pipe'] })
    let isInterrupted = false
    let hasLostDisplay = false
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (isInterrupted && LOST_DISPLAY.test(line)) hasLostDisplay = true
      else if (!NOISE.test(line)) process.stderr.write(`${line}\n`)
    })
    process.on('SIGTERM', () => child.kill('SIGTERM'))
    process.on('SIGHUP', () => child.kill('SIGHUP'))
    process.on('SIGINT', () => {
      isInterrupted = true
      // A terminal sends it to both; a second one would cut the drain short.
      if (!process.stdin.isTTY) child.kill('SIGINT')
    })
    watchParent(() => child.kill('SIGTERM'))
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (hasLostDisplay) {
        process.stderr.write('The display was ended too. Sessions go on at the next start.\n')
        resolve(SIGNAL_EXIT_CODES.SIGINT)
        return
      }
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
    return await launch(plan.program, plan.args, places.root)
  } catch (error) {
    report.line(describeError(error))
    return 1
  }
}
