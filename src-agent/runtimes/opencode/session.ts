import { setTimeout as sleep } from 'node:timers/promises'
import type { Delivery, ProcessIdentity } from '../../../src-shared/agent-wire.ts'
import type { Instant, RequestId } from '../../../src-shared/ids.ts'
import { BalletError } from '../../../src-shared/refusal.ts'
import { endTree, type Marker, processesWith } from '../../process-tree/index.ts'
import type { DriverSignal, RequestAnswer, RuntimeSession } from '../driver.ts'
import { notWritten } from '../failures.ts'
import { TurnTools } from '../turn-tools.ts'
import { isCertainlyNotTaken, whyOf } from './client.ts'
import type { ConversationApi } from './conversation-api.ts'
import { deliveryOf } from './handed-over.ts'
import type { Model } from './message.ts'
import type { Normalizer } from './normalize.ts'
import { PermissionDesk } from './permission-desk.ts'
import type { Grants } from './permission-rules.ts'
import type { OpencodeServer } from './server.ts'
import type { DecodedEvent, RuntimeEvent } from './wire.ts'

export type SessionOptions = {
  conversation: string
  version: string
  server: OpencodeServer
  api: ConversationApi
  marker: Marker
  model: Model | null
  grants: Grants
  normalizer: Normalizer
  closeEvents: () => void
  onSignal: (signal: DriverSignal) => void
  now: () => Instant
  newRequestId: () => RequestId
}

/** How long a written message may take to be in the record. */
const BEGIN_LIMIT_MS = 60_000
const INTERRUPT_END_MS = 3_000
/** The record tells the end of a turn a moment after the server says that nothing runs. */
const SETTLE_MS = 1_000
/** A message for the running turn that came a moment too late begins one by itself, or never. */
const TAKEN_MS = 1_500
/** When, between two turns, the processes are noted that an interrupt of the next one must leave. */
const HELPERS_AFTER_MS = 250
const STOP_TURN_MS = 1_000
const END_TREE = { graceMs: 1_000, limitMs: 10_000 }
const END_SOON = { limitMs: 10_000 }
/** Longer than a person waits: the turn ends instead, and says when to go on. */
const LONGEST_RETRY_MS = 15 * 60_000
const GO_ON_HINT = 'Send a message: the same conversation goes on.'

/** One conversation of opencode, on a server of its own. */
export class OpencodeSession implements RuntimeSession {
  readonly conversation: string
  readonly version: string
  readonly #options: SessionOptions
  readonly #api: ConversationApi
  readonly #normalizer: Normalizer
  readonly #desk: PermissionDesk
  readonly #tools: TurnTools
  readonly #ended: Promise<void>
  #stopping: Promise<void> | null = null
  #sweeping: Promise<void> = Promise.resolve()
  #beginTimer: NodeJS.Timeout | undefined
  #settleTimer: NodeJS.Timeout | undefined
  #turnEnded: (() => void)[] = []

  constructor(options: SessionOptions) {
    this.#options = options
    this.#api = options.api
    this.#normalizer = options.normalizer
    this.conversation = options.conversation
    this.version = options.version
    this.#tools = new TurnTools(options.marker)
    const { api, normalizer, grants, now, newRequestId } = options
    this.#desk = new PermissionDesk({
      ...{ api, normalizer, grants, now, newRequestId },
      emit: (signals) => this.#emit(signals),
      giveUp: (what) => this.giveUp(what),
    })
    this.#ended = options.server.process.exited.then(() => this.#exited())
    void this.#rememberHelpers()
  }

  get #gone(): boolean {
    return this.#options.server.process.gone
  }

  async processes(): Promise<ProcessIdentity[]> {
    const found = await processesWith([this.#options.marker])
    const isServer = ({ pid }: ProcessIdentity) => pid === this.#options.server.process.pid
    return [...found.filter(isServer), ...found.filter((identity) => !isServer(identity))]
  }

  async send(delivery: Delivery): Promise<void> {
    await this.#sweeping
    if (this.#gone || this.#stopping !== null)
      throw notWritten('opencode', 'it does not run any more')
    const { handedOver } = this.#normalizer
    if (this.#normalizer.turnRuns || handedOver.isAny)
      throw notWritten('opencode', 'a turn is running')
    handedOver.expect(delivery.id)
    this.#limitBegin()
    try {
      await this.#api.prompt(this.conversation, delivery, this.#options.model)
    } catch (error) {
      // Where it is not certain, the record tells: a turn begins, or the limit passes.
      if (handedOver.expected !== delivery.id || !isCertainlyNotTaken(error)) return
      clearTimeout(this.#beginTimer)
      handedOver.expect(null)
      throw notWritten('opencode', whyOf(error))
    }
  }

  async steer(delivery: Delivery): Promise<void> {
    const { handedOver } = this.#normalizer
    if (this.#gone || this.#stopping !== null)
      throw notWritten('opencode', 'it does not run any more')
    if (!this.#normalizer.turnRuns) throw notWritten('opencode', 'no turn is running')
    if (this.#normalizer.isInterrupting) throw notWritten('opencode', 'the turn is being ended')
    if (handedOver.isAny) throw notWritten('opencode', 'it has not taken the message before it yet')
    handedOver.steer(delivery.id)
    try {
      await this.#api.prompt(this.conversation, delivery, this.#options.model)
    } catch (error) {
      if (handedOver.steered?.message !== null || !isCertainlyNotTaken(error)) return
      handedOver.steer(null)
      throw notWritten('opencode', whyOf(error))
    }
  }

  async interrupt(): Promise<void> {
    if (this.#gone || !this.#normalizer.turnRuns) return
    this.#normalizer.interrupting()
    this.#sweeping = this.#sweepTools()
    await this.#endTurn()
    await this.#sweeping
  }

  answerRequest(request: RequestId, answer: RequestAnswer): Promise<void> {
    return this.#desk.answer(request, answer)
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    if (!this.#gone && this.#normalizer.turnRuns) {
      this.#normalizer.interrupting()
      this.#normalizer.endTurnAs({ reason: 'interrupted' })
      const ended = this.#nextTurnEnd()
      // A server that does not answer is ended below.
      await this.#api.abort(this.conversation).catch(() => undefined)
      await Promise.race([ended, sleep(STOP_TURN_MS)])
    }
    await endTree([this.#options.marker], END_TREE)
    await this.#ended
  }

  /** Tells what its start found out and people must know. */
  tell(level: 'warning' | 'error', code: string, text: string): void {
    if (!this.#gone) this.#emit([this.#normalizer.notice(this.#options.now(), level, code, text)])
  }

  take(decoded: Exclude<DecodedEvent, { kind: 'silent' }>, text: string): void {
    const at = this.#options.now()
    if (decoded.kind === 'event') this.#event(decoded.event, at)
    else if (decoded.kind === 'unknown')
      this.#emit(this.#normalizer.strange.unknown(decoded.type, at))
    else this.#emit(this.#normalizer.strange.garbage(text, at))
  }

  takeOversized(head: string, bytes: number): void {
    this.#emit(this.#normalizer.strange.oversized(head, bytes, this.#options.now()))
  }

  /** Reads what happened while no events came. */
  async catchUp(): Promise<void> {
    if (!this.#normalizer.turnRuns && !this.#normalizer.handedOver.isAny) return
    const isBusy = await this.#api.isBusy(this.conversation)
    const read = new Set<string>()
    // What a subagent did comes before what the call of it gave; that of one that only the record names, after it.
    const next = () => [...this.#normalizer.children, this.conversation].find((id) => !read.has(id))
    for (let id = next(); id !== undefined; id = next()) {
      read.add(id)
      this.#emit(this.#normalizer.catchUp(await this.#api.messages(id), this.#options.now()))
    }
    if (!isBusy) this.#emit(this.#normalizer.nothingRuns(this.#options.now()))
    for (const prompt of await this.#api.prompts()) {
      if (this.#normalizer.turnRuns) this.#desk.asked(prompt)
    }
  }

  /** Nothing more is heard of it: it is ended, as if it had ended by itself. */
  async giveUp(what: string): Promise<void> {
    if (this.#gone || this.#stopping !== null) return
    this.tell('warning', 'runtime.hung', `opencode ${what}, so it was ended.`)
    try {
      await endTree([this.#options.marker], { ...END_SOON, freezesOldest: true })
    } catch (error) {
      this.#tellSurvivors(error)
    }
    await this.#ended
  }

  #event(event: RuntimeEvent, at: Instant): void {
    switch (event.type) {
      case 'permission.asked':
        this.#desk.asked(event.properties)
        return
      case 'permission.replied':
        this.#desk.replied(event.properties.requestID)
        return
      default:
        this.#emit(this.#normalizer.event(event, at))
        this.#desk.look()
        if (event.type === 'session.status') this.#watchRetry(event.properties, at)
        this.#watchEnd()
    }
  }

  #emit(signals: readonly DriverSignal[]): void {
    for (const signal of signals) {
      if (signal.type === 'turn.started') clearTimeout(this.#beginTimer)
      if (signal.type === 'turn.ended') this.#desk.clear()
      this.#options.onSignal(signal)
      if (signal.type === 'turn.ended') this.#afterTurn()
    }
  }

  #afterTurn(): void {
    clearTimeout(this.#settleTimer)
    this.#settleTimer = undefined
    for (const resolve of this.#turnEnded.splice(0)) resolve()
    if (this.#normalizer.handedOver.steered !== null) void this.#takeBackSteered()
    // Reading every process of the machine must not delay a message that follows at once.
    setTimeout(() => {
      if (!this.#gone && !this.#normalizer.turnRuns) void this.#rememberHelpers()
    }, HELPERS_AFTER_MS).unref()
  }

  /** What no turn took stays in the record, and would go to the model with the next message. */
  async #takeBackSteered(): Promise<void> {
    const { handedOver } = this.#normalizer
    const steered = handedOver.steered
    if (steered === null) return
    await sleep(TAKEN_MS)
    if (this.#gone || handedOver.steered !== steered) return
    try {
      const messages = await this.#api.messages(this.conversation)
      const kept = messages.find(({ parts }) =>
        parts.some((part) => deliveryOf(part) === steered.delivery),
      )
      if (handedOver.steered !== steered) return
      if (kept !== undefined) await this.#api.removeMessage(this.conversation, kept.info.id)
      if (handedOver.steered !== steered) return
      handedOver.steer(null)
      const deliveries = [steered.delivery]
      this.#emit([{ type: 'withdrawn', at: this.#options.now(), deliveries }])
    } catch (error) {
      await this.giveUp(`did not say what became of a message (${whyOf(error)})`)
    }
  }

  /** A provider may say "try again tomorrow", and opencode would wait. */
  #watchRetry(
    said: {
      sessionID: string
      status: { next?: number | undefined; message?: string | undefined }
    },
    at: Instant,
  ): void {
    const { next, message = '' } = said.status
    if (next === undefined || !this.#normalizer.owns(said.sessionID)) return
    if (!this.#normalizer.turnRuns || next - Date.parse(at) < LONGEST_RETRY_MS) return
    const until = new Date(next).toISOString()
    this.#normalizer.endTurnAs({
      reason: 'limit',
      detail: message,
      hint: `The provider takes no request until ${until}: send a message after that, or use another login.`,
    })
    void this.#endTurn()
  }

  /** Where the server says that nothing runs and the answer is not over, the record decides. */
  #watchEnd(): void {
    if (!this.#normalizer.waitsForEnd || this.#settleTimer !== undefined) return
    this.#settleTimer = setTimeout(() => {
      this.#settleTimer = undefined
      void this.#settle()
    }, SETTLE_MS)
  }

  async #settle(): Promise<void> {
    if (this.#gone || !this.#normalizer.waitsForEnd) return
    try {
      if (await this.#api.isBusy(this.conversation)) return
      await this.catchUp()
      if (this.#normalizer.waitsForEnd) {
        this.#emit(this.#normalizer.settleTurn(this.#options.now()))
      }
    } catch (error) {
      await this.giveUp(`did not say whether its turn is over (${whyOf(error)})`)
    }
  }

  #limitBegin(): void {
    clearTimeout(this.#beginTimer)
    this.#beginTimer = setTimeout(
      () => void this.giveUp('did not begin a turn for the message'),
      BEGIN_LIMIT_MS,
    )
  }

  /** Asks the server to end the running turn; one that does not is ended itself. */
  async #endTurn(): Promise<void> {
    const ended = this.#nextTurnEnd()
    try {
      await this.#api.abort(this.conversation)
    } catch (error) {
      await this.giveUp(`did not answer an interrupt (${whyOf(error)})`)
      return
    }
    const inTime = await Promise.race([ended.then(() => true), sleep(INTERRUPT_END_MS, false)])
    if (!inTime) await this.giveUp('did not end the turn after an interrupt')
  }

  /** Resolves at the end of the turn, or of the server. */
  #nextTurnEnd(): Promise<void> {
    if (!this.#normalizer.turnRuns) return Promise.resolve()
    const ended = new Promise<void>((resolve) => this.#turnEnded.push(resolve))
    return Promise.race([ended, this.#ended])
  }

  async #sweepTools(): Promise<void> {
    try {
      await this.#tools.sweep(() => this.#gone || !this.#normalizer.turnRuns)
    } catch (error) {
      this.#tellSurvivors(error)
    }
  }

  async #rememberHelpers(): Promise<void> {
    try {
      await this.#tools.rememberHelpers()
    } catch (error) {
      this.#tellSurvivors(error)
    }
  }

  #tellSurvivors(error: unknown): void {
    const isOurs = error instanceof BalletError
    const code = isOurs ? error.code : 'processes.unknown'
    const text = isOurs ? error.message : `The processes could not be read: ${whyOf(error)}`
    this.tell('error', code, text)
  }

  async #exited(): Promise<void> {
    const { now, onSignal, marker, server, closeEvents } = this.#options
    clearTimeout(this.#beginTimer)
    clearTimeout(this.#settleTimer)
    this.#desk.clear()
    closeEvents()
    const detail = await server.describeEnd()
    for (const signal of this.#normalizer.died(now(), detail, GO_ON_HINT)) onSignal(signal)
    let survivors = ''
    try {
      await endTree([marker], END_SOON)
    } catch (error) {
      survivors = ` ${whyOf(error)}`
    }
    for (const resolve of this.#turnEnded.splice(0)) resolve()
    onSignal({
      type: 'exited',
      at: now(),
      expected: this.#stopping !== null,
      detail: `${detail}${survivors}`,
      ...(this.#stopping === null ? { hint: GO_ON_HINT } : {}),
    })
  }
}
