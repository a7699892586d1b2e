import type { DeliveryId, Instant } from '../../../src-shared/ids.ts'
import { assertNever } from '../../../src-shared/refusal.ts'
import type { TurnEndReason } from '../../../src-shared/timeline.ts'
import type { DriverSignal } from '../driver.ts'
import type { SecretMask } from '../mask-secrets.ts'
import { endByDeath, type TurnEnd } from '../turn-end.ts'
import {
  EntryMaker,
  isCall,
  isResult,
  parentOf,
  refOf,
  resultStatus,
  shownText,
  signal,
} from './entries.ts'
import { HandedOver } from './handed-over.ts'
import type {
  AssistantLine,
  ControlCancelLine,
  ControlRequestLine,
  ControlResponseLine,
  LifecycleLine,
  Line,
  RateLimitLine,
  ResultLine,
  StreamLine,
  SystemLine,
  UserLine,
} from './lines.ts'
import { LiveBlocks } from './live-blocks.ts'
import { type Notice, notice, noticeOfSystem, rateLimitNotice, resetsAt } from './notices.ts'
import { Spending } from './spending.ts'
import { turnEndOf } from './turn-end.ts'

/** The lines that make the timeline; control messages are the session's own business. */
export type TimelineLine = Exclude<
  Line,
  ControlRequestLine | ControlResponseLine | ControlCancelLine
>

/** So many lines of one runtime that cannot be read are told. */
const STRANGE_TOLD = 50

type Turn = {
  startedAt: number
  /** Set when the driver or a person ends it. */
  ended: TurnEnd | null
  interrupting: boolean
  limitUntil: string | null | undefined
}

/** What becomes of calls without a result; after a completed turn only a subagent in the background has some. */
const CALLS_AFTER: Readonly<Record<TurnEndReason, 'cancelled' | 'unknown' | null>> = {
  completed: null,
  interrupted: 'cancelled',
  failed: 'unknown',
  limit: 'unknown',
  killed: 'unknown',
}

/** Turns the lines of one runtime process into signals. Pure: the same lines at the same times give the same signals. */
export class Normalizer {
  readonly #entries: EntryMaker
  readonly #blocks: LiveBlocks
  readonly #spending = new Spending()
  /** Calls without a result, with the time of the call. */
  readonly #openCalls = new Map<string, { at: number; parent: string | undefined }>()
  readonly #unknownTypes = new Set<string>()
  /** How many lines that cannot be read were told. */
  #strange = 0
  #lastRateLimit = ''
  #turn: Turn | null = null
  readonly handedOver = new HandedOver()

  constructor(options: { cwd: string; mask: SecretMask }) {
    this.#entries = new EntryMaker(options.cwd, options.mask)
    this.#blocks = new LiveBlocks(options.mask)
  }

  get turnRuns(): boolean {
    return this.#turn !== null
  }

  /** The running turn is being ended by a person. */
  get isInterrupting(): boolean {
    return this.#turn?.interrupting === true
  }

  /** The running turn has taken what was written for it. */
  joined(delivery: DeliveryId, at: Instant): DriverSignal[] {
    return this.#turn === null ? [] : this.handedOver.told('turn.joined', delivery, at)
  }

  /** A person interrupts the turn, or the one that is about to begin. */
  interrupting(): void {
    if (this.#turn !== null) this.#turn.interrupting = true
    else if (this.handedOver.isAny) this.handedOver.interrupted = true
  }

  /** The running turn is being ended for this reason, whatever its result will say. */
  endTurnAs(end: TurnEnd): void {
    if (this.#turn !== null) this.#turn.ended ??= end
  }

  line(line: TimelineLine, at: Instant): DriverSignal[] {
    switch (line.type) {
      case 'assistant':
        return this.#assistant(line, at)
      case 'user':
        return this.#user(line, at)
      case 'stream_event':
        return this.#stream(line)
      case 'result':
        return this.#result(line, at)
      case 'system':
        return this.#system(line, at)
      case 'command_lifecycle':
        return this.#lifecycle(line, at)
      case 'rate_limit_event':
        return this.#rateLimit(line, at)
      default:
        return assertNever(line)
    }
  }

  /** A line that is JSON of a type that the driver does not know: told once for each type. */
  unknown(type: string, at: Instant): DriverSignal[] {
    if (this.#unknownTypes.has(type)) return []
    this.#unknownTypes.add(type)
    const text = `Claude Code printed a line of a kind that Ballet does not know: ${type.slice(0, 200)}`
    return this.#tellStrange(at, notice('info', 'runtime.unknown', text))
  }

  /** A line that is not JSON. */
  garbage(text: string, at: Instant): DriverSignal[] {
    const shown = `Claude Code printed a line that is not JSON: ${text.slice(0, 1_000)}`
    return this.#tellStrange(at, notice('warning', 'runtime.garbage', shown))
  }

  oversized(head: string, bytes: number, at: Instant): DriverSignal[] {
    const shown = `Claude Code printed a line of ${bytes} bytes, which is too long and was left out. It begins: ${head}`
    return this.#tellStrange(at, notice('warning', 'runtime.oversized', shown))
  }

  /** A program that prints something else for ever must not fill the timeline. */
  #tellStrange(at: Instant, made: Notice): DriverSignal[] {
    this.#strange += 1
    if (this.#strange <= STRANGE_TOLD) return [this.#entries.notice(at, made)]
    if (this.#strange > STRANGE_TOLD + 1) return []
    const text = `Claude Code printed ${STRANGE_TOLD} lines that Ballet cannot read; what more of them come is not shown.`
    return [this.#entries.notice(at, notice('warning', 'runtime.strange', text))]
  }

  /** The runtime is gone: settles what is open, and ends the running turn. */
  died(at: Instant, detail: string, hint: string): DriverSignal[] {
    const turn = this.#turn
    if (turn === null) return []
    const end = endByDeath(turn, { detail, hint })
    const settled = this.#settle(at, 'unknown')
    return [...settled, ...this.#endTurn(turn, at, end, this.#spending.turnCut())]
  }

  request(toolName: string, input: unknown): ReturnType<EntryMaker['request']> {
    return this.#entries.request(toolName, input)
  }

  /** An event that the session makes itself, with secrets masked. */
  notice(
    at: Instant,
    level: 'info' | 'warning' | 'error',
    code: string,
    text: string,
  ): DriverSignal {
    return this.#entries.notice(at, notice(level, code, text))
  }

  #lifecycle(line: LifecycleLine, at: Instant): DriverSignal[] {
    const progress = this.handedOver.progress(line)
    if (progress === 'begun') return this.#begins(line.command_uuid, at)
    const { steered } = this.handedOver
    if (progress !== 'cancelled' || steered === null) return []
    return this.handedOver.told('withdrawn', steered, at)
  }

  #begins(uuid: string | undefined, at: Instant): DriverSignal[] {
    const { steered } = this.handedOver
    if (!this.handedOver.isOf(uuid)) return []
    return uuid === steered && this.#turn !== null ? this.joined(steered, at) : this.#begin(at)
  }

  /** Begins the turn of the expected delivery, or one that the runtime began by itself. */
  #begin(at: Instant): DriverSignal[] {
    if (this.#turn !== null) return []
    const { deliveries, interrupted } = this.handedOver.begin()
    this.#turn = {
      startedAt: Date.parse(at),
      ended: null,
      interrupting: interrupted,
      limitUntil: undefined,
    }
    return [{ type: 'turn.started', at, deliveries }]
  }

  #assistant(line: AssistantLine, at: Instant): DriverSignal[] {
    const parent = parentOf(line)
    const signals = this.#begin(at)
    if (line.message.model === '<synthetic>') return [...signals, ...this.#synthetic(line, at)]
    if (parent === undefined) this.#spending.answered(line.message.model)
    // An answer that is fetched again in one piece has a name of its own.
    signals.push(...this.#blocks.begin(line.message.id, parent))
    for (const [index, block] of line.message.content.entries()) {
      const ref = refOf(line, index)
      const shown = shownText(block)
      const id = this.#blocks.finish(line.message.id, shown?.kind ?? null, parent)
      if (shown !== null) {
        const partial = line.aborted === true || this.#turn?.interrupting === true
        const fields = { kind: shown.kind, block: id, partial, parent, ref }
        signals.push(this.#entries.block(at, shown.text, fields))
      } else if (isCall(block)) {
        this.#openCalls.set(block.id, { at: Date.parse(at), parent })
        signals.push(...this.#entries.call(at, block, parent, ref))
      } else if (isResult(block)) {
        signals.push(this.#toolResult(block, at, { parent, ref, rejected: false }))
      }
    }
    return signals
  }

  /** What the runtime says in the model's place: for the main conversation the result repeats it. */
  #synthetic(line: AssistantLine, at: Instant): DriverSignal[] {
    const parent = parentOf(line)
    if (parent === undefined || line.error === undefined || line.error === null) return []
    const text = line.message.content.map((block) => block.text ?? '').join('\n')
    return [this.#entries.notice(at, notice('error', 'model.error', text), parent)]
  }

  #user(line: UserLine, at: Instant): DriverSignal[] {
    if (line.isReplay === true) return this.#begins(line.uuid, at)
    if (typeof line.message.content === 'string' || line.isSynthetic === true) return []
    const parent = parentOf(line)
    const signals: DriverSignal[] = []
    for (const [index, block] of line.message.content.entries()) {
      if (!isResult(block)) continue
      const meta = line.tool_result_meta?.find((entry) => entry.id === block.tool_use_id)
      const rejected = meta?.non_execution_kind === 'user-rejected'
      const structured = line.tool_use_result
      signals.push(
        this.#toolResult(block, at, { parent, ref: refOf(line, index), rejected, structured }),
      )
    }
    return signals
  }

  #toolResult(
    block: Parameters<EntryMaker['result']>[1],
    at: Instant,
    from: {
      parent: string | undefined
      ref: string | undefined
      rejected: boolean
      structured?: unknown
    },
  ): DriverSignal {
    const call = this.#openCalls.get(block.tool_use_id)
    this.#openCalls.delete(block.tool_use_id)
    return this.#entries.result(at, block, {
      status: resultStatus(block, from.rejected || this.#turn?.interrupting === true),
      structured: from.structured,
      durationMs: call === undefined ? undefined : Math.max(0, Date.parse(at) - call.at),
      parent: from.parent,
      ref: from.ref,
    })
  }

  #stream(line: StreamLine): DriverSignal[] {
    const { event } = line
    const parent = line.parent_tool_use_id ?? undefined
    switch (event.type) {
      case 'message_start':
        if (parent === undefined) this.#spending.answered(event.message?.model)
        return event.message === undefined ? [] : this.#blocks.begin(event.message.id, parent)
      case 'content_block_start': {
        const type = event.content_block?.type
        if (event.index !== undefined && (type === 'text' || type === 'thinking')) {
          const kind = type === 'text' ? 'assistant.text' : 'assistant.thinking'
          this.#blocks.open(event.index, kind, parent)
        }
        return []
      }
      case 'content_block_delta': {
        const piece = event.delta?.text ?? event.delta?.thinking ?? ''
        return event.index === undefined ? [] : this.#blocks.append(event.index, piece, parent)
      }
      case 'message_delta':
        if (parent === undefined && event.usage) this.#spending.answerEnded(event.usage)
        return []
      default:
        return []
    }
  }

  #system(line: SystemLine, at: Instant): DriverSignal[] {
    // An older runtime tells nothing else when a turn begins.
    if (line.subtype === 'init') return this.#begin(at)
    const made = noticeOfSystem(line)
    if (made === 'unknown') return this.unknown(`system/${line.subtype}`, at)
    const signals = made === null ? [] : [this.#entries.notice(at, made)]
    return line.subtype === 'api_retry' ? [...this.#blocks.drop(undefined), ...signals] : signals
  }

  #rateLimit(line: RateLimitLine, at: Instant): DriverSignal[] {
    const until = resetsAt(line)
    if (line.rate_limit_info.status === 'rejected' && this.#turn !== null) {
      this.#turn.limitUntil = until
    }
    const made = rateLimitNotice(line)
    const key = [line.rate_limit_info.status, line.rate_limit_info.rateLimitType, until].join()
    if (made === null || key === this.#lastRateLimit) return []
    this.#lastRateLimit = key
    return [this.#entries.notice(at, made)]
  }

  #result(line: ResultLine, at: Instant): DriverSignal[] {
    const spent = this.#spending.turnEnded(line)
    const turn = this.#turn
    if (turn === null) return []
    const end = turnEndOf(line, turn)
    const settled = this.#settle(at, CALLS_AFTER[end.reason])
    return [...settled, ...this.#endTurn(turn, at, end, spent)]
  }

  /** Keeps what unfinished blocks hold, and closes calls that will get no result. */
  #settle(at: Instant, status: 'cancelled' | 'unknown' | null): DriverSignal[] {
    const blocks = this.#blocks.cut().map((block): DriverSignal => {
      const { kind, id, parent } = block
      return block.text.trim() === ''
        ? { type: 'live.gone', block: id }
        : this.#entries.block(at, block.text, {
            kind,
            block: id,
            partial: true,
            parent,
            ref: undefined,
          })
    })
    if (status === null) return blocks
    const calls = [...this.#openCalls].map(([callId, call]) =>
      this.#entries.result(
        at,
        { type: 'tool_result', tool_use_id: callId },
        {
          status,
          structured: null,
          durationMs: Math.max(0, Date.parse(at) - call.at),
          parent: call.parent,
          ref: undefined,
        },
      ),
    )
    this.#openCalls.clear()
    return [...blocks, ...calls]
  }

  #endTurn(
    turn: Turn,
    at: Instant,
    end: TurnEnd,
    spent: { usage: Spending['total']['usage']; costUsd: number },
  ): DriverSignal[] {
    this.#turn = null
    const masked = {
      ...end,
      ...(end.detail === undefined ? {} : { detail: this.#entries.mask(end.detail) }),
    }
    return [
      signal(at, { kind: 'cost', ...this.#spending.total, ...this.#spending.context }),
      {
        type: 'turn.ended',
        at,
        durationMs: Math.max(0, Date.parse(at) - turn.startedAt),
        ...masked,
        ...spent,
      },
    ]
  }
}
