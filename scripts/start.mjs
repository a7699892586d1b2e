import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readRuntime } from './ground/electron-runtime.mjs'
import { describeError, GroundError } from './ground/errors.mjs'
import { placesOf } from './ground/places.mjs'
import { createReport } from './ground/progress.mjs'
import { endChildrenOnSignals, SIGNAL_EXIT_CODES, watchParent } from './ground/run.mjs'
import { setUp } from './setup.mjs'

/**
 * What to launch, given the surroundings.
 *
 * @param {object} surroundings
 * @param {string} surroundings.root
 * @param {readonly string[]} surroundings.args the person's, for the application
 * @param {string | undefined} surroundings.electron full path of the runtime
 * @param {NodeJS.ProcessEnv} surroundings.env
 * @param {NodeJS.Platform} [surroundings.platform]
 * @param {number | undefined} [surroundings.uid]
 * @returns {{ program: string, args: string[], notes: string[] }} `notes` are said before it
 */
export function launchPlan({
  root,
  args,
  electron,
  env,
  platform = process.platform,
  uid = process.getuid?.(),
}) {
  if (platform === 'linux' && !env.DISPLAY && !env.WAYLAND_DISPLAY) {
    return {
      program: process.execPath,
      args: [join(root, 'bin', 'ballet.mjs'), 'demo'],
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
    args: [...(asRoot ? ['--no-sandbox'] : []), root, ...args],
    notes: asRoot
      ? ['Running as root: Chromium’s sandbox refuses to, so the window runs without it.']
      : [],
  }
}

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
    const child = spawn(program, args, { cwd: root, env, stdio: 'inherit' })
    process.on('SIGTERM', () => child.kill('SIGTERM'))
    process.on('SIGHUP', () => child.kill('SIGHUP'))
    process.on('SIGINT', () => {
      // A terminal sends it to both; a second one would cut the drain short.
      if (!process.stdin.isTTY) child.kill('SIGINT')
    })
    watchParent(() => child.kill('SIGTERM'))
    child.on('error', reject)
    child.on('close', (code, signal) => {
      const bySignal = SIGNAL_EXIT_CODES[/** @type {keyof typeof SIGNAL_EXIT_CODES} */ (signal)]
      resolve(code ?? bySignal ?? 1)
    })
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const report = createReport()
  const places = placesOf()
  try {
    const stop = endChildrenOnSignals()
    await setUp({ places, report })
    stop()
    const plan = launchPlan({
      root: places.root,
      args: process.argv.slice(2),
      electron: (await readRuntime(places))?.path,
      env: process.env,
    })
    for (const note of plan.notes) report.line(note)
    process.exitCode = await launch(plan.program, plan.args, places.root)
  } catch (error) {
    report.line(describeError(error))
    process.exitCode = 1
  }
}
