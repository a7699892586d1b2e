import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { basename } from 'node:path'
import { z } from 'zod'

const LIMIT_MS = 5_000

/** From the request to end until the shell is killed; an interactive one often ignores the request. */
const GRACE_MS = 500

/** More than any environment has. */
const LIMIT_BYTES = 8 * 1024 * 1024

const Variables = z.record(z.string(), z.string())

export type LoginShellOptions = {
  env: NodeJS.ProcessEnv
  /** Runs JavaScript: Node's program, or Electron's, which is told to be Node. */
  execPath: string
  platform?: NodeJS.Platform
  limitMs?: number
}

export type LoginShellEnvironment = {
  env: Record<string, string | undefined>
  /** Why `env` is only what the application was started with; undefined where the shell told its own. */
  problem?: string
}

/** A program that a desktop starts knows nothing of what a person's shell sets, such as the PATH. */
export function wasStartedByDesktop(
  env: NodeJS.ProcessEnv,
  streams: readonly { isTTY?: boolean }[] = [process.stdin, process.stdout, process.stderr],
): boolean {
  return env.TERM === undefined && !streams.some(({ isTTY }) => isTTY === true)
}

/** The environment that the person's login shell sets up. Always answers, within the limit. */
export async function readLoginShellEnvironment(
  options: LoginShellOptions,
): Promise<LoginShellEnvironment> {
  const { env, platform = process.platform } = options
  if (platform === 'win32') return { env }
  try {
    return { env: await askShell(options) }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { env, problem: `The login shell's environment is not known: ${why}.` }
  }
}

function askShell({
  env,
  execPath,
  limitMs = LIMIT_MS,
}: LoginShellOptions): Promise<Record<string, string>> {
  const shell = env.SHELL || '/bin/sh'
  // Whatever a profile prints stays outside of the marks.
  const mark = randomBytes(8).toString('hex')
  const program = `process.stdout.write("${mark}"+JSON.stringify(process.env)+"${mark}")`
  const command = `'${execPath.replaceAll("'", `'\\''`)}' -e '${program}'`
  return new Promise((resolve, reject) => {
    const child = spawn(shell, [...flagsOf(shell), command], {
      env: { ...env, ELECTRON_RUN_AS_NODE: '1' },
      stdio: ['ignore', 'pipe', 'ignore'],
      // A session of its own: a profile that asks for a terminal finds none, and the whole group can be ended.
      detached: true,
    })
    let isSettled = false
    const settle = (outcome: () => void) => {
      if (isSettled) return
      isSettled = true
      clearTimeout(timer)
      child.stdout.destroy()
      endGroup(child)
      outcome()
    }
    const fail = (why: string) => settle(() => reject(new Error(why)))
    const timer = setTimeout(
      () => fail(`${shell} did not answer within ${limitMs / 1_000} s`),
      limitMs,
    )
    let text = ''
    child.once('error', (error) => fail(`${shell} cannot be started (${error.message})`))
    child.once('close', (code) => fail(`${shell} ended with ${code} and told nothing`))
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const [, told, rest] = text.split(mark)
      if (told !== undefined && rest !== undefined) settle(() => resolve(decode(told)))
      else if (text.length > LIMIT_BYTES) fail(`${shell} printed too much`)
    })
  })
}

/** Lets the shell and what it started tidy up, and kills what is left of them after a moment. */
function endGroup(child: ChildProcess): void {
  const { pid } = child
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  if (!signalGroup(pid, 'SIGTERM')) return
  const timer = setTimeout(() => signalGroup(pid, 'SIGKILL'), GRACE_MS)
  child.once('exit', () => {
    if (!signalGroup(pid, 0)) clearTimeout(timer)
  })
}

/** False when nothing of the group is left. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}

function decode(text: string): Record<string, string> {
  const { ELECTRON_RUN_AS_NODE: _, ...variables } = Variables.parse(JSON.parse(text))
  return variables
}

/** Interactive too: PATH is often set in the file that only interactive shells read. */
function flagsOf(shell: string): string[] {
  // These take the flag of a login shell only where it stands alone.
  return /^t?csh$/.test(basename(shell)) ? ['-ic'] : ['-i', '-l', '-c']
}
