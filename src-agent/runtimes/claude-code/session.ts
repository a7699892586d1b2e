import { setTimeout as sleep } from 'node:timers/promises'
import type { z } from 'zod'
import type { Delivery, ProcessIdentity } from '../../../src-shared/agent-wire.ts'
import type { Instant, RequestId } from '../../../src-shared/ids.ts'
import { BalletError } from '../../../src-shared/refusal.ts'
import {
  endProcesses,
  endTree,
  identityKey,
  isRunning,
  type Marker,
  processesWith,
} from '../../process-tree/index.ts'
import type { DriverSignal, RequestAnswer, RuntimeSession } from '../driver.ts'
import { notWritten } from '../failures.ts'
import { describeExit, type Exit } from '../line-process.ts'
import type { SecretMask } from '../mask-secrets.ts'
import { DeliveryWatches, markTranscript, type TranscriptPlace } from './delivery-watch.ts'
import type { ControlRequestLine, Decoded, Line } from './lines.ts'
import { messageLine, takeBack } from './message.ts'
import { Normalizer } from './normalize.ts'
import { type Notice, retryAttempt } from './notices.ts'
import { PermissionRequests, unsupported } from './permission-requests.ts'
import type { ProcessHandlers, RuntimeProcess } from './runtime-process.ts'
import { LOG_IN_HINT } from './turn-end.ts'

export type SessionOptions = {
  process: RuntimeProcess
  marker: Marker
  place: TranscriptPlace
  version: string
  mask: SecretMask
  /** What came before this session and nobody told yet. */
  strays: readonly ((session: ProcessHandlers) => void)[]
  onSignal: (signal: DriverSignal) => void
  now: () => Instant
  newRequestId: () => RequestId
}

/** How long a written message may take to begin its turn. */
const BEGIN_LIMIT_MS = 60_000
const INTERRUPT_ANSWER_MS = 2_000
const INTERRUPT_END_MS = 3_000
/** How long the runtime may take to end its tools after an interrupt; what is left of a second is for ending them. */
const TOOLS_MS = 150
/** A refused login is tried once more by the runtime, since a token may just have been renewed. */
const LOGIN_ATTEMPTS = 2
/** When, between two turns, the processes are noted that an interrupt of the next one must leave. */
const HELPERS_AFTER_MS = 250
const STOP_TURN_MS = 1_000
const STOP_EXIT_MS = 1_000
const END_TREE = { graceMs: 1_000, limitMs: 10_000 }
const END_SOON = { limitMs: 10_000 }
const GO_ON_HINT = 'Send a message: the same conversation goes on.'

/** One conversation of Claude Code, held open between its turns. */
export class ClaudeCodeSession implements RuntimeSession {
  readonly conversation: string
  readonly version: string
  readonly #options: SessionOptions
  readonly #process: RuntimeProcess
  readonly #normalizer: Normalizer
  readonly #requests = new PermissionRequests()
  readonly #watches: DeliveryWatches
  #stopping: Promise<void> | null = null
  #sweeping: Promise<void> = Promise.resolve()
  /** Helpers of the runtime that ran before the turn; an interrupt leaves them. */
  #baseline = new Set<string>()
  #beginTimer: NodeJS.Timeout | null = null
  #turnEnded: (() => void)[] = []
  readonly #ended: Promise<void>

  constructor(options: SessionOptions) {
    this.#options = options
    this.#process = options.process
    this.conversation = options.place.conversation
    this.version = options.version
    this.#normalizer = new Normalizer({ cwd: options.place.cwd, mask: options.mask })
    this.#watches = new DeliveryWatches(options.place, {
      found: (delivery, how) => {
        const at = options.now()
        if (how === 'steered') this.#emit(this.#normalizer.joined(delivery, at))
        this.#emit([{ type: 'delivered', at, deliveries: [delivery] }])
      },
      unreadable: (text) =>
        this.#emit([this.#normalizer.notice(options.now(), 'warning', 'runtime.record', text)]),
    })
    const handlers: ProcessHandlers = {
      onLine: (decoded) => this.#line(decoded),
      onGarbage: (text) => this.#emit(this.#normalizer.garbage(text, options.now())),
      onOversized: (head, bytes) =>
        this.#emit(this.#normalizer.oversized(head, bytes, options.now())),
    }
    this.#process.handleWith(handlers)
    for (const tell of options.strays) tell(handlers)
    this.#ended = this.#process.exited.then((exit) => this.#exited(exit))
    void this.#rememberHelpers()
  }

  async processes(): Promise<ProcessIdentity[]> {
    const found = await processesWith([this.#options.marker])
    const own = found.filter((identity) => identity.pid === this.#process.pid)
    return [...own, ...found.filter((identity) => identity.pid !== this.#process.pid)]
  }

  async send(delivery: z.infer<typeof Delivery>): Promise<void> {
    await this.#sweeping
    if (this.#process.gone || this.#stopping !== null)
      throw notWritten('Claude Code', 'it does not run any more')
    if (this.#normalizer.turnRuns || this.#normalizer.handedOver.isAny) {
      throw notWritten('Claude Code', 'a turn is running')
    }
    const mark = await markTranscript(this.#options.place)
    this.#normalizer.handedOver.expect(delivery.id)
    try {
      await this.#process.write(messageLine(delivery))
    } catch (error) {
      this.#normalizer.handedOver.unexpect()
      throw notWritten('Claude Code', error instanceof Error ? error.message : String(error))
    }
    this.#watches.begin(delivery.id, mark)
    if (this.#normalizer.handedOver.isAny) this.#limitBegin()
  }

  async steer(delivery: z.infer<typeof Delivery>): Promise<void> {
    const mark = await markTranscript(this.#options.place)
    if (this.#process.gone || this.#stopping !== null)
      throw notWritten('Claude Code', 'it does not run any more')
    if (!this.#normalizer.turnRuns) throw notWritten('Claude Code', 'no turn is running')
    if (this.#normalizer.isInterrupting) throw notWritten('Claude Code', 'the turn is being ended')
    // It would join the two, and record only one of them under its own id.
    if (this.#normalizer.handedOver.isAny)
      throw notWritten('Claude Code', 'it has not taken the message before it yet')
    this.#normalizer.handedOver.steer(delivery.id)
    try {
      await this.#process.write({ ...messageLine(delivery), priority: 'next' })
    } catch (error) {
      this.#normalizer.handedOver.unsteer()
      throw notWritten('Claude Code', error instanceof Error ? error.message : String(error))
    }
    this.#watches.begin(delivery.id, mark)
  }

  #limitBegin(): void {
    this.#clearBeginTimer()
    this.#beginTimer = setTimeout(
      () => void this.#giveUp('did not begin a turn for the message'),
      BEGIN_LIMIT_MS,
    )
  }

  /** Else the runtime would begin a turn with it as soon as the running one is ended. */
  async #takeBackSteered(): Promise<void> {
    const { steered } = this.#normalizer.handedOver
    if (steered === null || !(await takeBack(this.#process, steered))) return
    this.#emit(this.#normalizer.handedOver.told('withdrawn', steered, this.#options.now()))
  }

  async interrupt(): Promise<void> {
    if (this.#process.gone) return
    if (!this.#normalizer.turnRuns && !this.#normalizer.handedOver.isAny) return
    this.#normalizer.interrupting()
    this.#sweeping = this.#sweepTools()
    await this.#takeBackSteered()
    await this.#endTurn()
    await this.#sweeping
  }

  async answerRequest(request: RequestId, answer: RequestAnswer): Promise<void> {
    const response = this.#requests.answer(request, answer)
    try {
      await this.#process.write(response)
    } catch (error) {
      throw notWritten('Claude Code', error instanceof Error ? error.message : String(error))
    }
  }

  /** Tells what its start found out and people must know. */
  tell(notices: readonly Notice[]): void {
    if (this.#process.gone) return
    for (const { level, code, text } of notices) {
      this.#emit([this.#normalizer.notice(this.#options.now(), level, code, text)])
    }
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    if (!this.#process.gone && this.#normalizer.turnRuns) {
      this.#normalizer.interrupting()
      this.#normalizer.endTurnAs({ reason: 'interrupted' })
      const ended = this.#nextTurnEnd()
      await this.#takeBackSteered()
      // A runtime that does not answer is ended below.
      await this.#process.control({ subtype: 'interrupt' }, STOP_TURN_MS).catch(() => undefined)
      await Promise.race([ended, sleep(STOP_TURN_MS)])
    }
    if (!this.#process.gone) {
      this.#process.closeInput()
      await Promise.race([this.#process.exited, sleep(STOP_EXIT_MS)])
    }
    await endTree([this.#options.marker], END_TREE)
    await this.#ended
  }

  #line(decoded: Exclude<Decoded, { kind: 'ignored' | 'garbage' }>): void {
    const at = this.#options.now()
    if (decoded.kind === 'unknown') {
      this.#emit(this.#normalizer.unknown(decoded.type, at))
      return
    }
    const { line } = decoded
    switch (line.type) {
      case 'control_request':
        this.#asked(line, at)
        return
      case 'control_cancel_request':
        this.#withdrawn(line.request_id, at)
        return
      case 'control_response':
        return
      default:
        this.#emit(this.#normalizer.line(line, at))
        this.#watchLogin(line)
    }
  }

  #emit(signals: readonly DriverSignal[]): void {
    for (const signal of signals) {
      if (signal.type === 'turn.started') this.#clearBeginTimer()
      if (signal.type === 'withdrawn') this.#watches.forget(signal.deliveries)
      this.#options.onSignal(signal)
      if (signal.type === 'turn.ended') this.#afterTurn()
    }
  }

  #afterTurn(): void {
    this.#requests.clear()
    this.#watches.turnOver(this.#normalizer.handedOver.steered)
    if (this.#normalizer.handedOver.steered !== null) this.#limitBegin()
    for (const resolve of this.#turnEnded.splice(0)) resolve()
    // Reading every process of the machine must not delay a message that follows at once.
    setTimeout(() => {
      if (!this.#process.gone && !this.#normalizer.turnRuns) void this.#rememberHelpers()
    }, HELPERS_AFTER_MS).unref()
  }

  #asked(line: ControlRequestLine, at: Instant): void {
    if (line.request.subtype !== 'can_use_tool' || line.request.tool_name === undefined) {
      void this.#process.write(unsupported(line)).catch(() => undefined)
      return
    }
    const { tool_name: name, input } = line.request
    const { newRequestId, mask } = this.#options
    const shown = this.#normalizer.request(name, input)
    this.#emit([this.#requests.add(newRequestId(), line, { at, name, shown, mask })])
  }

  #withdrawn(runtimeId: string, at: Instant): void {
    const request = this.#requests.withdraw(runtimeId)
    // A runtime that is ended withdraws all it asked; that is nobody's answer.
    if (request === null || this.#stopping !== null) return
    this.#emit([{ type: 'request.withdrawn', at, request }])
  }

  /** A refused login would be tried again for three minutes: the turn ends instead. */
  #watchLogin(line: Line): void {
    if (line.type !== 'system' || !this.#normalizer.turnRuns) return
    const retry = retryAttempt(line)
    if (retry?.status !== 401 || retry.attempt < LOGIN_ATTEMPTS) return
    this.#normalizer.endTurnAs({
      reason: 'failed',
      detail: 'The model provider refused the login (401).',
      hint: LOG_IN_HINT,
    })
    void this.#endTurn()
  }

  /** Asks the runtime to end the running turn; one that does not is ended itself. */
  async #endTurn(): Promise<void> {
    const begin = performance.now()
    const ended = this.#nextTurnEnd()
    try {
      await this.#process.control({ subtype: 'interrupt' }, INTERRUPT_ANSWER_MS)
    } catch {
      await this.#giveUp('did not answer an interrupt')
      return
    }
    if (!this.#normalizer.turnRuns && !this.#normalizer.handedOver.isAny) return
    const left = INTERRUPT_END_MS - (performance.now() - begin)
    const inTime = await Promise.race([ended.then(() => true), sleep(left, false)])
    if (!inTime) await this.#giveUp('did not end the turn after an interrupt')
  }

  /** Resolves at the end of the turn, or of the runtime. */
  #nextTurnEnd(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.#turnEnded.push(resolve))
    return Promise.race([ended, this.#ended])
  }

  async #giveUp(what: string): Promise<void> {
    if (this.#process.gone) return
    this.#emit([
      this.#normalizer.notice(
        this.#options.now(),
        'warning',
        'runtime.hung',
        `Claude Code ${what}, so it was ended.`,
      ),
    ])
    try {
      await endTree([this.#options.marker], { ...END_SOON, freezesOldest: true })
    } catch (error) {
      this.#tellSurvivors(error)
    }
    await this.#ended
  }

  /** Looks after an interrupt that no process of the turn's tools is left, and ends what is. */
  async #sweepTools(): Promise<void> {
    const begin = performance.now()
    // One that dropped its environment cannot be found any more when its parent is gone: what is seen now counts.
    const seen = await this.#strays()
    const left = async () => {
      const running = await Promise.all(seen.map(isRunning))
      return [...seen.filter((_, index) => running[index]), ...(await this.#strays())]
    }
    while (performance.now() - begin < TOOLS_MS) {
      if (this.#process.gone) return
      if (!this.#normalizer.turnRuns && (await left()).length === 0) return
      await sleep(25)
    }
    try {
      await endProcesses(left, END_SOON)
    } catch (error) {
      this.#tellSurvivors(error)
    }
  }

  async #strays(): Promise<ProcessIdentity[]> {
    const found = await processesWith([this.#options.marker])
    return found.filter(
      (identity) =>
        identity.pid !== this.#process.pid && !this.#baseline.has(identityKey(identity)),
    )
  }

  async #rememberHelpers(): Promise<void> {
    try {
      const found = await processesWith([this.#options.marker])
      this.#baseline = new Set(found.map(identityKey))
    } catch (error) {
      this.#tellSurvivors(error)
    }
  }

  #tellSurvivors(error: unknown): void {
    const { code, message } =
      error instanceof BalletError
        ? error
        : {
            code: 'processes.unknown',
            message: `The processes could not be read: ${String(error)}`,
          }
    this.#emit([this.#normalizer.notice(this.#options.now(), 'error', code, message)])
  }

  #clearBeginTimer(): void {
    if (this.#beginTimer !== null) clearTimeout(this.#beginTimer)
    this.#beginTimer = null
  }

  async #exited(exit: Exit): Promise<void> {
    const { now, onSignal, marker } = this.#options
    this.#clearBeginTimer()
    await this.#watches.stop()
    const detail = describeExit('Claude Code', exit, this.#process.stderr)
    this.#emit(this.#normalizer.died(now(), detail, GO_ON_HINT))
    let survivors = ''
    try {
      await endTree([marker], END_SOON)
    } catch (error) {
      survivors = ` ${error instanceof Error ? error.message : String(error)}`
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
