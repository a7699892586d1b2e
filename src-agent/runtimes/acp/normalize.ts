import type { DeliveryId, Instant } from '../../../src-shared/ids.ts'
import { assertNever } from '../../../src-shared/refusal.ts'
import type { TurnEndReason } from '../../../src-shared/timeline.ts'
import { cutText } from '../cut-text.ts'
import type { DriverEvent, DriverSignal } from '../driver.ts'
import type { SecretMask } from '../mask-secrets.ts'
import { NO_USAGE } from '../no-usage.ts'
import { endByDeath, type TurnEnd } from '../turn-end.ts'
import { type Call, CallBook, signal } from './call-book.ts'
import { todoOf } from './call-facts.ts'
import { LiveText, type TextKind } from './live-text.ts'
import type { Strange } from './message-stream.ts'
import { type Modes, modeName } from './modes.ts'
import { contentText, readUpdate, type ToolCallUpdate, type Update } from './updates.ts'

/** So many things of one agent that cannot be read are told. */
const STRANGE_TOLD = 50

/** What becomes of calls without a result. */
const CALLS_AFTER: Readonly<Record<TurnEndReason, 'cancelled' | 'unknown'>> = {
  completed: 'unknown',
  interrupted: 'cancelled',
  failed: 'unknown',
  limit: 'unknown',
  killed: 'unknown',
}

type Level = Extract<DriverEvent, { kind: 'notice' }>['level']

type Turn = {
  startedAt: number
  interrupting: boolean
  /** Not told yet that the agent has the message. */
  undelivered: readonly DeliveryId[]
}

export type NormalizerOptions = {
  /** What people call the agent. */
  title: string
  cwd: string
  mask: SecretMask
  /** Names of the servers of MCP that the agent was given. */
  servers: readonly string[]
  /** Of this process alone: names what the agent gives no name. */
  scope: string
  outputOf: (terminal: string) => string
}

/** Turns the updates of one agent process into signals. Pure: the same updates at the same times give the same signals. */
export class Normalizer {
  readonly calls: CallBook
  readonly #options: NormalizerOptions
  readonly #unknown = new Set<string>()
  #strange = 0
  #turn: Turn | null = null
  #turns = 0
  #text: LiveText | null = null
  /** Blocks so far of each message, and of all that have no name. */
  readonly #blocks = new Map<string, number>()
  /**
   * US dollars that the agent says the conversation cost, and what that was when this process and the turn began; null
   * while nobody knows what was spent before.
   */
  #cost: { said: number; before: number; atTurn: number } | null = { said: 0, before: 0, atTurn: 0 }
  #context: { contextTokens?: number; contextWindow?: number } = {}
  #modes: Modes | null = null

  constructor(options: NormalizerOptions) {
    this.#options = options
    this.calls = new CallBook(options)
  }

  get turnRuns(): boolean {
    return this.#turn !== null
  }

  get isInterrupting(): boolean {
    return this.#turn?.interrupting === true
  }

  /** The agent gave no sign yet that it has the message of the running turn. */
  get isUnanswered(): boolean {
    return (this.#turn?.undelivered.length ?? 0) > 0
  }

  /** The modes of the conversation as it was opened; null for an agent that has none. */
  openedIn(modes: Modes | null): void {
    this.#modes = modes
  }

  begin(delivery: DeliveryId, at: Instant): DriverSignal[] {
    this.#turn = { startedAt: Date.parse(at), interrupting: false, undelivered: [delivery] }
    if (this.#cost !== null) this.#cost.atTurn = this.#cost.said
    return [{ type: 'turn.started', at, deliveries: [delivery] }]
  }

  interrupting(): void {
    if (this.#turn === null) return
    this.#turn.interrupting = true
    this.calls.interrupting()
  }

  /** A turn that an earlier process began is told again. */
  recall(at: Instant): DriverSignal[] {
    this.#turn = { startedAt: Date.parse(at), interrupting: false, undelivered: [] }
    return []
  }

  /**
   * The conversation was loaded: what earlier processes spent on it is told already. `refs` are those of its last turn.
   * Without a figure in them the first one that the agent tells counts as spent before.
   */
  loaded(refs: readonly string[]): void {
    const said = refs.flatMap((ref) => /^cost:([0-9.e-]+):/.exec(ref)?.[1] ?? []).at(-1)
    const costUsd = said === undefined ? Number.NaN : Number(said)
    this.#cost = Number.isFinite(costUsd)
      ? { said: costUsd, before: costUsd, atTurn: costUsd }
      : null
  }

  /** The `params` of a `session/update`. */
  update(params: unknown, at: Instant): DriverSignal[] {
    const read = readUpdate(params)
    if ('unknown' in read) return this.strange({ kind: 'unknown', what: read.unknown }, at)
    const { update } = read
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#chunk('assistant.text', update, at)
      case 'agent_thought_chunk':
        return this.#chunk('assistant.thinking', update, at)
      case 'user_message_chunk':
        return this.#endText(at)
      case 'tool_call':
      case 'tool_call_update':
        return this.#call(update, at)
      case 'plan': {
        const items = update.entries.map((entry) => ({
          ...todoOf({ content: this.mask(entry.content), status: entry.status ?? null }),
        }))
        return [...this.#endText(at), ...this.#delivered(at), signal(at, { kind: 'todo', items })]
      }
      case 'usage_update':
        this.#usage(update)
        return []
      case 'notice': {
        const text = [update.title, update.description].filter(Boolean).join(': ')
        return text === '' ? [] : [this.notice(at, levelOf(update.severity), 'acp.notice', text)]
      }
      case 'compaction_update':
        return update.status === 'completed'
          ? [this.notice(at, 'info', 'compaction', 'The conversation was summarised to make room.')]
          : []
      case 'current_mode_update':
        return this.#mode(update.currentModeId ?? null, at)
      case 'compaction_summary_chunk':
      case 'available_commands_update':
      case 'config_option_update':
      case 'session_info_update':
        return []
      default:
        return assertNever(update)
    }
  }

  /** The agent asks before a call, whose facts it may tell only now; null when no turn runs. */
  asked(update: ToolCallUpdate, at: Instant): { call: Call; signals: DriverSignal[] } | null {
    if (this.#turn === null) return null
    const call = this.calls.asked(update, at)
    const before = [...this.#delivered(at), ...this.#endText(at)]
    return { call, signals: [...before, ...this.calls.tellCall(call, at)] }
  }

  /** The turn is over. */
  ended(end: TurnEnd, at: Instant): DriverSignal[] {
    const turn = this.#turn
    if (turn === null) return []
    const delivered = end.reason === 'completed' ? this.#delivered(at) : []
    const settled = [...this.#endText(at, turn.interrupting || end.reason !== 'completed')]
    settled.push(...this.calls.settle(at, CALLS_AFTER[end.reason]))
    this.#turn = null
    const { detail } = end
    const said = this.#cost?.said ?? 0
    const spentSince = (begin = said) => Math.max(0, said - begin)
    return [
      ...delivered,
      ...settled,
      signal(at, {
        kind: 'cost',
        usage: NO_USAGE,
        costUsd: spentSince(this.#cost?.before),
        ...this.#context,
        ...this.#costRef(),
      }),
      {
        type: 'turn.ended',
        at,
        ...end,
        ...(detail === undefined ? {} : { detail: this.mask(detail) }),
        durationMs: Math.max(0, Date.parse(at) - turn.startedAt),
        usage: NO_USAGE,
        costUsd: spentSince(this.#cost?.atTurn),
      },
    ]
  }

  /** The agent is gone: settles what is open, and ends the running turn. */
  died(detail: string, hint: string, at: Instant): DriverSignal[] {
    const interrupting = this.isInterrupting
    return this.ended(endByDeath({ ended: null, interrupting }, { detail, hint }), at)
  }

  /** What is no message that Ballet can use: told, each unknown kind once, and not without end. */
  strange(strange: Strange, at: Instant): DriverSignal[] {
    const { title } = this.#options
    switch (strange.kind) {
      case 'garbage': {
        const text = `${title} printed a line that is not JSON: ${strange.text.slice(0, 1_000)}`
        return this.#tellStrange(at, 'warning', 'runtime.garbage', text)
      }
      case 'oversized': {
        const text = `${title} printed a line of ${strange.bytes} bytes, which is too long and was left out. It begins: ${strange.head}`
        return this.#tellStrange(at, 'warning', 'runtime.oversized', text)
      }
      case 'unknown': {
        if (this.#unknown.has(strange.what)) return []
        this.#unknown.add(strange.what)
        const what = strange.what.slice(0, 200)
        const text = `${title} sent something of a kind that Ballet does not know: ${what}`
        return this.#tellStrange(at, 'info', 'runtime.unknown', text)
      }
    }
  }

  /** An event that the session makes itself, with secrets masked. */
  notice(at: Instant, level: Level, code: string, whole: string): DriverSignal {
    const { text, blob } = cutText(this.mask(whole))
    const cut = blob === undefined ? {} : { textBlob: blob.id }
    return signal(at, { kind: 'notice', level, code, text, ...cut }, blob)
  }

  /** One of many that may come of the same agent, which must not fill the timeline. */
  refused(at: Instant, code: string, text: string): DriverSignal[] {
    return this.#tellStrange(at, 'warning', code, text)
  }

  mask(text: string): string {
    return this.#options.mask.mask(text)
  }

  #tellStrange(at: Instant, level: Level, code: string, text: string): DriverSignal[] {
    this.#strange += 1
    if (this.#strange <= STRANGE_TOLD) return [this.notice(at, level, code, text)]
    if (this.#strange > STRANGE_TOLD + 1) return []
    const more = `${this.#options.title} sent ${STRANGE_TOLD} things that Ballet cannot use; what more of them come is not shown.`
    return [this.notice(at, 'warning', 'runtime.strange', more)]
  }

  #chunk(
    kind: TextKind,
    update: Extract<Update, { sessionUpdate: 'agent_message_chunk' | 'agent_thought_chunk' }>,
    at: Instant,
  ): DriverSignal[] {
    const piece = contentText(update.content)
    if (this.#turn === null) {
      const text = `${this.#options.title} said something outside of a turn: ${piece}`
      return piece.trim() === '' ? [] : this.#tellStrange(at, 'info', 'acp.outside-turn', text)
    }
    const message = update.messageId ?? null
    const signals = this.#delivered(at)
    const isSame = this.#text?.kind === kind && this.#text.message === message
    if (!isSame) {
      signals.push(...this.#endText(at))
      this.#text = new LiveText(kind, this.#nextBlock(message), message, this.#options.mask)
    }
    return [...signals, ...(this.#text?.append(piece) ?? [])]
  }

  /** The same one for the same block of a message that the agent names, also when it tells it again. */
  #nextBlock(message: string | null): string {
    const owner = message ?? this.#options.scope
    const number = (this.#blocks.get(owner) ?? 0) + 1
    this.#blocks.set(owner, number)
    return `${owner}:${number}`
  }

  #endText(at: Instant, isCut = false): DriverSignal[] {
    const block = this.#text
    this.#text = null
    if (block === null) return []
    if (block.text.trim() === '') return [{ type: 'live.gone', block: block.id }]
    const { text, blob } = cutText(this.mask(block.text))
    const event: DriverEvent = {
      kind: block.kind,
      text,
      block: block.id,
      ...(block.message === null ? {} : { ref: `text:${block.id}` }),
      ...(blob === undefined ? {} : { textBlob: blob.id }),
      ...(isCut ? { partial: true } : {}),
    }
    return [signal(at, event, blob)]
  }

  #call(
    update: Extract<Update, { sessionUpdate: 'tool_call' | 'tool_call_update' }>,
    at: Instant,
  ): DriverSignal[] {
    // Of a turn that is over: its calls are settled.
    if (this.#turn === null) return []
    const call = this.calls.change(update, at)
    if (call === null) return []
    return [...this.#delivered(at), ...this.#endText(at), ...this.calls.tell(call, at)]
  }

  /** For the next process: what the conversation cost so far, under a name that no other event has. */
  #costRef(): { ref?: string } {
    if (this.#cost === null) return {}
    this.#turns += 1
    return { ref: `cost:${this.#cost.said}:${this.#options.scope}-${this.#turns}` }
  }

  #mode(id: string | null, at: Instant): DriverSignal[] {
    if (id === null || id === this.#modes?.current) return []
    this.#modes = { offered: this.#modes?.offered ?? [], current: id }
    const text = `${this.#options.title} is in its mode “${modeName(this.#modes, id)}”.`
    return [this.notice(at, 'info', 'acp.mode', text)]
  }

  #usage(update: Extract<Update, { sessionUpdate: 'usage_update' }>): void {
    if (update.cost?.currency === 'USD') {
      const { amount } = update.cost
      if (this.#cost === null) this.#cost = { said: amount, before: amount, atTurn: amount }
      else this.#cost.said = amount
    }
    // A turn that failed before the model answered tells 0.
    if ((update.used ?? 0) > 0) this.#context.contextTokens = Math.round(update.used ?? 0)
    if ((update.size ?? 0) > 0) this.#context.contextWindow = Math.round(update.size ?? 0)
  }

  /** The agent answers to the message, so it has it. */
  #delivered(at: Instant): DriverSignal[] {
    const deliveries = this.#turn?.undelivered ?? []
    if (this.#turn === null || deliveries.length === 0) return []
    this.#turn.undelivered = []
    return [{ type: 'delivered', at, deliveries }]
  }
}

function levelOf(severity: string | null | undefined): Level {
  return severity === 'error' || severity === 'warning' ? severity : 'info'
}
