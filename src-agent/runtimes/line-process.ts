import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Marker, spawnMarked } from '../process-tree/index.ts'
import { type FramedLine, LineFramer } from './line-framing.ts'
import type { SecretMask } from './mask-secrets.ts'

const STDERR_KEPT = 8 * 1_024
/** After the exit of a program, one of its children may hold the pipes open for ever. */
const PIPE_GRACE_MS = 250
/** A program that is killed breaks its pipes and its connections a moment before its end is known. */
const END_GRACE_MS = 1_000

export type LineProcessOptions = {
  executable: string
  args: readonly string[]
  cwd: string
  /** The whole environment; the marker is added. */
  env: Readonly<Record<string, string>>
  marker: Marker
  mask: SecretMask
}

export type Exit = { exitCode: number | null; signal: NodeJS.Signals | null }

/** A running program that is spoken to in lines, with the end of what it says on stderr. */
export class LineProcess {
  readonly pid: number
  /** Resolves once, after its last line was handled. */
  readonly exited: Promise<Exit>
  /** Resolves when it can print nothing more, which a program may bring about without ending. */
  readonly outputEnded: Promise<void>
  readonly #child: ChildProcessWithoutNullStreams
  readonly #mask: SecretMask
  #stderr = ''
  #gone = false

  private constructor(
    child: ChildProcessWithoutNullStreams,
    mask: SecretMask,
    onLine: (line: FramedLine) => void,
  ) {
    this.#child = child
    this.#mask = mask
    this.pid = child.pid ?? -1
    this.outputEnded = new Promise((resolve) => child.stdout.once('close', () => resolve()))
    this.exited = this.#watch(child, onLine)
  }

  /** Rejects with the system's error when the program cannot be started. */
  static async start(
    options: LineProcessOptions,
    onLine: (line: FramedLine) => void,
  ): Promise<LineProcess> {
    const child = await spawnMarked(options.executable, options.args, options)
    return new LineProcess(child, options.mask, onLine)
  }

  get gone(): boolean {
    return this.#gone
  }

  /** Whether it is over, or will be in a moment: for one that was not reached any more. */
  async endsSoon(): Promise<boolean> {
    await Promise.race([this.exited, sleep(END_GRACE_MS)])
    return this.#gone
  }

  /** The end of what it printed on stderr, secrets masked. */
  get stderr(): string {
    return this.#mask.mask(this.#stderr.trim())
  }

  /** Writes one value as a line of JSON. Rejects when it was not taken; a part of a line is never read. */
  write(value: unknown): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#gone || !this.#child.stdin.writable) {
        reject(new Error('it does not run any more'))
        return
      }
      this.#child.stdin.write(`${JSON.stringify(value)}\n`, (error) =>
        error === null || error === undefined ? resolve() : reject(error),
      )
    })
  }

  /** No input any more. */
  closeInput(): void {
    this.#child.stdin.end()
  }

  #watch(child: ChildProcessWithoutNullStreams, onLine: (line: FramedLine) => void): Promise<Exit> {
    const framer = new LineFramer(onLine)
    child.stdout.on('data', (chunk: Buffer) => framer.push(chunk))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_KEPT)
    })
    // A write to a program that is gone fails; its callback and the exit tell.
    child.stdin.on('error', () => undefined)
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
    return new Promise((resolve) => {
      child.once('exit', (exitCode, signal) => {
        void Promise.race([closed, sleep(PIPE_GRACE_MS)]).then(() => {
          framer.end()
          this.#gone = true
          child.stdout.destroy()
          child.stderr.destroy()
          resolve({ exitCode, signal })
        })
      })
    })
  }
}

/** How a program ended, in words; `title` is what people call it. */
export function describeExit(title: string, exit: Exit, stderr: string): string {
  const how =
    exit.signal === null ? `with exit code ${exit.exitCode ?? 'unknown'}` : `by ${exit.signal}`
  const said = stderr === '' ? '' : `: ${stderr.slice(-1_000)}`
  return `${title} ended ${how}${said}`
}
