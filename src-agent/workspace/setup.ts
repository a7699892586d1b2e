import { basename, isAbsolute } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { BalletError } from '../../src-shared/refusal.ts'
import type { ToolStatus } from '../../src-shared/timeline.ts'
import type { Clock } from '../port/clock.ts'
import { endTree, type Marker, spawnMarked } from '../process-tree/index.ts'
import { cutText, oneLine } from '../runtimes/cut-text.ts'
import type { DriverSignal } from '../runtimes/driver.ts'
import { SecretMask, type StreamMask } from '../runtimes/mask-secrets.ts'

/** How much of the output is kept at its beginning and again at its end, in UTF-16 code units. */
const KEPT_EACH = 4 * 1024 * 1024
/** How much of it is shown while it runs. */
const LIVE_LIMIT = 256 * 1024
/** What the command left running may hold its pipes open. */
const PIPE_GRACE_MS = 300

export type SetupPlan = {
  command: string
  /** Null: no limit. */
  limitMs: number | null
  cwd: string
  env: Readonly<Record<string, string>>
  marker: Marker
  callId: string
}

/**
 * Runs the project's setup command through the user's shell, as a call named `setup` in the timeline. Rejects with
 * `setup.failed`, `setup.time-limit` or `setup.cancelled`; then nothing that it started is left.
 */
export async function runSetup(
  plan: SetupPlan,
  clock: Clock,
  tell: (signal: DriverSignal) => void,
  signal: AbortSignal,
): Promise<void> {
  const { callId, command } = plan
  const mask = new SecretMask(plan.env)
  tell({
    type: 'event',
    at: clock.now(),
    event: {
      kind: 'tool.call',
      callId,
      name: 'setup',
      toolKind: 'execute',
      title: mask.mask(oneLine(command)),
      input: cutText(mask.mask(JSON.stringify({ command }))).text,
    },
  })
  const output = new SetupOutput(callId, mask.stream(), tell)
  const begin = clock.monotonic()
  const ended = await execute(plan, clock, output, signal)
  output.close()
  if (ended !== 0) await endTree([plan.marker], { graceMs: 1_000, limitMs: 10_000 })
  const whole = mask.mask(output.text())
  const { text, blob } = cutText(whole)
  tell({
    type: 'event',
    at: clock.now(),
    event: {
      kind: 'tool.result',
      callId,
      status: statusOf(ended),
      output: text,
      outputBytes: Buffer.byteLength(whole),
      durationMs: Math.round(clock.monotonic() - begin),
      ...(blob === undefined ? {} : { outputBlob: blob.id }),
    },
    ...(blob === undefined ? {} : { blobs: [blob] }),
  })
  if (ended !== 0) throw whyEnded(ended, plan, whole)
}

type Ended = number | 'too-long' | 'cancelled'

function statusOf(ended: Ended): ToolStatus {
  if (ended === 0) return 'ok'
  return ended === 'cancelled' ? 'cancelled' : 'error'
}

async function execute(
  plan: SetupPlan,
  clock: Clock,
  output: SetupOutput,
  signal: AbortSignal,
): Promise<Ended> {
  if (signal.aborted) return 'cancelled'
  const [shell, args] = shellFor(plan.command, plan.env)
  const child = await spawnMarked(shell, args, plan).catch((cause: unknown) => {
    throw new BalletError(
      {
        code: 'setup.failed',
        message: `The setup command cannot be started: the shell ${shell} does not run.`,
        hint: 'Check SHELL in your environment.',
      },
      { cause },
    )
  })
  child.stdin.on('error', () => undefined)
  child.stdin.end()
  output.read(child.stdout)
  output.read(child.stderr)
  return new Promise((resolve) => {
    let cancelLimit = () => {}
    const end = (ended: Ended) => {
      cancelLimit()
      signal.removeEventListener('abort', onAbort)
      resolve(ended)
    }
    const onAbort = () => end('cancelled')
    if (plan.limitMs !== null) cancelLimit = clock.after(plan.limitMs, () => end('too-long'))
    signal.addEventListener('abort', onAbort)
    child.once('exit', (code, name) => {
      const done = () => end(code ?? (name === null ? 1 : 128))
      const grace = setTimeout(done, PIPE_GRACE_MS)
      child.once('close', () => {
        clearTimeout(grace)
        done()
      })
    })
  })
}

function shellFor(command: string, env: Readonly<Record<string, string>>): [string, string[]] {
  if (process.platform === 'win32') {
    return [env.ComSpec ?? 'cmd.exe', ['/d', '/s', '/c', command]]
  }
  const own = env.SHELL ?? ''
  const shell = isAbsolute(own) && basename(own) !== 'nologin' ? own : '/bin/sh'
  return [shell, ['-c', command]]
}

function whyEnded(ended: Ended, { command, limitMs }: SetupPlan, output: string): BalletError {
  const last = output.trimEnd().split('\n').slice(-3).join(' · ').slice(-300)
  const said = last === '' ? '' : ` Its last output: ${last}`
  const hint =
    'Its whole output is in the timeline. Change the setup command or its limit in the project, then try again.'
  if (ended === 'cancelled') {
    return new BalletError({ code: 'setup.cancelled', message: 'The setup command was stopped.' })
  }
  if (ended === 'too-long') {
    const limit = `${Math.round((limitMs ?? 0) / 1_000)} s`
    return new BalletError({
      code: 'setup.time-limit',
      message: `The setup command took longer than ${limit} and was ended.${said}`,
      hint,
    })
  }
  const name = command.split('\n')[0]?.slice(0, 100) ?? ''
  return new BalletError({
    code: 'setup.failed',
    message: `The setup command (${name}) failed with exit code ${ended}.${said}`,
    hint,
  })
}

/** Both streams of the command in the order in which they came. */
class SetupOutput {
  readonly #callId: string
  readonly #mask: StreamMask
  readonly #tell: (signal: DriverSignal) => void
  #head = ''
  #tail = ''
  #cut = 0
  #shown = 0
  #isClosed = false

  constructor(callId: string, mask: StreamMask, tell: (signal: DriverSignal) => void) {
    this.#callId = callId
    this.#mask = mask
    this.#tell = tell
  }

  read(stream: NodeJS.ReadableStream): void {
    const decoder = new StringDecoder('utf8')
    stream.on('data', (chunk: Buffer) => this.#add(decoder.write(chunk)))
    stream.on('end', () => this.#add(decoder.end()))
    // A pipe that breaks is the command's end, which is seen elsewhere.
    stream.on('error', () => undefined)
  }

  /** What it left running may go on writing: that is read, and is no part of the result. */
  close(): void {
    this.#isClosed = true
  }

  text(): string {
    return this.#cut === 0
      ? this.#head + this.#tail
      : `${this.#head}\n… ${this.#cut} letters left out …\n${this.#tail}`
  }

  #add(text: string): void {
    if (text === '' || this.#isClosed) return
    this.#show(text)
    const room = KEPT_EACH - this.#head.length
    this.#head += text.slice(0, room)
    this.#tail += text.slice(room)
    const beyond = this.#tail.length - 2 * KEPT_EACH
    if (beyond <= 0) return
    // Cut rarely: each cut copies the tail.
    const drop = this.#tail.length - KEPT_EACH
    this.#tail = this.#tail.slice(drop)
    this.#cut += drop
  }

  #show(text: string): void {
    if (this.#shown >= LIVE_LIMIT) return
    const part = this.#mask.push(text)
    if (part === '') return
    const block = { block: this.#callId, kind: 'tool.output' as const, callId: this.#callId }
    this.#tell({ type: 'live', offset: this.#shown, block: { ...block, text: part } })
    this.#shown += part.length
  }
}
