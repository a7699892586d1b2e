import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { GroundError } from './errors.mjs'
import { identify, isAlive } from './process-identity.mjs'

/** @typedef {import('./process-identity.mjs').ProcessIdentity} ProcessIdentity */

const END_GRACE_MS = 3_000
const PARENT_INTERVAL_MS = 250
const KEPT_OUTPUT = 8_000
/** How long output is still read after a program ended, where something that it started holds the pipe open. */
const LATE_OUTPUT_MS = 2_000

/** Process groups that this process started and that still run. */
const running = new Set(/** @type {ProcessIdentity[]} */ ([]))
let ending = false

/**
 * Ends a process group by its leader's identity: asks, then insists, and waits until it is gone, within a limit.
 * @param {ProcessIdentity} leader
 */
export async function endGroup(leader) {
  if (!isAlive(leader)) return
  signalGroup(leader.pid, 'SIGTERM')
  const deadline = Date.now() + END_GRACE_MS
  while (isAlive(leader) && Date.now() < deadline) await delay(25)
  // Also where the leader is gone: its group may hold others, which did not listen.
  signalGroup(leader.pid, 'SIGKILL')
  // One that waits for a disk that does not answer goes when that does.
  const killed = Date.now() + END_GRACE_MS
  while (isAlive(leader) && Date.now() < killed) await delay(25)
}

/**
 * @param {number} pid
 * @param {NodeJS.Signals} signal
 */
function signalGroup(pid, signal) {
  if (process.platform === 'win32') {
    spawn('taskkill', ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore' })
    return
  }
  try {
    process.kill(-pid, signal)
  } catch (error) {
    // Nobody is there (ESRCH), or nobody whom this person may signal, such as one that waits to be reaped (EPERM).
    const { code } = /** @type {NodeJS.ErrnoException} */ (error)
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}

/** Exit codes of a program that a signal ended, as shells have them. */
export const SIGNAL_EXIT_CODES = /** @type {const} */ ({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 })

/**
 * npm hands a signal to the shell between itself and this process, and the shell dies of it without
 * handing it on: seen from here, the parent changes. Without npm the parent may go as it likes.
 *
 * @param {() => void} onGone called once
 * @param {{ env?: NodeJS.ProcessEnv, parentOf?: () => number }} [options]
 * @returns {() => void} stops watching
 */
export function watchParent(onGone, { env = process.env, parentOf = () => process.ppid } = {}) {
  if (env.npm_lifecycle_event === undefined) return () => {}
  const parent = parentOf()
  const timer = setInterval(() => {
    if (parentOf() === parent) return
    clearInterval(timer)
    onGone()
  }, PARENT_INTERVAL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/**
 * Ends everything that was started when the person interrupts, says so, and exits as the signal would. What was
 * waited for is not reported as a failure then: it did not fail.
 * @returns {() => void} takes this back
 */
export function endChildrenOnSignals() {
  /** @param {NodeJS.Signals} signal */
  const end = (signal) => {
    if (ending) return
    ending = true
    void Promise.all([...running].map((leader) => endGroup(leader))).finally(() => {
      process.stdout.write(
        '\nStopped. Run the command again to go on: what was finished is kept.\n',
      )
      process.exit(SIGNAL_EXIT_CODES[/** @type {keyof typeof SIGNAL_EXIT_CODES} */ (signal)])
    })
  }
  const signals = /** @type {(keyof typeof SIGNAL_EXIT_CODES)[]} */ (Object.keys(SIGNAL_EXIT_CODES))
  for (const signal of signals) process.on(signal, end)
  const unwatch = watchParent(() => end('SIGTERM'))
  return () => {
    unwatch()
    for (const signal of signals) process.off(signal, end)
  }
}

/**
 * @typedef {object} RunOptions
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env]
 * @property {number} limitMs
 * @property {(line: string) => void} [onLine] each line of both outputs, as it comes
 * @property {boolean} [inherit] it prints on this process's outputs, and nothing is collected
 * @property {import('./lock.mjs').Lock} [lock] told about the child, so that a later run can end it
 */

/**
 * Runs a program in its own process group, without input, and collects what it prints.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RunOptions} options
 * @returns {Promise<{ code: number | null, signal: NodeJS.Signals | null, stdout: string, tail: string }>}
 * `tail` is the end of both outputs together
 * @throws {GroundError} PROGRAM_MISSING, PROGRAM_TOO_SLOW
 */
export function run(
  command,
  args,
  { cwd, env = process.env, limitMs, onLine, inherit = false, lock },
) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: inherit ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      // npm is a script there, and only the shell can start it.
      shell: process.platform === 'win32' && command === 'npm',
    })
    const leader = child.pid === undefined ? undefined : identify(child.pid)
    if (leader) {
      running.add(leader)
      lock?.childStarted(leader)
    }
    let tooSlow = false
    const limit = setTimeout(() => {
      tooSlow = true
      if (leader) void endGroup(leader)
    }, limitMs)

    let stdout = ''
    let tail = ''
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue
      let rest = ''
      stream.setEncoding('utf8')
      stream.on('data', (/** @type {string} */ text) => {
        if (stream === child.stdout) stdout += text
        tail = (tail + stripVTControlCharacters(text)).slice(-KEPT_OUTPUT)
        if (!onLine) return
        const lines = (rest + text).split(/\r?\n|\r/)
        rest = lines.pop() ?? ''
        for (const line of lines) if (line.trim() !== '') onLine(stripVTControlCharacters(line))
      })
    }

    const settle = () => {
      clearTimeout(limit)
      if (leader) {
        running.delete(leader)
        lock?.childEnded(leader)
      }
    }
    child.on('error', (error) => {
      settle()
      reject(
        new GroundError(
          'PROGRAM_MISSING',
          `${command} could not be started.`,
          `Check that ${command} is installed and on the PATH.`,
          error,
        ),
      )
    })
    child.on('exit', () => {
      // A program that it left behind may have inherited the pipes, and then they do not close by themselves.
      setTimeout(() => {
        child.stdout?.destroy()
        child.stderr?.destroy()
      }, LATE_OUTPUT_MS).unref()
    })
    child.on('close', (code, signal) => {
      settle()
      // It did not fail: it was ended with this process, which is about to go.
      if (ending) return
      if (tooSlow) {
        reject(
          new GroundError(
            'PROGRAM_TOO_SLOW',
            `${command} ${args.join(' ')} did not end within ${Math.round(limitMs / 1000)} s.`,
            'Run the command again; what was finished is kept.',
          ),
        )
      } else resolve({ code, signal, stdout, tail })
    })
  })
}

/**
 * As `run`, where anything but exit code 0 is a failure.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RunOptions & { failure: { code: string, message: string, hint: string } }} options
 * @returns {Promise<string>} what it printed on its standard output
 */
export async function mustRun(command, args, { failure, ...options }) {
  const { code, signal, stdout, tail } = await run(command, args, options)
  if (code === 0) return stdout
  const end = signal ? `ended by ${signal}` : `exit code ${code}`
  throw new GroundError(
    failure.code,
    `${failure.message} (${command}: ${end})\n${tail.trim()}`,
    failure.hint,
  )
}
