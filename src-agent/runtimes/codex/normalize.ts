import type { DeliveryId, Instant } from '../../../src-shared/ids.ts'
import type { ToolStatus, TurnEndReason } from '../../../src-shared/timeline.ts'
import type { DriverSignal } from '../driver.ts'
import type { SecretMask } from '../mask-secrets.ts'
import { endByDeath, type TurnEnd } from '../turn-end.ts'
import { EntryMaker, type Notice, signal } from './entries.ts'
import { readItem } from './items.ts'
import { LiveBlocks } from './live-blocks.ts'
import {
  isSilent,
  mcpNotice,
  rateLimitNotice,
  retryNotice,
  type Told,
  warningNotice,
} from './notices.ts'
import { readPlan } from './plan.ts'
import { DeltaNews, ErrorNews, type Item, ItemNews, TurnNews, UserMessage } from './protocol.ts'
import { Spending } from './spending.ts'
import { Strange } from './strange.ts'
import { errorInfo, turnEndOf } from './turn-end.ts'

type RunningTurn = {
  /** The server's own. */
  id: string
  startedAt: number
  /** Set when the driver or a person ends it. */
  ended: TurnEnd | null
  interrupting: boolean
  /** The server has ended it, and commands of it still run: their ends, with all they printed, come before its own. */
  held: TurnEnd | null
  /** How often the provider refused the login. */
  refusedLogins: number
}

/** What becomes of calls that still run when their turn is over. */
const CALLS_AFTER: Readonly<Record<TurnEndReason, ToolStatus>> = {
  // The model was told that the command goes on.
  completed: 'ok',
  interrupted: 'cancelled',
  failed: 'unknown',
  limit: 'unknown',
  killed: 'unknown',
}

export type NormalizerOptions = {
  cwd: string
  mask: SecretMask
  /** The thread's id: what other threads tell is left out. */
  conversation: string
  /** Ballet's own servers of MCP. */
  mcpServers: ReadonlySet<string>
}

/** Turns the notifications of one server into signals. Pure: the same ones at the same times give the same signals. */
export class Normalizer {
  readonly #options: NormalizerOptions
  readonly #entries: EntryMaker
  readonly #blocks: LiveBlocks
  readonly #spending = new Spending()
  /** Calls without a result, by the item's id. */
  readonly #openCalls = new Map<string, Item>()
  /** Calls that were told as over while they went on, and whether people should hear of their end. */
  readonly #leftCalls = new Map<string, boolean>()
  readonly #told = new Set<string>()
  readonly #strange = new Strange()
  #turn: RunningTurn | null = null
  /** Handed over to begin a turn, which did not begin yet. */
  #expected: DeliveryId | null = null
  /** Handed over for the running turn, which did not take it yet. */
  #steered: DeliveryId | null = null
  /** A person interrupts the turn that is about to begin. */
  #interruptsNext = false

  constructor(options: NormalizerOptions) {
    this.#options = options
    this.#entries = new EntryMaker(options.mask)
    this.#blocks = new LiveBlocks(options.mask)
  }

  get turnId(): string | null {
    return this.#turn?.id ?? null
  }

  get expected(): DeliveryId | null {
    return this.#expected
  }

  get steered(): DeliveryId | null {
    return this.#steered
  }

  get isInterrupting(): boolean {
    return this.#turn?.interrupting === true
  }

  /** The server has ended the turn, and commands of it may still run. */
  get isHeld(): boolean {
    return this.#turn !== null && this.#turn.held !== null
  }

  get refusedLogins(): number {
    return this.#turn?.refusedLogins ?? 0
  }

  /** The item of a call that runs or waits for permission. */
  call(itemId: string): Item | null {
    return this.#openCalls.get(itemId) ?? null
  }

  expect(delivery: DeliveryId | null): void {
    this.#expected = delivery
  }

  steer(delivery: DeliveryId | null): void {
    this.#steered = delivery
  }

  interrupting(): void {
    if (this.#turn !== null) this.#turn.interrupting = true
    else if (this.#expected !== null) this.#interruptsNext = true
  }

  /** The running turn is being ended for this reason, whatever the server will say. */
  endTurnAs(end: TurnEnd): void {
    if (this.#turn !== null) this.#turn.ended ??= end
  }

  notification(method: string, params: unknown, at: Instant): DriverSignal[] {
    if (this.#isOfAnother(params)) return []
    switch (method) {
      case 'turn/started':
        return this.#started(TurnNews.safeParse(params).data?.turn.id, at)
      case 'turn/completed':
        return this.#completed(params, at)
      case 'item/started':
        return this.#item(params, at, false)
      case 'item/completed':
        return this.#item(params, at, true)
      case 'item/agentMessage/delta':
        return this.#delta(params, 'assistant.text')
      case 'item/reasoning/summaryTextDelta':
        return this.#delta(params, 'assistant.thinking')
      case 'item/reasoning/summaryPartAdded':
        return this.#partAdded(params)
      case 'item/commandExecution/outputDelta':
        return this.#delta(params, 'tool.output')
      case 'turn/plan/updated':
        return this.#plan(params, at)
      case 'thread/tokenUsage/updated':
        this.#spending.counted(params)
        return []
      case 'error':
        return this.#error(params, at)
      case 'warning':
      case 'guardianWarning':
      case 'configWarning':
        return this.#once(warningNotice(params), at)
      case 'account/rateLimits/updated':
        return this.#once(rateLimitNotice(params), at)
      case 'mcpServer/startupStatus/updated':
        return this.#once(mcpNotice(params, this.#options.mcpServers), at)
      case 'model/rerouted':
        return this.#once(
          { level: 'warning', code: 'model.fallback', text: 'Another model answers instead.' },
          at,
        )
      default:
        return isSilent(method) ? [] : this.unknown(method, at)
    }
  }

  /** Something of a kind that the driver does not know. */
  unknown(what: string, at: Instant): DriverSignal[] {
    return this.#tell(this.#strange.unknown(what), at)
  }

  garbage(line: string, at: Instant): DriverSignal[] {
    return this.#tell(this.#strange.garbage(line), at)
  }

  oversized(head: string, bytes: number, at: Instant): DriverSignal[] {
    return this.#tell(this.#strange.oversized(head, bytes), at)
  }

  /** The server is gone: settles what is open, and ends the running turn. */
  died(at: Instant, detail: string, hint: string): DriverSignal[] {
    const turn = this.#turn
    if (turn === null) return []
    // Its record says whether it has it.
    this.#steered = null
    return this.#endTurn(turn, endByDeath(turn, { detail, hint }), at)
  }

  notice(at: Instant, level: Notice['level'], code: string, text: string): DriverSignal {
    return this.#entries.notice(at, level, code, text)
  }

  input(value: unknown): ReturnType<EntryMaker['input']> {
    return this.#entries.input(value)
  }

  mask(text: string): string {
    return this.#entries.mask(text)
  }

  /** Subagents have threads of their own; the item of the call that made them tells of them. */
  #isOfAnother(params: unknown): boolean {
    const thread: unknown =
      typeof params === 'object' && params !== null && 'threadId' in params ? params.threadId : null
    return typeof thread === 'string' && thread !== this.#options.conversation
  }

  #started(id: string | undefined, at: Instant): DriverSignal[] {
    if (id === undefined || this.#turn !== null) return []
    const deliveries = this.#expected === null ? [] : [this.#expected]
    this.#turn = {
      id,
      startedAt: Date.parse(at),
      ended: null,
      interrupting: this.#interruptsNext,
      held: null,
      refusedLogins: 0,
    }
    this.#expected = null
    this.#interruptsNext = false
    return [{ type: 'turn.started', at, deliveries }]
  }

  #completed(params: unknown, at: Instant): DriverSignal[] {
    const turn = TurnNews.safeParse(params).data?.turn
    if (turn === undefined || this.#turn === null || turn.id !== this.#turn.id) return []
    const end = turnEndOf(turn, this.#turn.ended)
    if (!this.#turn.interrupting || this.#openCalls.size === 0) {
      return this.#endTurn(this.#turn, end, at)
    }
    this.#turn.held = end
    return []
  }

  /** Nothing more will come of the commands of a turn that the server has ended. */
  release(at: Instant): DriverSignal[] {
    const turn = this.#turn
    return turn === null || turn.held === null ? [] : this.#endTurn(turn, turn.held, at)
  }

  #item(params: unknown, at: Instant, isOver: boolean): DriverSignal[] {
    const item = ItemNews.safeParse(params).data?.item
    if (item === undefined) return this.unknown('an item without a type', at)
    if (this.#leftCalls.has(item.id)) return isOver ? this.#leftCallEnded(item, at) : []
    const seen = readItem(item, this.#options.cwd)
    switch (seen.kind) {
      case 'unknown':
        return this.unknown(`an item ${item.type}`, at)
      case 'user':
        return isOver ? this.#joined(item, at) : []
      case 'compaction':
        return isOver ? this.#compacted(at) : []
      case 'text': {
        if (!isOver) return []
        this.#blocks.finish(item.id)
        const fields = { block: item.id, ref: item.id }
        const made = this.#entries.block(at, seen.block, seen.text, fields)
        return made === null ? [{ type: 'live.gone', block: item.id }] : [made]
      }
      case 'call': {
        const isNew = !this.#openCalls.has(item.id)
        const calls = isNew ? [this.#entries.call(at, item.id, seen.call)] : []
        this.#openCalls.set(item.id, item)
        if (!isOver) return calls
        this.#openCalls.delete(item.id)
        this.#blocks.finish(item.id)
        const result = seen.result ?? { status: 'unknown' as const, output: '' }
        const isCut = this.#turn?.interrupting === true && result.status !== 'ok'
        const shown = isCut ? { ...result, status: 'cancelled' as const } : result
        const rest = this.#openCalls.size === 0 ? this.release(at) : []
        return [...calls, this.#entries.result(at, item.id, shown), ...rest]
      }
      case 'silent':
        return []
    }
  }

  #compacted(at: Instant): DriverSignal[] {
    const text = 'The conversation was summarised to make room.'
    return [this.#entries.notice(at, 'info', 'compaction', text)]
  }

  /** A message that was handed over in the middle of the turn is in the conversation now. */
  #joined(item: Item, at: Instant): DriverSignal[] {
    const steered = this.#steered
    if (steered === null || UserMessage.safeParse(item).data?.clientId !== steered) return []
    this.#steered = null
    return [{ type: 'turn.joined', at, deliveries: [steered] }]
  }

  /** A command that outlived its turn is over. */
  #leftCallEnded(item: Item, at: Instant): DriverSignal[] {
    const isTold = this.#leftCalls.get(item.id) === true
    this.#leftCalls.delete(item.id)
    const seen = readItem(item, this.#options.cwd)
    if (!isTold || seen.kind !== 'call') return []
    const text = `What ran on in the background is over: ${seen.call.title}`
    return [this.#entries.notice(at, 'info', 'tool.ended', text)]
  }

  #delta(
    params: unknown,
    kind: 'assistant.text' | 'assistant.thinking' | 'tool.output',
  ): DriverSignal[] {
    const news = DeltaNews.safeParse(params).data
    if (news === undefined || this.#leftCalls.has(news.itemId)) return []
    return this.#blocks.append(news.itemId, kind, news.delta)
  }

  #partAdded(params: unknown): DriverSignal[] {
    const facts = params as { summaryIndex?: unknown; itemId?: unknown } | null
    if (typeof facts?.itemId !== 'string' || !(Number(facts.summaryIndex) > 0)) return []
    return this.#blocks.append(facts.itemId, 'assistant.thinking', '\n\n')
  }

  #plan(params: unknown, at: Instant): DriverSignal[] {
    const items = readPlan(params, (text) => this.mask(text))
    return items === null ? [] : [signal(at, { kind: 'todo', items })]
  }

  #error(params: unknown, at: Instant): DriverSignal[] {
    const news = ErrorNews.safeParse(params).data
    // An error without another attempt comes once more, as the end of the turn.
    if (news === undefined || !news.willRetry) return []
    if (this.#turn !== null && errorInfo(news.error).status === 401) this.#turn.refusedLogins += 1
    const { level, code, text } = retryNotice(news.error)
    const gone = this.#blocks
      .cut()
      .map(({ id }): DriverSignal => ({ type: 'live.gone', block: id }))
    return [...gone, this.#entries.notice(at, level, code, text)]
  }

  /** What is said again with every turn is told once. */
  #once(told: Told | null, at: Instant): DriverSignal[] {
    if (told === null || this.#told.has(told.text)) return []
    this.#told.add(told.text)
    return this.#tell(told, at)
  }

  #tell(told: Told | null, at: Instant): DriverSignal[] {
    if (told === null) return []
    return [this.#entries.notice(at, told.level, told.code, told.text)]
  }

  #endTurn(turn: RunningTurn, end: TurnEnd, at: Instant): DriverSignal[] {
    const signals: DriverSignal[] = []
    for (const { id, kind, text } of this.#blocks.cut()) {
      const made = this.#entries.block(at, kind, text, { block: id, partial: true })
      signals.push(made ?? { type: 'live.gone', block: id })
    }
    const status = CALLS_AFTER[end.reason]
    for (const id of this.#openCalls.keys()) {
      const isLeft = end.reason === 'completed'
      const output = this.#blocks.finish(id)
      const shown = isLeft ? `${output}\n[It goes on in the background.]`.trim() : output
      signals.push(this.#entries.unsettled(at, id, status, shown))
      this.#leftCalls.set(id, isLeft)
    }
    this.#openCalls.clear()
    // The server drops what an interrupted turn did not take, and ends no other turn before it took it.
    const withdrawn = this.#steered
    this.#steered = null
    if (withdrawn !== null) signals.push({ type: 'withdrawn', at, deliveries: [withdrawn] })
    this.#turn = null
    const usage = this.#spending.turnEnded()
    const detail = end.detail === undefined ? {} : { detail: this.#entries.mask(end.detail) }
    return [
      ...signals,
      signal(at, { kind: 'cost', costUsd: 0, ...this.#spending.total }),
      {
        type: 'turn.ended',
        at,
        durationMs: Math.max(0, Date.parse(at) - turn.startedAt),
        ...end,
        ...detail,
        usage,
        costUsd: 0,
      },
    ]
  }
}
