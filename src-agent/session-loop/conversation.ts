import type { Delivery, ProcessIdentity, SessionGrant } from '../../src-shared/agent-wire.ts'
import type { DeliveryId, RequestId } from '../../src-shared/ids.ts'
import type { TurnEndReason } from '../../src-shared/timeline.ts'
import { within } from '../port/within.ts'
import type {
  Driver,
  DriverSignal,
  McpServerAddress,
  RequestAnswer,
  ResumeFacts,
} from '../runtimes/driver.ts'
import { refusalOf } from '../workspace/failure.ts'
import { asStep, driverSpecOf, type LoopContext, timed } from './context.ts'
import { Deliveries } from './deliveries.ts'
import { isWorkspaceThere } from './missing-workspace.ts'
import { RUNTIME_LIMITS, RuntimeKeeper } from './runtime-keeper.ts'
import { type CutFacts, cutOf, fateOf, type RuntimeLoss, tellsFirst } from './runtime-loss.ts'
import { TurnBook } from './turn-book.ts'

export type ConversationOptions = {
  context: LoopContext
  driver: Driver
  /** A runtime is up, or is gone. */
  onRuntime: () => void
  onLost: (loss: RuntimeLoss) => void
  /** A message waits and no runtime is there to take it. */
  onNeeded: () => void
  /** A message waits, and the workspace that the runtime is in is gone. */
  onNowhere: () => void
}

/**
 * The conversation of a session with its runtime: deliveries go in one at a time and only between turns, everything
 * that comes back goes to the timeline. While no runtime is up, deliveries wait.
 */
export class Conversation {
  readonly turns: TurnBook
  readonly #options: ConversationOptions
  readonly #keeper: RuntimeKeeper
  readonly #deliveries: Deliveries
  #id: string | null
  #grants: readonly SessionGrant[]
  #isUp = false
  #saidReady = false
  #version: string | null = null
  #interrupt: 'none' | 'wanted' | 'sent' = 'none'
  #cancelTurnLimit = () => {}
  #cancelInterruptLimit = () => {}
  #lastEnd: TurnEndReason | null = null
  /** What was cut when the runtime ended that was last up, until another one is. */
  #cut: CutFacts
  #turnEnded: (() => void)[] = []

  constructor(options: ConversationOptions) {
    this.#options = options
    const { spec, clock, outgoing, marker } = options.context
    const { resume } = spec
    this.#id = resume?.conversation ?? null
    this.#cut = cutOf(resume)
    this.#grants = spec.grants
    this.turns = new TurnBook(outgoing, () => clock.now(), {
      turn: resume?.turn ?? 0,
      costUsd: resume?.costUsd ?? 0,
      recorded: resume?.recorded ?? false,
    })
    const open = resume?.openDeliveries ?? []
    for (const { id, inputs } of open) this.turns.know(id, inputs)
    this.#deliveries = new Deliveries(open)
    this.#keeper = new RuntimeKeeper(options.driver, marker, clock, (signal) =>
      this.#onSignal(signal),
    )
  }

  /** The runtime's own id of it; null while it never began. */
  get id(): string | null {
    return this.#id
  }

  /** Of the runtime that was last up under this lease; null before the first. */
  get runtimeVersion(): string | null {
    return this.#version
  }

  get hasRuntime(): boolean {
    return this.#keeper.session !== null
  }

  /** Tells a call that the runtime made, in the order of what it tells itself. */
  call(tell: () => void): void {
    this.#keeper.call(tell)
  }

  async processes(): Promise<ProcessIdentity[]> {
    return this.#keeper.processes()
  }

  deliver(delivery: Delivery): void {
    if (!this.#deliveries.add(delivery)) return
    this.turns.know(delivery.id, delivery.inputs)
    this.pump()
  }

  /** Hands over the next delivery when the runtime is between turns, or one for the running turn. */
  pump(): void {
    if (!this.#isUp) {
      // Also for what became of a message that the last one had.
      if (!this.#deliveries.isEmpty || this.#deliveries.hasOpen) this.#options.onNeeded()
      return
    }
    // Of a turn that was cut the end of its runtime is told in a moment.
    if (this.#deliveries.isEmpty || this.#lastEnd === 'killed') return
    if (this.#deliveries.expectsTurn) return
    if (this.turns.isRunning) {
      const steered = this.#interrupt === 'none' ? this.#deliveries.takeSteer() : undefined
      if (steered !== undefined) void this.#steer(steered)
      return
    }
    if (!isWorkspaceThere(this.#options.context)) {
      this.#options.onNowhere()
      return
    }
    // Their turns are over: the runtime has them, whatever it said.
    for (const { id, steer } of this.#deliveries.takeOpen()) {
      this.turns.deliver(id, this.#options.context.clock.now(), steer)
    }
    const delivery = this.#deliveries.take()
    if (delivery !== undefined) void this.#send(delivery)
  }

  /** What a resume must know of the runtime that was last up, also under an earlier lease. */
  factsAfter(): ResumeFacts | null {
    if (this.#id === null) return null
    return {
      conversation: this.#id,
      openDeliveries: this.#deliveries.openForResume(),
      openCalls: [],
      turn: this.turns.turn,
      recorded: this.turns.isRecorded,
      ...this.#cut,
    }
  }

  /** Brings up the runtime and settles what was open. Call `go` then. Rejects with `BalletError`. */
  async launch(
    executable: string,
    facts: ResumeFacts | null,
    mcpServers: readonly McpServerAddress[],
  ): Promise<void> {
    const { context } = this.#options
    this.turns.beginRuntime()
    const spec = driverSpecOf(context, executable, { grants: this.#grants, mcpServers })
    const begin = () => this.#keeper.launch(spec, facts)
    const isRestored = context.spec.parked !== null && !this.#saidReady
    const step = isRestored ? 'prove' : 'conversation'
    const recovery = await (facts === null ? begin() : asStep(context.report, step, begin))
    const open = this.#deliveries.takeOpen()
    for (const { id } of open) {
      const fate = recovery.fates.get(id)
      if (fate !== 'delivered' && fate !== 'joined') continue
      this.turns.deliver(id, context.clock.now(), fate === 'joined')
    }
    this.turns.recover(recovery.signals)
    if (tellsFirst(recovery))
      this.giveBackAll('The runtime is told with it what it had not recorded.')
    for (const { id } of open) {
      if (this.turns.isDelivered(id)) continue
      // A conversation that never began holds nothing.
      const isNever = facts === null || recovery.fates.get(id) === 'never'
      this.#giveBack(id, ...fateOf(isNever))
    }
    this.#cut = cutOf(null)
  }

  /** A runtime of this lease was up once. */
  get wasReady(): boolean {
    return this.#saidReady
  }

  /** From now on deliveries go to the runtime. Says so the first time, and when the conversation is another one. */
  go(): void {
    const session = this.#keeper.session
    if (session === null) {
      const loss = this.#lossNow({ detail: 'It ended as soon as it had started.' })
      this.#options.onLost({ ...loss, wasBusy: true })
      return
    }
    this.#version = session.version
    if (!this.#saidReady || session.conversation !== this.#id) {
      this.#saidReady = true
      if (session.conversation !== this.#id) this.turns.beginConversation()
      this.#id = session.conversation
      const { conversation, version: runtimeVersion } = session
      timed(this.#options.context, { type: 'ready', conversation, runtimeVersion })
    }
    this.#isUp = true
    this.#options.onRuntime()
    this.pump()
  }

  interrupt(): void {
    if (!this.#isUp || this.#interrupt !== 'none') return
    if (this.turns.isRunning) this.#sendInterrupt()
    else if (this.#deliveries.expectsTurn) this.#interrupt = 'wanted'
  }

  /** Hands an answer to the runtime and tells whether it has it. `grants`: all of the session's by now. */
  answerRequest(
    request: RequestId,
    answer: RequestAnswer,
    grants: readonly SessionGrant[] = this.#grants,
  ): void {
    this.#grants = grants
    const { context } = this.#options
    const session = this.#keeper.session
    const answered =
      session?.answerRequest(request, answer) ??
      Promise.reject(new Error('the runtime does not run'))
    answered.then(
      () => timed(context, { type: 'request.answered', request }),
      (error: unknown) => {
        const reason = refusalOf(error, 'answering a request').message
        timed(context, { type: 'request.unanswered', request, reason })
      },
    )
  }

  /** Ends everything that the session started. Rejects with `processes.survived`. */
  async kill(): Promise<void> {
    this.#isUp = false
    await this.#keeper.kill()
  }

  /**
   * Ends the runtime for good, its turn first, which may take `limitMs`; nothing writes any more then. Rejects with
   * `processes.survived`.
   */
  async stop(
    reason: 'interrupted' | 'killed',
    limitMs: number = RUNTIME_LIMITS.interrupt,
  ): Promise<void> {
    this.#isUp = false
    if (reason === 'interrupted' && this.turns.isRunning) {
      const ended = new Promise<void>((resolve) => this.#turnEnded.push(resolve))
      this.#interrupt = 'sent'
      this.#keeper.session?.interrupt().catch(() => undefined)
      await within(this.#options.context.clock, limitMs, ended)
    }
    try {
      await this.#keeper.stop()
    } finally {
      // Also where the runtime did not say any more that it ended.
      if (this.turns.isRunning || this.#lastEnd === 'killed') this.#noteCut()
      this.#lastEnd = null
      this.#quieten()
      this.turns.settle({ reason })
    }
  }

  /** Tells that what waits was certainly not handed over. */
  giveBackAll(reason: string): void {
    for (const id of this.#deliveries.giveBack()) this.#giveBack(id, 'never', reason)
  }

  async #send(delivery: Delivery): Promise<void> {
    const isStillOpen = () => this.#deliveries.expects(delivery.id)
    this.#limitTurnStart()
    try {
      const answer = await this.#keeper.send(delivery)
      if (answer === 'unknown' && isStillOpen()) await this.#giveUp('it did not take a message')
    } catch (error) {
      if (!isStillOpen()) return
      this.#deliveries.drop(delivery.id)
      this.#giveBack(delivery.id, 'never', refusalOf(error, 'handing over a message').message)
      await this.#giveUp('it did not take a message')
    }
  }

  async #steer(delivery: Delivery): Promise<void> {
    try {
      const answer = await this.#keeper.steer(delivery)
      if (answer === 'unknown' && this.#deliveries.expects(delivery.id)) {
        await this.#giveUp('it did not take a message')
      }
    } catch (error) {
      if (!this.#deliveries.expects(delivery.id)) return
      this.#deliveries.drop(delivery.id)
      const { message } = refusalOf(error, 'handing over a message in a turn')
      this.#giveBack(delivery.id, 'never', message)
      if (this.#isUp) this.pump()
    }
  }

  #limitTurnStart(): void {
    this.#cancelTurnLimit()
    this.#cancelTurnLimit = this.#options.context.clock.after(RUNTIME_LIMITS.turnStart, () => {
      if (this.turns.isRunning || !this.#deliveries.expectsTurn) return
      void this.#giveUp('it began no turn for a message')
    })
  }

  #sendInterrupt(): void {
    const { clock, log } = this.#options.context
    this.#interrupt = 'sent'
    this.#cancelInterruptLimit = clock.after(RUNTIME_LIMITS.interrupt, () => {
      void this.#giveUp('it did not stop its turn')
    })
    this.#keeper.session?.interrupt().catch((error: unknown) => {
      log('warn', 'an interrupt failed', { why: refusalOf(error, 'interrupting').message })
    })
  }

  #onSignal(signal: DriverSignal): void {
    if (signal.type === 'exited') {
      const { detail, hint } = signal
      this.#onExited({ detail, ...(hint === undefined ? {} : { hint }) })
      return
    }
    if (signal.type === 'delivered') {
      for (const id of signal.deliveries) {
        this.turns.deliver(id, signal.at, this.#deliveries.hasJoined(id))
      }
      this.#deliveries.kept(signal.deliveries)
      return
    }
    this.turns.apply(signal)
    if (signal.type === 'turn.joined') {
      this.#deliveries.joined(signal.deliveries)
      if (this.#isUp) this.pump()
    }
    if (signal.type === 'withdrawn') {
      for (const id of signal.deliveries) {
        if (!this.#deliveries.expects(id)) continue
        this.#deliveries.drop(id)
        this.#giveBack(id, 'never', 'The turn was ended before it took the message.')
      }
    }
    if (signal.type === 'turn.started') {
      this.#lastEnd = null
      this.#deliveries.began(signal.deliveries)
      if (!this.#deliveries.expectsTurn) this.#cancelTurnLimit()
      if (this.#interrupt === 'wanted') this.#sendInterrupt()
      if (this.#isUp) this.pump()
    }
    if (signal.type === 'turn.ended') {
      this.#quieten()
      this.#lastEnd = signal.cut === true ? 'killed' : signal.reason
      if (this.#deliveries.expectsTurn) this.#limitTurnStart()
      if (this.#isUp) this.pump()
    }
  }

  /** Ends a runtime that does not answer, as if it had ended by itself. */
  async #giveUp(why: string): Promise<void> {
    if (!this.#isUp) return
    const loss = this.#lossNow({ detail: `The runtime was ended because ${why}.` })
    this.#isUp = false
    try {
      await this.#keeper.stop()
      this.#settle(loss)
      this.#options.onLost(loss)
    } catch (error) {
      this.#settle(loss)
      this.#options.onLost({ ...loss, survived: refusalOf(error, 'ending the runtime') })
    }
  }

  #onExited(said: Pick<RuntimeLoss, 'detail' | 'hint'>): void {
    const loss = this.#lossNow(said)
    const wasUp = this.#isUp
    this.#isUp = false
    this.#settle(loss)
    if (wasUp) this.#options.onLost(loss)
  }

  #lossNow(said: Pick<RuntimeLoss, 'detail' | 'hint'>): RuntimeLoss {
    return { ...said, wasBusy: this.#noteCut() || this.#deliveries.hasOpen }
  }

  #noteCut(): boolean {
    const turnCut = this.turns.isRunning || this.#lastEnd === 'killed'
    this.#cut = { turnCut, storedRefs: [...this.turns.refs], told: this.turns.told }
    return turnCut
  }

  #settle({ detail, hint }: RuntimeLoss): void {
    this.#options.onRuntime()
    const reason = this.#interrupt === 'sent' ? 'interrupted' : 'killed'
    this.turns.settle({ reason, detail, ...(hint === undefined ? {} : { hint }) })
    this.#lastEnd = null
    this.#quieten()
  }

  /** No limit runs for a turn or an interrupt any more. */
  #quieten(): void {
    this.#cancelTurnLimit()
    this.#cancelInterruptLimit()
    this.#interrupt = 'none'
    for (const resolve of this.#turnEnded.splice(0)) resolve()
  }

  #giveBack(delivery: DeliveryId, fate: 'never' | 'unknown', reason: string): void {
    if (fate === 'unknown') this.turns.mayBeRecorded()
    timed(this.#options.context, { type: 'undelivered', delivery, fate, reason })
    this.#deliveries.forget(delivery)
  }
}
