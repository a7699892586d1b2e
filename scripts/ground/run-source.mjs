import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { runnerImport } from 'vite'
import { setUp } from '../setup.mjs'
import { describeError } from './errors.mjs'
import { placesOf } from './places.mjs'
import { createReport } from './progress.mjs'
import { withDisplay } from './suites.mjs'

const WITHIN = 'BALLET_WITHIN_DISPLAY'

/**
 * Sets up, and runs a TypeScript program of the clone: a module whose `main` gets the arguments and gives the exit code.
 * It has a display, a virtual one where there is no real one.
 *
 * @param {string} source from the root
 * @param {{ forTests?: boolean }} [options] `forTests`: the set-up of the tests
 */
export async function runProgram(source, { forTests = false } = {}) {
  const places = placesOf()
  const report = createReport()
  const args = process.argv.slice(2)
  if (process.env[WITHIN] === undefined) {
    try {
      await setUp({ forTests, places, report })
    } catch (error) {
      report.line(describeError(error))
      process.exitCode = 1
      return
    }
    const script = process.argv[1] ?? ''
    const command = withDisplay(process.env, process.execPath, [script, ...args])
    const child = spawn(command.program, command.args, {
      stdio: 'inherit',
      env: { ...process.env, [WITHIN]: '1' },
    })
    child.once('error', (error) => {
      report.line(describeError(error))
      process.exitCode = 1
    })
    child.once('exit', (code) => {
      process.exitCode = code ?? 1
    })
    return
  }
  const { module } = await runnerImport(join(places.root, source), {
    root: places.root,
    configFile: false,
    logLevel: 'error',
  })
  process.exitCode = await module.main(args)
}
