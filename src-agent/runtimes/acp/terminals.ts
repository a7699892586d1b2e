import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { RequestError } from '@agentclientprotocol/sdk'
import { type Marker, spawnMarked } from '../../process-tree/index.ts'
import { pathInside } from '../inside-workspace.ts'

/** What a terminal keeps of its output, and what an agent may ask for at most. */
const OUTPUT_CAP_BYTES = 1024 * 1024
/** Terminals of one agent at the same time. */
const TERMINALS_LIMIT = 32
/** After the exit of a command, one of its children may hold the pipes open for ever. */
const PIPE_GRACE_MS = 100
const KILL_GRACE_MS = 400

const INVALID_PARAMS = -32_602
const INTERNAL_ERROR = -32_603
const NOT_FOUND = -32_002

export type TerminalCommand = {
  command: string
  args: readonly string[]
  env: readonly { name: string; value: string }[]
  /** The workspace when null. */
  cwd: string | null
  outputLimitBytes: number | null
}

export type ExitStatus = { exitCode: number | null; signal: string | null }

export type TerminalOptions = {
  cwd: string
  /** The whole environment, without the marker. */
  env: Readonly<Record<string, string>>
  marker: Marker
  onOutside: (path: string, what: string) => void
  /** A terminal printed something. */
  onOutput: (terminal: string) => void
}

/** The commands that an agent runs through its client, in the workspace. */
export class Terminals {
  readonly #options: TerminalOptions
  readonly #open = new Map<string, Terminal>()
  readonly #starting = new Set<Promise<unknown>>()
  #made = 0

  constructor(options: TerminalOptions) {
    this.#options = options
  }

  /** Gives its id. Rejects with `RequestError`. */
  async create(asked: TerminalCommand): Promise<string> {
    const { cwd: root, env, marker, onOutside, onOutput } = this.#options
    if (this.#open.size + this.#starting.size >= TERMINALS_LIMIT) {
      throw new RequestError(
        INTERNAL_ERROR,
        `There are ${TERMINALS_LIMIT} terminals already: release some first.`,
      )
    }
    const cwd = pathInside(root, asked.cwd ?? root)
    if (cwd === null) {
      onOutside(asked.cwd ?? '', 'run a command in')
      throw new RequestError(
        INVALID_PARAMS,
        `Ballet runs no command in ${asked.cwd}: it is outside of the workspace ${root}.`,
      )
    }
    this.#made += 1
    const id = `terminal-${this.#made}`
    const own = Object.fromEntries(asked.env.map(({ name, value }) => [name, value]))
    const [command, args] = programOf(asked)
    const starting = spawnMarked(command, args, { cwd, env: { ...env, ...own }, marker })
    this.#starting.add(starting)
    try {
      const child = await starting
      child.stdin.on('error', () => undefined).end()
      const limit = Math.min(asked.outputLimitBytes ?? OUTPUT_CAP_BYTES, OUTPUT_CAP_BYTES)
      this.#open.set(id, new Terminal(child, limit, () => onOutput(id)))
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw new RequestError(INTERNAL_ERROR, `${command} could not be started: ${why}`)
    } finally {
      this.#starting.delete(starting)
    }
    return id
  }

  /** What it printed so far; empty for one that is not there. */
  outputOf(id: string): string {
    return this.#open.get(id)?.output.text ?? ''
  }

  output(id: string): { output: string; truncated: boolean; exitStatus: ExitStatus | null } {
    const { output, exit } = this.#of(id)
    return { output: output.text, truncated: output.isCut, exitStatus: exit }
  }

  async waitForExit(id: string): Promise<ExitStatus> {
    return this.#of(id).exited
  }

  async kill(id: string): Promise<void> {
    await this.#of(id).kill()
  }

  async release(id: string): Promise<void> {
    const terminal = this.#of(id)
    this.#open.delete(id)
    await terminal.kill()
  }

  /** The turn is over: nothing of it runs on, also not what is being started. */
  async releaseAll(): Promise<void> {
    await Promise.allSettled(this.#starting)
    const all = [...this.#open.values()]
    this.#open.clear()
    await Promise.all(all.map((terminal) => terminal.kill()))
  }

  #of(id: string): Terminal {
    const terminal = this.#open.get(id)
    if (terminal === undefined) throw new RequestError(NOT_FOUND, `There is no terminal ${id}.`)
    return terminal
  }
}

/** Agents give a program with its arguments, or one line for a shell. */
function programOf({ command, args }: TerminalCommand): [string, readonly string[]] {
  if (args.length > 0 || !/\s/.test(command.trim())) return [command, args]
  return process.platform === 'win32'
    ? ['cmd.exe', ['/d', '/s', '/c', command]]
    : ['/bin/sh', ['-c', command]]
}

class Terminal {
  readonly output: OutputTail
  readonly exited: Promise<ExitStatus>
  exit: ExitStatus | null = null
  readonly #child: ChildProcess

  constructor(child: ChildProcess, limitBytes: number, onOutput: () => void) {
    this.#child = child
    this.output = new OutputTail(limitBytes)
    const take = (chunk: Buffer) => {
      this.output.push(chunk)
      onOutput()
    }
    child.stdout?.on('data', take)
    child.stderr?.on('data', take)
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
    this.exited = new Promise((resolve) => {
      child.once('exit', (exitCode, signal) => {
        void Promise.race([closed, sleep(PIPE_GRACE_MS)]).then(() => {
          this.exit = { exitCode, signal }
          resolve(this.exit)
        })
      })
    })
  }

  /** Ends the command's process group. What left the group carries the marker, and goes with the session. */
  async kill(): Promise<void> {
    if (this.exit !== null) return
    this.#signal('SIGTERM')
    await Promise.race([this.exited, sleep(KILL_GRACE_MS)])
    if (this.exit === null) this.#signal('SIGKILL')
    await Promise.race([this.exited, sleep(KILL_GRACE_MS)])
  }

  #signal(name: NodeJS.Signals): void {
    const { pid } = this.#child
    if (pid === undefined) return
    try {
      process.kill(process.platform === 'win32' ? pid : -pid, name)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      if (code !== 'ESRCH' && code !== 'EPERM') throw error
    }
  }
}

/** The end of an output, at most so many bytes of UTF-8, cut between two characters. */
class OutputTail {
  isCut = false
  readonly #limit: number
  #bytes = Buffer.alloc(0)

  constructor(limitBytes: number) {
    this.#limit = limitBytes
  }

  get text(): string {
    return this.#bytes.toString('utf8')
  }

  push(chunk: Buffer): void {
    const whole = Buffer.concat([this.#bytes, chunk])
    if (whole.length <= this.#limit) {
      this.#bytes = whole
      return
    }
    this.isCut = true
    let from = whole.length - this.#limit
    // Bytes 10xxxxxx continue a character.
    while (from < whole.length && ((whole[from] ?? 0) & 0xc0) === 0x80) from += 1
    this.#bytes = Buffer.from(whole.subarray(from))
  }
}
