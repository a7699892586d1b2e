import { type ChildProcess, spawn } from 'node:child_process'

export type Ended = {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A program that was started, with everything that it printed so far. */
export type Program = {
  readonly child: ChildProcess
  readonly pid: number
  stdout(): string
  stderr(): string
  /** When it is gone and its outputs are closed: children that share them keep it open. */
  readonly ended: Promise<Ended>
  /** When it is gone itself; its exit code, null after a signal. */
  readonly exited: Promise<number | null>
  isRunning(): boolean
}

export type ProgramOptions = {
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Written to its standard input, which is closed then. */
  readonly input?: string
  /** Milliseconds after which it is killed; never when absent. */
  readonly limitMs?: number
}

export function startProgram(
  file: string,
  args: readonly string[],
  options: ProgramOptions,
): Program {
  const child = spawn(file, [...args], {
    env: { ...options.env },
    stdio: 'pipe',
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  // A program that ends without reading its input breaks the pipe; how it ended is what counts.
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.input ?? '')
  const timer =
    options.limitMs === undefined
      ? undefined
      : setTimeout(() => child.kill('SIGKILL'), options.limitMs)
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  }).finally(() => clearTimeout(timer))
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
  // Whoever waits is told; nobody needs to.
  for (const end of [ended, exited]) end.catch(() => undefined)
  return {
    child,
    pid: child.pid ?? -1,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    exited,
    isRunning: () => child.exitCode === null && child.signalCode === null,
  }
}

/** The lines of a text that are JSON objects, decoded; others are left out. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return []
    try {
      return [JSON.parse(line) as Record<string, unknown>]
    } catch {
      return []
    }
  })
}
