import { setTimeout as sleep } from 'node:timers/promises'
import type { z } from 'zod'
import type { Delivery, ProcessIdentity } from '../../../src-shared/agent-wire.ts'
import type { DeliveryId, Instant, RequestId } from '../../../src-shared/ids.ts'
import { BalletError } from '../../../src-shared/refusal.ts'
import { endTree, type Marker, processesWith } from '../../process-tree/index.ts'
import type { DriverSignal, DriverSpec, RequestAnswer, RuntimeSession } from '../driver.ts'
import { notWritten } from '../failures.ts'
import { describeExit, type Exit } from '../line-process.ts'
import type { SecretMask } from '../mask-secrets.ts'
import { TurnTools } from '../turn-tools.ts'
import { type AppServer, RpcError } from './app-server.ts'
import { denialText, messageInput } from './message.ts'
import { Normalizer } from './normalize.ts'
import type { Prompt } from './permission-requests.ts'
import { ItemNews, UserMessage } from './protocol.ts'
import { holdsDelivery } from './record.ts'
import { ServerRequests } from './server-requests.ts'
import { GO_ON_HINT, LOG_IN_HINT } from './turn-end.ts'

export type SessionOptions = {
  server: AppServer
  spec: DriverSpec
  conversation: string
  /** The file in which the server keeps the conversation; null when it does not say. */
  record: string | null
  version: string
  mask: SecretMask
  onSignal: (signal: DriverSignal) => void
  now: () => Instant
  newRequestId: () => RequestId
  answerLimitMs: number
}

const TURN_LIMIT_MS = 30_000
const INTERRUPT_ANSWER_MS = 2_000
const INTERRUPT_END_MS = 3_000
/** The server tells the end of a command some milliseconds after it. */
const COMMANDS_END_MS = 300
/** A refused login is tried once more by Codex, since a token may just have been renewed. */
const LOGIN_ATTEMPTS = 2
/** When, between two turns, the processes are noted that an interrupt of the next one must leave. */
const HELPERS_AFTER_MS = 250
const STOP_TURN_MS = 1_000
const STOP_EXIT_MS = 1_000
const END_TREE = { graceMs: 1_000, limitMs: 10_000 }
const END_SOON = { limitMs: 10_000 }

/** One conversation of Codex, held open between its turns. */
export class CodexSession implements RuntimeSession {
  readonly conversation: string
  readonly version: string
  readonly #options: SessionOptions
  readonly #server: AppServer
  readonly #normalizer: Normalizer
  readonly #requests: ServerRequests
  readonly #tools: TurnTools
  #sweeping: Promise<void> = Promise.resolve()
  #stopping: Promise<void> | null = null
  #turnEnded: (() => void)[] = []
  readonly #ended: Promise<void>

  constructor(options: SessionOptions) {
    const { spec, mask, conversation } = options
    this.#options = options
    this.#server = options.server
    this.conversation = conversation
    this.version = options.version
    this.#normalizer = new Normalizer({
      cwd: spec.cwd,
      mask,
      conversation,
      mcpServers: new Set(spec.mcpServers.map(({ name }) => name)),
    })
    this.#requests = new ServerRequests({
      ...{ server: options.server, spec, normalizer: this.#normalizer },
      ...{ now: options.now, newRequestId: options.newRequestId },
      emit: (signals) => this.#emit(signals),
    })
    this.#tools = new TurnTools(this.#marker)
    this.#server.handleWith({
      onNotification: (method, params) => this.#notified(method, params),
      onRequest: (id, method, params) => this.#requests.asked(id, method, params),
      onGarbage: (text) => this.#emit(this.#normalizer.garbage(text, options.now())),
      onOversized: (head, bytes) =>
        this.#emit(this.#normalizer.oversized(head, bytes, options.now())),
    })
    this.#ended = this.#server.exited.then((exit) => this.#exited(exit))
    void this.#rememberHelpers()
  }

  async processes(): Promise<ProcessIdentity[]> {
    const found = await processesWith([this.#marker])
    const own = found.filter((identity) => identity.pid === this.#server.pid)
    return [...own, ...found.filter((identity) => identity.pid !== this.#server.pid)]
  }

  async send(delivery: z.infer<typeof Delivery>): Promise<void> {
    await this.#sweeping
    if (this.#isOver) throw notWritten('Codex', 'it does not run any more')
    if (this.#normalizer.turnId !== null || this.#normalizer.expected !== null) {
      throw notWritten('Codex', 'a turn is running')
    }
    this.#normalizer.expect(delivery.id)
    await this.#handOver('turn/start', delivery, {}, () => this.#normalizer.expect(null))
  }

  async steer(delivery: z.infer<typeof Delivery>): Promise<void> {
    const turn = this.#normalizer.turnId
    if (this.#isOver) throw notWritten('Codex', 'it does not run any more')
    if (turn === null) throw notWritten('Codex', 'no turn is running')
    if (this.#normalizer.isInterrupting) throw notWritten('Codex', 'the turn is being ended')
    if (this.#normalizer.steered !== null) {
      throw notWritten('Codex', 'it has not taken the message before it yet')
    }
    this.#normalizer.steer(delivery.id)
    await this.#handOver('turn/steer', delivery, { expectedTurnId: turn }, () =>
      this.#normalizer.steer(null),
    )
  }

  async interrupt(): Promise<void> {
    if (this.#server.gone) return
    if (this.#normalizer.turnId === null && this.#normalizer.expected === null) return
    this.#normalizer.interrupting()
    this.#sweeping = this.#sweep()
    await this.#endTurn()
    await this.#sweeping
  }

  async answerRequest(request: RequestId, answer: RequestAnswer): Promise<void> {
    const { rpc, prompt, result } = this.#requests.answer(request, answer)
    // The answer itself takes no reason: it goes before it, so that the model sees both at once.
    if (answer.outcome === 'deny') await this.#tellReason(prompt, answer.text)
    if (this.#server.gone) throw notWritten('Codex', 'it does not run any more')
    try {
      await this.#server.respond(rpc, result, this.#options.answerLimitMs)
    } catch {
      // What is on its way may still be read, and a second answer would allow the call twice.
      if (!(await this.#server.endsSoon())) await this.#giveUp('did not take an answer')
    }
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  get #marker(): Marker {
    return this.#options.spec.marker
  }

  /** None runs, as far as the server is concerned. */
  get #hasNoTurn(): boolean {
    return this.#normalizer.turnId === null || this.#normalizer.isHeld
  }

  get #isOver(): boolean {
    return this.#server.gone || this.#stopping !== null
  }

  /** `undo` is called when the server certainly did not take it. */
  async #handOver(
    method: string,
    delivery: z.infer<typeof Delivery>,
    params: object,
    undo: () => void,
  ): Promise<void> {
    const message = {
      threadId: this.conversation,
      clientUserMessageId: delivery.id,
      input: messageInput(delivery),
    }
    try {
      await this.#server.request(method, { ...message, ...params }, TURN_LIMIT_MS)
    } catch (error) {
      // Of one that ended or hangs nobody knows: its record tells, after a resume.
      if (!(error instanceof RpcError)) {
        if (await this.#server.endsSoon()) return
        return this.#giveUp('did not answer to a message')
      }
      undo()
      throw notWritten('Codex', error.message)
    }
  }

  async #tellReason(prompt: Prompt, reason: string | undefined): Promise<void> {
    const turn = this.#normalizer.turnId
    if (reason === undefined || reason.trim() === '' || turn === null) return
    const input = [{ type: 'text', text: denialText(prompt.title, reason) }]
    const params = { threadId: this.conversation, expectedTurnId: turn, input }
    try {
      await this.#server.request('turn/steer', params, INTERRUPT_ANSWER_MS)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      const text = `Codex was not told why ${prompt.title} was denied: ${why}`
      this.#tell('warning', 'request.reason', text)
    }
  }

  async #stop(): Promise<void> {
    const turn = this.#normalizer.turnId
    if (!this.#server.gone && turn !== null) {
      this.#normalizer.interrupting()
      this.#normalizer.endTurnAs({ reason: 'interrupted' })
      this.#sweeping = this.#sweep()
      const params = { threadId: this.conversation, turnId: turn }
      // A server that does not answer is ended below.
      await this.#server.request('turn/interrupt', params, STOP_TURN_MS).catch(() => undefined)
      await this.#settleTurn(STOP_TURN_MS)
    }
    if (!this.#server.gone) {
      this.#server.closeInput()
      await Promise.race([this.#server.exited, sleep(STOP_EXIT_MS)])
    }
    await endTree([this.#marker], END_TREE)
    await this.#ended
  }

  #notified(method: string, params: unknown): void {
    if (method === 'serverRequest/resolved') {
      this.#resolved(params)
      return
    }
    this.#emit(this.#normalizer.notification(method, params, this.#options.now()))
    if (method === 'item/completed') this.#watchDelivery(params)
    if (method === 'error' && this.#normalizer.refusedLogins >= LOGIN_ATTEMPTS) this.#refuseLogin()
  }

  /** Tells when the record holds a message of Ballet. */
  #watchDelivery(params: unknown): void {
    const item = ItemNews.safeParse(params).data?.item
    const id = UserMessage.safeParse(item).data?.clientId
    const { record, onSignal, now } = this.#options
    if (typeof id !== 'string') return
    const delivery = id as DeliveryId
    const told = () => onSignal({ type: 'delivered', at: now(), deliveries: [delivery] })
    if (record === null) {
      told()
      return
    }
    holdsDelivery(record, delivery, () => this.#server.gone).then(
      (isHeld) => {
        if (isHeld) told()
        else if (!this.#server.gone) this.#notKept(record, 'it does not hold a message')
      },
      (error: unknown) => this.#notKept(record, String(error)),
    )
  }

  #notKept(record: string, why: string): void {
    const text = `Codex's record of the conversation, ${record}, cannot be relied on: ${why}`
    this.#tell('warning', 'runtime.record', text)
  }

  #resolved(params: unknown): void {
    const request = this.#requests.resolved(params)
    // A server that is ended withdraws all it asked; that is nobody's answer.
    if (request === null || this.#stopping !== null) return
    this.#emit([{ type: 'request.withdrawn', at: this.#options.now(), request }])
  }

  #emit(signals: readonly DriverSignal[]): void {
    for (const signal of signals) {
      this.#options.onSignal(signal)
      if (signal.type === 'turn.ended') this.#afterTurn()
      if (signal.type === 'turn.started' && this.#normalizer.isInterrupting) void this.#endTurn()
    }
  }

  #tell(level: 'info' | 'warning' | 'error', code: string, text: string): void {
    this.#emit([this.#normalizer.notice(this.#options.now(), level, code, text)])
  }

  #afterTurn(): void {
    this.#requests.clear()
    for (const resolve of this.#turnEnded.splice(0)) resolve()
    // Reading every process of the machine must not delay a message that follows at once.
    setTimeout(() => {
      if (!this.#server.gone && this.#normalizer.turnId === null) void this.#rememberHelpers()
    }, HELPERS_AFTER_MS).unref()
  }

  /** It would be tried again and again: the turn ends instead. */
  #refuseLogin(): void {
    this.#normalizer.endTurnAs({
      reason: 'failed',
      detail: 'The model provider refused the login (401).',
      hint: LOG_IN_HINT,
    })
    this.#normalizer.interrupting()
    this.#sweeping = this.#sweep()
    void this.#endTurn()
  }

  /** Asks the server to end the running turn; one that does not is ended itself. */
  async #endTurn(): Promise<void> {
    const turn = this.#normalizer.turnId
    // It is ended as soon as it begins.
    if (turn === null) return
    const params = { threadId: this.conversation, turnId: turn }
    try {
      await this.#server.request('turn/interrupt', params, INTERRUPT_ANSWER_MS)
    } catch (error) {
      // The turn is over already.
      if (this.#normalizer.turnId !== turn) return
      const why = error instanceof RpcError ? `refused an interrupt (${error.message})` : null
      await this.#giveUp(why ?? 'did not answer an interrupt')
      return
    }
    await this.#settleTurn(INTERRUPT_END_MS)
    if (this.#normalizer.turnId === turn) {
      await this.#giveUp('did not end the turn after an interrupt')
    }
  }

  /** Waits for the end of an interrupted turn: what its commands printed comes when they are ended. */
  async #settleTurn(limitMs: number): Promise<void> {
    const turn = this.#normalizer.turnId
    await this.#sweeping
    if (this.#normalizer.turnId !== turn || turn === null) return
    const limit = this.#normalizer.isHeld ? COMMANDS_END_MS : limitMs
    await Promise.race([this.#nextTurnEnd(), sleep(limit)])
    this.#emit(this.#normalizer.release(this.#options.now()))
  }

  /** Resolves at the end of the turn, or of the server. */
  #nextTurnEnd(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.#turnEnded.push(resolve))
    return Promise.race([ended, this.#ended])
  }

  async #giveUp(what: string): Promise<void> {
    if (this.#server.gone) return
    this.#tell('warning', 'runtime.hung', `Codex ${what}, so it was ended.`)
    try {
      await endTree([this.#marker], { ...END_SOON, freezesOldest: true })
    } catch (error) {
      this.#tellSurvivors(error)
    }
    await this.#ended
  }

  /** Codex leaves the commands of an interrupted turn running. */
  async #sweep(): Promise<void> {
    try {
      await this.#tools.sweep(() => this.#server.gone || this.#hasNoTurn)
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
    const { code, message } =
      error instanceof BalletError
        ? error
        : {
            code: 'processes.unknown',
            message: `The processes could not be read: ${String(error)}`,
          }
    this.#tell('error', code, message)
  }

  async #exited(exit: Exit): Promise<void> {
    const { now, onSignal } = this.#options
    const detail = describeExit('Codex', exit, this.#server.stderr)
    this.#emit(this.#normalizer.died(now(), detail, GO_ON_HINT))
    let survivors = ''
    try {
      await endTree([this.#marker], END_SOON)
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
