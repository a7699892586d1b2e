import type { Instant } from '../../../src-shared/ids.ts'
import type { FileDiff, ToolStatus } from '../../../src-shared/timeline.ts'
import { cutText } from '../cut-text.ts'
import { diffOf, diffOfNewFile, diffOfRawOutput } from '../diffs.ts'
import type { DriverEvent, DriverSignal } from '../driver.ts'
import type { SecretMask } from '../mask-secrets.ts'
import {
  type CallName,
  callTitle,
  exitCodeOf,
  nameOf,
  rawText,
  readTodos,
  toolKindOf,
} from './call-facts.ts'
import { LiveOutput } from './live-text.ts'
import { contentText, type ToolCallUpdate, type ToolContent } from './updates.ts'

export type Call = CallName & {
  id: string
  kind: string | null
  title: string | null
  status: string
  input: unknown
  rawOutput: unknown
  path: string | null
  content: readonly ToolContent[]
  /** What a permission prompt showed of the change, which is of the whole file. */
  promised: readonly FileDiff[]
  isTold: boolean
  startedAt: number
  live: LiveOutput
  /** The turn was being interrupted while it ran. */
  wasInterrupted: boolean
}

/** The calls of one agent, from their changes in pieces to one event of the call and one of its result. */
export class CallBook {
  readonly #cwd: string
  readonly #mask: SecretMask
  readonly #servers: readonly string[]
  readonly #outputOf: (terminal: string) => string
  readonly #open = new Map<string, Call>()
  /** Their results were told; agents repeat themselves. */
  readonly #over = new Set<string>()

  constructor(options: {
    cwd: string
    mask: SecretMask
    servers: readonly string[]
    /** What a terminal has printed so far; empty for one that is not there. */
    outputOf: (terminal: string) => string
  }) {
    this.#cwd = options.cwd
    this.#mask = options.mask
    this.#servers = options.servers
    this.#outputOf = options.outputOf
  }

  isOpen(id: string): boolean {
    return this.#open.has(id)
  }

  /** Takes a change of a call; null for one that is over. */
  change(update: ToolCallUpdate, at: Instant): Call | null {
    if (this.#over.has(update.toolCallId)) return null
    const call = this.#open.get(update.toolCallId) ?? this.#begin(update, at)
    call.title = update.title ?? call.title
    call.kind = update.kind ?? call.kind
    call.status = update.status ?? call.status
    call.content = update.content ?? call.content
    call.path = update.locations?.[0]?.path ?? call.path
    if (update.rawInput !== undefined && update.rawInput !== null) call.input = update.rawInput
    if (update.rawOutput !== undefined && update.rawOutput !== null) {
      call.rawOutput = update.rawOutput
    }
    return call
  }

  /** Takes what a permission prompt says of a call: its facts while the call was not told yet, and the change it makes. */
  asked(update: ToolCallUpdate, at: Instant): Call {
    const open = this.#open.get(update.toolCallId)
    // The prompt's own view of the call, which may be another one, must not replace what was told.
    const { content, status: _, ...facts } = update
    const isTold = open?.isTold === true
    const call = open !== undefined && isTold ? open : this.change(facts, at)
    const known = call ?? this.#begin(update, at)
    known.promised = diffsOfContent(content ?? [], this.#cwd)
    return known
  }

  /** What there is to tell of a call now: the call itself, its output so far, its result. */
  tell(call: Call, at: Instant): DriverSignal[] {
    const isOver = call.status === 'completed' || call.status === 'failed'
    const signals = isOver || this.#isReady(call) ? this.tellCall(call, at) : []
    if (!isOver) {
      return call.isTold ? [...signals, ...call.live.become(this.#output(call))] : signals
    }
    return [...signals, this.#result(call, at, this.#status(call))]
  }

  /** The event of the call itself, once. */
  tellCall(call: Call, at: Instant): DriverSignal[] {
    if (call.isTold) return []
    call.isTold = true
    const input = cutText(this.#mask.mask(JSON.stringify(call.input ?? {})))
    const event: DriverEvent = {
      kind: 'tool.call',
      callId: call.id,
      name: call.name,
      toolKind: toolKindOf(call.kind, call.isMcp),
      title: this.#mask.mask(callTitle(call, this.#cwd)),
      input: input.text,
      ref: `call:${call.id}`,
      ...(input.blob === undefined ? {} : { inputBlob: input.blob.id }),
    }
    const told = signal(at, event, input.blob)
    const todos = readTodos(call.input)
    if (todos === null) return [told]
    const items = todos.map((item) => ({ ...item, text: this.#mask.mask(item.text) }))
    return [told, signal(at, { kind: 'todo', items, ref: `todo:${call.id}` })]
  }

  /** The output that grew in a terminal which a call shows. */
  grew(terminal: string): DriverSignal[] {
    const shows = (call: Call) => call.content.some(({ terminalId }) => terminalId === terminal)
    const call = [...this.#open.values()].find(shows)
    return call?.isTold === true ? call.live.become(this.#output(call)) : []
  }

  interrupting(): void {
    for (const call of this.#open.values()) call.wasInterrupted = true
  }

  /** Closes what will get no result. */
  settle(at: Instant, status: ToolStatus): DriverSignal[] {
    return [...this.#open.values()].flatMap((call) => [
      ...this.tellCall(call, at),
      this.#result(call, at, status),
    ])
  }

  #begin(update: ToolCallUpdate, at: Instant): Call {
    const call: Call = {
      ...nameOf(update, this.#servers),
      id: update.toolCallId,
      kind: null,
      title: null,
      status: 'pending',
      input: null,
      rawOutput: null,
      path: null,
      content: [],
      promised: [],
      isTold: false,
      startedAt: Date.parse(at),
      live: new LiveOutput(update.toolCallId, this.#mask),
      wasInterrupted: false,
    }
    this.#open.set(call.id, call)
    return call
  }

  /** Some agents tell a call by its name first, and a moment later with what it does. */
  #isReady(call: Call): boolean {
    return call.status !== 'pending' || (call.title !== null && call.title !== call.name)
  }

  #status(call: Call): ToolStatus {
    if (call.wasInterrupted) return 'cancelled'
    if (call.status === 'failed') return 'error'
    const isCommand = toolKindOf(call.kind, call.isMcp) === 'execute'
    const code = isCommand ? exitCodeOf(call.rawOutput) : null
    return code === null || code === 0 ? 'ok' : 'error'
  }

  #result(call: Call, at: Instant, status: ToolStatus): DriverSignal {
    this.#open.delete(call.id)
    this.#over.add(call.id)
    const whole = this.#mask.mask(this.#output(call))
    const { text, blob } = cutText(whole)
    const diff = status === 'ok' ? this.#diff(call) : []
    const event: DriverEvent = {
      kind: 'tool.result',
      callId: call.id,
      status,
      output: text,
      outputBytes: Buffer.byteLength(whole),
      durationMs: Math.max(0, Date.parse(at) - call.startedAt),
      ref: `result:${call.id}`,
      ...(blob === undefined ? {} : { outputBlob: blob.id }),
      ...(diff.length === 0 ? {} : { diff }),
    }
    return signal(at, event, blob)
  }

  #output(call: Call): string {
    const parts = call.content.flatMap((part) => {
      if (part.type === 'terminal') return this.#outputOf(part.terminalId ?? '')
      if (part.type === 'diff') return []
      return part.content === undefined ? [] : contentText(part.content)
    })
    const text = parts.filter((part) => part !== '').join('\n')
    return text === '' ? rawText(call.rawOutput) : text
  }

  #diff(call: Call): FileDiff[] {
    const raw = diffOfRawOutput(call.rawOutput, call.path, this.#cwd)
    const made = diffOfNewFile(call.input, call.rawOutput, call.path, this.#cwd)
    const told = diffsOfContent(call.content, this.#cwd)
    const single = raw ?? made
    const best = single !== null ? [single] : call.promised.length > 0 ? call.promised : told
    return best.map((file) => ({ ...file, patch: this.#mask.mask(file.patch) }))
  }
}

export function signal(
  at: Instant,
  event: DriverEvent,
  blob?: ReturnType<typeof cutText>['blob'],
): DriverSignal {
  return { type: 'event', at, event, ...(blob === undefined ? {} : { blobs: [blob] }) }
}

/** The changes that the content of a call tells, each with both texts. */
function diffsOfContent(content: readonly ToolContent[], cwd: string): FileDiff[] {
  return content.flatMap((part) => {
    if (part.type !== 'diff' || typeof part.path !== 'string') return []
    if (typeof part.newText !== 'string') return []
    return diffOf(part.path, part.oldText ?? '', part.newText, cwd) ?? []
  })
}
