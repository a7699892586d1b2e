import type { DeliveryId, Instant } from '../../../src-shared/ids.ts'
import type { TurnEndReason } from '../../../src-shared/timeline.ts'
import type { DriverSignal } from '../driver.ts'
import type { SecretMask } from '../mask-secrets.ts'
import { endByDeath, type TurnEnd } from '../turn-end.ts'
import { EntryMaker, signal } from './entries.ts'
import { deliveryOf, HandedOver } from './handed-over.ts'
import { PartBook } from './part-book.ts'
import { Spending } from './spending.ts'
import { Strange } from './strange.ts'
import { turnEndOf } from './turn-end.ts'
import type {
  MessageInfo,
  Part,
  RuntimeError,
  RuntimeEvent,
  Status,
  StoredMessage,
} from './wire.ts'

type Turn = {
  startedAt: number
  /** When the message was made that began it, by the server's clock: nothing of the turn is older. */
  since: number
  /** Set when the driver or a person ends it. */
  ended: TurnEnd | null
  interrupting: boolean
  /** The server says that nothing runs; what it says last may come after that. */
  isIdle: boolean
  /** The answers of the model so far that are not over. */
  open: Set<string>
  answers: number
  error: RuntimeError | undefined
}

const CALLS_AFTER: Readonly<Record<TurnEndReason, 'cancelled' | 'unknown'>> = {
  completed: 'unknown',
  interrupted: 'cancelled',
  failed: 'unknown',
  limit: 'unknown',
  killed: 'unknown',
}

/** Permission prompts are the session's own business. */
type TimelineEvent = Exclude<RuntimeEvent, { type: 'permission.asked' | 'permission.replied' }>

/** Turns the events of one server into signals. Pure: the same events at the same times give the same signals. */
export class Normalizer {
  readonly #conversation: string
  readonly #entries: EntryMaker
  readonly #parts: PartBook
  readonly #messages = new Map<string, MessageInfo>()
  /** Sessions of subagents, with the call that each belongs to. */
  readonly #children = new Map<string, string | undefined>()
  readonly #openTasks = new Map<string, string>()
  #turn: Turn | null = null
  readonly strange: Strange
  readonly spending = new Spending()
  readonly handedOver = new HandedOver()

  constructor(options: {
    conversation: string
    cwd: string
    mask: SecretMask
    servers: readonly string[]
  }) {
    this.#conversation = options.conversation
    this.#entries = new EntryMaker(options.cwd, options.mask, options.servers)
    this.#parts = new PartBook(this.#entries, options.mask)
    this.strange = new Strange(this.#entries)
  }

  get turnRuns(): boolean {
    return this.#turn !== null
  }

  get isInterrupting(): boolean {
    return this.#turn?.interrupting === true
  }

  /** The server says that nothing runs, and the turn is not over by what it has told. */
  get waitsForEnd(): boolean {
    return this.#turn?.isIdle === true
  }

  get children(): readonly string[] {
    return [...this.#children.keys()]
  }

  owns(session: string): boolean {
    return session === this.#conversation || this.#children.has(session)
  }

  parentOf(session: string): string | undefined {
    return session === this.#conversation ? undefined : this.#children.get(session)
  }

  callOf(callId: string | undefined): { callId: string; name: string; input: unknown } | undefined {
    const part = callId === undefined ? undefined : this.#parts.callOf(callId)
    return part === undefined ? undefined : this.#entries.callOf(part)
  }

  request(name: string, input: unknown): ReturnType<EntryMaker['request']> {
    return this.#entries.request(name, input)
  }

  mask(text: string): string {
    return this.#entries.mask(text)
  }

  interrupting(): void {
    if (this.#turn !== null) this.#turn.interrupting = true
  }

  /** The running turn is being ended for this reason, whatever the server will say. */
  endTurnAs(end: TurnEnd): void {
    if (this.#turn !== null) this.#turn.ended ??= end
  }

  event(event: TimelineEvent, at: Instant): DriverSignal[] {
    switch (event.type) {
      case 'session.created': {
        const { info } = event.properties
        const isOwn = info.parentID !== undefined && this.owns(info.parentID)
        if (isOwn && !this.#children.has(info.id)) this.#children.set(info.id, this.#newestTask())
        return []
      }
      case 'session.status':
        return this.#status(event.properties.sessionID, event.properties.status, at)
      case 'session.idle':
        return this.#idle(event.properties.sessionID, at)
      case 'session.error':
        return this.#error(event.properties.sessionID, event.properties.error)
      case 'session.compacted':
        return this.#isMain(event.properties.sessionID)
          ? [
              this.#notice(
                at,
                'info',
                'compaction',
                'The conversation was summarised to make room.',
              ),
            ]
          : []
      case 'message.updated':
        return this.#message(event.properties.info, at)
      case 'message.part.updated':
        return this.#part(event.properties.part, at)
      case 'message.part.delta': {
        const { field, partID, delta } = event.properties
        return field === 'text' ? this.#parts.append(partID, delta) : []
      }
    }
  }

  /**
   * What the record of the conversation, or of a subagent's, holds by now, after events were missed. The turn goes on,
   * whatever is over in it: `nothingRuns` ends it.
   */
  catchUp(messages: readonly StoredMessage[], at: Instant): DriverSignal[] {
    if (this.#turn !== null) this.#turn.isIdle = false
    const signals: DriverSignal[] = []
    for (const message of messages) {
      const { info, parts } = message
      if (this.#messages.get(info.id)?.time.completed !== undefined) continue
      if (!this.#isOfTurn(message)) continue
      const begun = { ...info, time: { ...info.time, completed: undefined } }
      signals.push(...this.#message(begun, at))
      for (const part of parts) signals.push(...this.#part(part, at))
      signals.push(...this.#message(info, at))
    }
    return signals
  }

  /** The server said, when it was asked, that nothing runs; the record was read after that. */
  nothingRuns(at: Instant): DriverSignal[] {
    return this.#idle(this.#conversation, at)
  }

  /** Of the turn that runs or begins: the record holds the whole conversation, also that of an earlier process. */
  #isOfTurn({ info, parts }: StoredMessage): boolean {
    if (this.#turn !== null) return (info.time.created ?? 0) >= this.#turn.since
    const { expected, steered } = this.handedOver
    if (info.role !== 'user') return steered !== null && steered.message === info.parentID
    const delivery = parts.map(deliveryOf).find((each) => each !== undefined)
    return delivery !== undefined && (delivery === expected || delivery === steered?.delivery)
  }

  /** Nothing more comes of a turn that the server says is over. */
  settleTurn(at: Instant): DriverSignal[] {
    return this.#turn === null ? [] : this.#endTurn(this.#turn, at)
  }

  /** The server is gone: settles what is open, and ends the running turn. */
  died(at: Instant, detail: string, hint: string): DriverSignal[] {
    const turn = this.#turn
    if (turn === null) return []
    const settled = this.#parts.settle(at, 'unknown')
    turn.ended = endByDeath(turn, { detail, hint })
    return [...settled, ...this.#endTurn(turn, at)]
  }

  notice(
    at: Instant,
    level: 'info' | 'warning' | 'error',
    code: string,
    text: string,
  ): DriverSignal {
    return this.#notice(at, level, code, text)
  }

  #notice(at: Instant, level: 'info' | 'warning' | 'error', code: string, text: string) {
    return this.#entries.notice(at, level, code, text)
  }

  #isMain(session: string): boolean {
    return session === this.#conversation
  }

  #newestTask(): string | undefined {
    return [...this.#openTasks.keys()].at(-1)
  }

  #status(session: string, status: Status, at: Instant): DriverSignal[] {
    if (!this.owns(session)) return []
    if (status.type === 'idle') return this.#idle(session, at)
    if (status.type === 'busy') {
      if (this.#isMain(session) && this.#turn !== null) this.#turn.isIdle = false
      return []
    }
    if (status.type !== 'retry') return this.strange.unknown(`session.status/${status.type}`, at)
    const { attempt = 1, message = 'no answer', next } = status
    const delay =
      next === undefined ? 0 : Math.max(0, Math.round((next - Date.parse(at)) / 100) / 10)
    const text = `The model provider failed (${message}). Attempt ${attempt + 1} follows in ${delay} s.`
    return [
      ...this.#parts.drop(session),
      this.#entries.notice(at, 'warning', 'model.retry', text, this.parentOf(session)),
    ]
  }

  #idle(session: string, at: Instant): DriverSignal[] {
    const turn = this.#turn
    if (!this.#isMain(session) || turn === null) return []
    turn.isIdle = true
    return this.#endIfOver(turn, at)
  }

  /** Not always the end: the conversation may be summarised, and the turn goes on. The end says which one counted. */
  #error(session: string | undefined, error: RuntimeError | undefined): DriverSignal[] {
    if (this.#turn === null || error === undefined) return []
    if (session !== undefined && !this.#isMain(session)) return []
    this.#turn.error = error
    return []
  }

  #message(info: MessageInfo, at: Instant): DriverSignal[] {
    if (!this.owns(info.sessionID)) return []
    const isFirst = !this.#messages.has(info.id)
    this.#messages.set(info.id, info)
    if (info.role !== 'assistant') return []
    const isMain = this.#isMain(info.sessionID)
    const signals = isMain && isFirst ? this.#answerBegins(info, at) : []
    const turn = this.#turn
    if (turn === null) return signals
    this.spending.answer(info, isMain)
    if (!isMain) return signals
    const isOver = info.time.completed !== undefined || info.error !== undefined
    if (!isOver) {
      turn.open.add(info.id)
      if (isFirst) turn.isIdle = false
      return signals
    }
    turn.open.delete(info.id)
    // What a later answer of the same turn got right was no failure of the turn.
    turn.error = info.error
    return [...signals, ...this.#endIfOver(turn, at)]
  }

  /** The model answers a message: that which was handed over for the running turn may be the one. */
  #answerBegins(info: MessageInfo, at: Instant): DriverSignal[] {
    const { steered } = this.handedOver
    const isSteered = steered?.message !== null && steered?.message === info.parentID
    const signals: DriverSignal[] = []
    if (isSteered && steered !== null) {
      this.handedOver.steer(null)
      const deliveries = [steered.delivery]
      if (this.#turn !== null) signals.push({ type: 'turn.joined', at, deliveries })
      else signals.push(...this.#begin(deliveries, info, at))
      signals.push({ type: 'delivered', at, deliveries })
    } else if (this.#turn === null) {
      // It goes on by itself, such as after a summary.
      if (info.time.completed !== undefined) return []
      signals.push(...this.#begin([], info, at))
    }
    if (this.#turn !== null) this.#turn.answers += 1
    return signals
  }

  #part(part: Part, at: Instant): DriverSignal[] {
    if (!this.owns(part.sessionID)) return []
    const message = this.#messages.get(part.messageID)
    if (message?.role === 'user') return this.#userPart(part, message, at)
    if (message === undefined || this.#turn === null) return []
    this.#followTask(part)
    const cut = this.isInterrupting && part.time?.end !== undefined
    return this.#parts.update(part, at, this.parentOf(part.sessionID), cut)
  }

  /** The record has a message that was handed over. */
  #userPart(part: Part, message: MessageInfo, at: Instant): DriverSignal[] {
    const delivery = deliveryOf(part)
    if (delivery === undefined || !this.#isMain(part.sessionID)) return []
    const { expected, steered } = this.handedOver
    if (delivery === expected) {
      this.handedOver.expect(null)
      const deliveries = [expected]
      return [...this.#begin(deliveries, message, at), { type: 'delivered', at, deliveries }]
    }
    if (delivery === steered?.delivery && steered.message === null) {
      this.handedOver.steeredAs(part.messageID)
      return []
    }
    return []
  }

  /** A call of a subagent names the session in which that works. */
  #followTask(part: Part): void {
    if (part.tool !== 'task' || part.callID === undefined) return
    const status = part.state?.status
    if (status === 'completed' || status === 'error') this.#openTasks.delete(part.callID)
    else this.#openTasks.set(part.callID, part.id)
    const child = part.state?.metadata?.sessionId ?? part.state?.metadata?.sessionID
    if (typeof child === 'string') this.#children.set(child, part.callID)
  }

  #begin(deliveries: DeliveryId[], by: MessageInfo, at: Instant): DriverSignal[] {
    this.#turn = {
      startedAt: Date.parse(at),
      since: by.time.created ?? Date.parse(at),
      ended: null,
      interrupting: false,
      isIdle: false,
      open: new Set(),
      answers: 0,
      error: undefined,
    }
    return [{ type: 'turn.started', at, deliveries }]
  }

  /** An early or a stray word that nothing runs ends nothing: an answer of this turn must be over too. */
  #endIfOver(turn: Turn, at: Instant): DriverSignal[] {
    const isOver = turn.isIdle && turn.open.size === 0 && turn.answers > 0
    return isOver && this.#turn === turn ? this.#endTurn(turn, at) : []
  }

  #endTurn(turn: Turn, at: Instant): DriverSignal[] {
    const end =
      turn.ended ?? (turn.interrupting ? { reason: 'interrupted' as const } : turnEndOf(turn.error))
    const settled = this.#parts.settle(at, CALLS_AFTER[end.reason])
    const spent = this.spending.turnEnded()
    this.#turn = null
    this.#openTasks.clear()
    const masked = end.detail === undefined ? end : { ...end, detail: this.mask(end.detail) }
    return [
      ...settled,
      signal(at, { kind: 'cost', ...this.spending.total, ...this.spending.context }),
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
