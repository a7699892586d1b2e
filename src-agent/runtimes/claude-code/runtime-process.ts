import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { BalletError } from '../../../src-shared/refusal.ts'
import { type Marker, spawnMarked } from '../../process-tree/index.ts'
import { type FramedLine, LineFramer } from '../line-framing.ts'
import type { Exit } from '../line-process.ts'
import type { SecretMask } from '../mask-secrets.ts'
import { type ControlResponseLine, type Decoded, decodeLine } from './lines.ts'

const STDERR_KEPT = 8 * 1_024
/** After the exit of the runtime, one of its children may hold the pipes open for ever. */
const PIPE_GRACE_MS = 250

export type ProcessHandlers = {
  onLine(decoded: Exclude<Decoded, { kind: 'ignored' | 'garbage' }>): void
  onGarbage(text: string): void
  onOversized(head: string, bytes: number): void
}

type Pending = {
  settle: (response: ControlResponseLine['response']) => void
  fail: (error: Error) => void
}

/** One running Claude Code: its lines in both directions, its control requests, its end. */
export class RuntimeProcess {
  readonly pid: number
  /** Resolves once, after its last line was handled. */
  readonly exited: Promise<Exit>
  #child: ChildProcessWithoutNullStreams
  #stderr = ''
  #gone = false
  readonly #pending = new Map<string, Pending>()
  #handlers: ProcessHandlers
  readonly #mask: SecretMask

  private constructor(
    child: ChildProcessWithoutNullStreams,
    mask: SecretMask,
    handlers: ProcessHandlers,
  ) {
    this.#child = child
    this.#mask = mask
    this.pid = child.pid ?? -1
    this.#handlers = handlers
    this.exited = this.#watch(child)
  }

  /** Rejects with the system's error when the program cannot be started. */
  static async start(
    options: {
      executable: string
      args: readonly string[]
      cwd: string
      env: Readonly<Record<string, string>>
      marker: Marker
      mask: SecretMask
    },
    handlers: ProcessHandlers,
  ): Promise<RuntimeProcess> {
    const child = await spawnMarked(options.executable, options.args, options)
    return new RuntimeProcess(child, options.mask, handlers)
  }

  get gone(): boolean {
    return this.#gone
  }

  /** The end of what it printed on stderr, secrets masked. */
  get stderr(): string {
    return this.#mask.mask(this.#stderr.trim())
  }

  handleWith(handlers: ProcessHandlers): void {
    this.#handlers = handlers
  }

  /** Writes one line. Rejects when it was not taken; a part of a line is never read by the runtime. */
  write(value: unknown): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#gone || !this.#child.stdin.writable) {
        reject(new Error('Claude Code does not run any more'))
        return
      }
      this.#child.stdin.write(`${JSON.stringify(value)}\n`, (error) =>
        error === null || error === undefined ? resolve() : reject(error),
      )
    })
  }

  /** Sends a control request and waits for its answer. Rejects at the limit, at an error answer and at the exit. */
  async control(request: Readonly<Record<string, unknown>>, limitMs: number): Promise<unknown> {
    const id = randomUUID()
    const subtype = String(request.subtype)
    const answer = new Promise<ControlResponseLine['response']>((resolve, reject) => {
      const timer = setTimeout(
        () => this.#pending.get(id)?.fail(new Error(`no answer to ${subtype} in ${limitMs} ms`)),
        limitMs,
      )
      const done = () => {
        clearTimeout(timer)
        this.#pending.delete(id)
      }
      this.#pending.set(id, {
        settle: (response) => {
          done()
          resolve(response)
        },
        fail: (error) => {
          done()
          reject(error)
        },
      })
    })
    // The answer may be refused before anybody waits for it.
    answer.catch(() => undefined)
    try {
      await this.write({ type: 'control_request', request_id: id, request })
    } catch (error) {
      this.#pending.get(id)?.fail(error instanceof Error ? error : new Error(String(error)))
    }
    const response = await answer
    if (response.subtype === 'error') {
      throw new Error(`${subtype} was refused: ${response.error ?? 'no reason given'}`)
    }
    return response.response
  }

  /** No input any more: the runtime ends by itself when nothing runs. */
  closeInput(): void {
    this.#child.stdin.end()
  }

  #watch(child: ChildProcessWithoutNullStreams): Promise<Exit> {
    const framer = new LineFramer((line) => this.#take(line))
    child.stdout.on('data', (chunk: Buffer) => framer.push(chunk))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_KEPT)
    })
    // A write to a runtime that is gone fails; its callback and the exit tell.
    child.stdin.on('error', () => undefined)
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
    return new Promise((resolve) => {
      child.once('exit', (exitCode, signal) => {
        void Promise.race([closed, sleep(PIPE_GRACE_MS)]).then(() => {
          framer.end()
          this.#gone = true
          const error = new BalletError({
            code: 'runtime.gone',
            message: 'Claude Code ended before it answered.',
          })
          for (const pending of [...this.#pending.values()]) pending.fail(error)
          child.stdout.destroy()
          child.stderr.destroy()
          resolve({ exitCode, signal })
        })
      })
    })
  }

  #take(framed: FramedLine): void {
    if (framed.kind === 'oversized') {
      this.#handlers.onOversized(framed.head, framed.bytes)
      return
    }
    const decoded = decodeLine(framed.text)
    if (decoded.kind === 'ignored') return
    if (decoded.kind === 'garbage') {
      this.#handlers.onGarbage(framed.text)
      return
    }
    if (decoded.kind === 'line' && decoded.line.type === 'control_response') {
      this.#pending.get(decoded.line.response.request_id)?.settle(decoded.line.response)
      return
    }
    this.#handlers.onLine(decoded)
  }
}
