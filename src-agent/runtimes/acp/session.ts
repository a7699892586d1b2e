import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import type { Delivery, ProcessIdentity } from '../../../src-shared/agent-wire.ts'
import type { Instant, RequestId } from '../../../src-shared/ids.ts'
import { BalletError } from '../../../src-shared/refusal.ts'
import { endTree, type Marker, processesWith } from '../../process-tree/index.ts'
import { cutText } from '../cut-text.ts'
import type { DriverSignal, RequestAnswer, RuntimeSession } from '../driver.ts'
import { notWritten } from '../failures.ts'
import type { TurnEnd } from '../turn-end.ts'
import type { TurnTools } from '../turn-tools.ts'
import { callTitle, toolKindOf } from './call-facts.ts'
import { type AgentConnection, agentErrorOf } from './connection.ts'
import type { Limits } from './limits.ts'
import { promptOf } from './message.ts'
import type { Strange } from './message-stream.ts'
import type { Normalizer } from './normalize.ts'
import type { PermissionRequests, Prompt } from './permission-requests.ts'
import type { Terminals } from './terminals.ts'
import { isNotTaken, turnEndOf, turnFailureOf } from './turn-end.ts'
import { ToolCallUpdate } from './updates.ts'

export type SessionOptions = {
  connection: AgentConnection
  conversation: string
  version: string
  title: string
  loginHint: string
  takesImages: boolean
  cwd: string
  marker: Marker
  normalizer: Normalizer
  permissions: PermissionRequests
  terminals: Terminals
  tools: TurnTools
  /** Comes before the first message; empty where nothing does. */
  instructions: string
  limits: Limits
  onSignal: (signal: DriverSignal) => void
  now: () => Instant
  newRequestId: () => RequestId
}

const END_SOON = { limitMs: 10_000 }
const END_TREE = { graceMs: 1_000, limitMs: 10_000 }
const GO_ON_HINT = 'Send a message: the session goes on.'

/** One conversation of an agent, held open between its turns. */
export class AcpSession implements RuntimeSession {
  readonly conversation: string
  readonly version: string
  readonly #options: SessionOptions
  readonly #connection: AgentConnection
  readonly #normalizer: Normalizer
  #stopping: Promise<void> | null = null
  #sweeping: Promise<void> = Promise.resolve()
  #turnEnded: (() => void)[] = []
  /** What the next message must say first. */
  #before: string[]
  readonly #ended: Promise<void>

  constructor(options: SessionOptions) {
    this.#options = options
    this.#connection = options.connection
    this.#normalizer = options.normalizer
    this.conversation = options.conversation
    this.version = options.version
    this.#before = options.instructions === '' ? [] : [options.instructions]
    this.#connection.handleWith({
      onUpdate: (params) => this.#updated(params),
      onStrange: (strange) => this.strange(strange),
    })
    this.#ended = this.#connection.ended.then((detail) => this.#exited(detail))
    void this.#connection.cut
      .then(() => this.#connection.endedSoon())
      .then(() => this.#giveUp('closed its connection'))
  }

  async processes(): Promise<ProcessIdentity[]> {
    const found = await processesWith([this.#options.marker])
    const isOwn = ({ pid }: ProcessIdentity) => pid === this.#connection.process.pid
    return [...found.filter(isOwn), ...found.filter((identity) => !isOwn(identity))]
  }

  async send(delivery: Delivery): Promise<void> {
    await this.#sweeping
    const { title, now } = this.#options
    if (this.#connection.gone || this.#stopping !== null) {
      throw notWritten(title, 'it does not run any more')
    }
    if (this.#normalizer.turnRuns) throw notWritten(title, 'a turn is running')
    const taken = this.#options.takesImages ? delivery : { ...delivery, images: [] }
    const before = this.#before
    const prompt = promptOf(taken, before)
    const params = { sessionId: this.conversation, prompt }
    // The turn has begun before anything of it can come.
    this.#emit(this.#normalizer.begin(delivery.id, now()))
    this.#before = []
    if ((taken.images ?? []).length < (delivery.images ?? []).length) {
      const text = `${title} takes no images: the message went without.`
      this.#emit([this.#normalizer.notice(now(), 'warning', 'acp.images', text)])
    }
    const answer = this.#connection.request('session/prompt', params, null)
    void answer.then(
      (value) => this.#endTurn(turnEndOf(value, title)),
      (error: unknown) => this.#failed(error, before),
    )
  }

  async steer(): Promise<void> {
    throw notWritten(this.#options.title, 'it takes no message in the middle of a turn')
  }

  async interrupt(): Promise<void> {
    if (this.#connection.gone || !this.#normalizer.turnRuns) return
    const begin = performance.now()
    const ended = this.#nextTurnEnd()
    this.#normalizer.interrupting()
    this.#sweeping = this.#sweepTools()
    await this.#cancel()
    const left = this.#options.limits.interruptMs - (performance.now() - begin)
    const inTime = await Promise.race([ended.then(() => true), sleep(left, false)])
    if (!inTime) await this.#giveUp('did not end the turn after an interrupt')
    await this.#sweeping
  }

  async answerRequest(request: RequestId, answer: RequestAnswer): Promise<void> {
    if (this.#connection.gone) throw notWritten(this.#options.title, 'it does not run any more')
    this.#options.permissions.answer(request, answer)
    // The protocol's answer has no place for a reason.
    if (answer.outcome === 'deny' && answer.text !== undefined && answer.text.trim() !== '') {
      this.#before.push(`A person denied a call of your last turn: ${answer.text.trim()}`)
    }
  }

  /** What is started now is ended with the turn. */
  get takesTerminals(): boolean {
    return this.#normalizer.turnRuns && !this.#normalizer.isInterrupting && this.#stopping === null
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  /** An event that its start or its services make. */
  tell(signals: readonly DriverSignal[]): void {
    if (!this.#connection.gone) this.#emit(signals)
  }

  strange(strange: Strange): void {
    this.#emit(this.#normalizer.strange(strange, this.#options.now()))
  }

  /** The agent asks before a call; resolves with what it is answered. */
  async askedPermission(
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse> {
    const { permissions, now, newRequestId, cwd } = this.#options
    const update = ToolCallUpdate.parse(request.toolCall)
    const asked = this.#normalizer.asked(update, now())
    if (asked === null || this.#normalizer.isInterrupting) {
      return { outcome: { outcome: 'cancelled' } }
    }
    this.#emit(asked.signals)
    const { call } = asked
    const known = call.path === null ? [] : [{ path: call.path }]
    const prompt: Prompt = {
      name: call.name,
      isMcp: call.isMcp,
      isBallets: call.isBallets,
      call: {
        ...update,
        kind: update.kind ?? call.kind,
        locations: update.locations?.length ? update.locations : known,
      },
      options: request.options,
    }
    const denied = permissions.notAllowable(prompt)
    if (denied !== null) {
      const { title } = this.#options
      const what = this.#normalizer.mask(update.title ?? call.title ?? call.name)
      const text = `${title} asked for permission and offered no way to give it, so it is denied: ${what}`
      this.#emit([this.#normalizer.notice(now(), 'warning', 'acp.no-allow', text)])
      return denied
    }
    const decided = permissions.decide(prompt)
    if (decided !== null) return decided
    const id = newRequestId()
    const facts = permissions.facts(prompt)
    const answered = permissions.wait(id, request.options, facts.rules)
    const own = {
      ...call,
      title: update.title ?? call.title,
      path: update.locations?.[0]?.path ?? call.path,
    }
    const input = cutText(
      this.#normalizer.mask(JSON.stringify(update.rawInput ?? call.input ?? {})),
    )
    const event = {
      kind: 'request.opened' as const,
      request: id,
      callId: call.id,
      name: call.name,
      toolKind: toolKindOf(prompt.call.kind, call.isMcp),
      title: this.#normalizer.mask(
        callTitle({ ...own, input: update.rawInput ?? call.input }, cwd),
      ),
      input: input.text,
      ...(input.blob === undefined ? {} : { inputBlob: input.blob.id }),
    }
    const blobs = input.blob === undefined ? {} : { blobs: [input.blob] }
    this.#emit([{ type: 'event', at: now(), event, ...blobs, request: facts }])
    const onAbort = () => {
      if (!permissions.withdraw(id) || this.#stopping !== null) return
      this.#emit([{ type: 'request.withdrawn', at: now(), request: id }])
    }
    signal.addEventListener('abort', onAbort)
    try {
      return await answered
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  #updated(params: unknown): void {
    this.#emit(this.#normalizer.update(params, this.#options.now()))
  }

  #emit(signals: readonly DriverSignal[]): void {
    for (const signal of signals) this.#options.onSignal(signal)
  }

  #endTurn(end: TurnEnd): void {
    if (!this.#normalizer.turnRuns) return
    const { permissions, now, terminals } = this.#options
    const at = now()
    const isWanted = this.#normalizer.isInterrupting
    // A turn that a person interrupts fails in some agents instead of being cancelled.
    const told: TurnEnd = isWanted && end.reason !== 'completed' ? { reason: 'interrupted' } : end
    for (const request of permissions.cancelAll()) {
      if (!isWanted) this.#emit([{ type: 'request.withdrawn', at, request }])
    }
    this.#emit(this.#normalizer.ended(told, at))
    for (const resolve of this.#turnEnded.splice(0)) resolve()
    if (!isWanted) {
      this.#sweeping = terminals
        .releaseAll()
        .then(() => this.#options.tools.rememberHelpers())
        .catch((error: unknown) => this.#tellSurvivors(error))
    }
  }

  /** `before` is what the message said first. */
  #failed(error: unknown, before: readonly string[]): void {
    // A connection that is over is told by the end of the agent.
    const answer = agentErrorOf(error)
    if (answer === null) return
    // Nothing else would tell an agent that took none of it.
    if (isNotTaken(answer) && this.#normalizer.isUnanswered) {
      this.#before = [...before, ...this.#before]
    }
    const { title, loginHint } = this.#options
    this.#endTurn(turnFailureOf(answer, title, loginHint))
  }

  async #cancel(): Promise<void> {
    this.#options.permissions.cancelAll()
    const said = this.#connection.notify('session/cancel', { sessionId: this.conversation })
    // One that cannot be written to, or does not read, is ended by what follows.
    await Promise.race([said.catch(() => undefined), sleep(this.#options.limits.stopMs)])
  }

  async #stop(): Promise<void> {
    const { limits, marker } = this.#options
    if (!this.#connection.gone && this.#normalizer.turnRuns) {
      this.#normalizer.interrupting()
      const ended = this.#nextTurnEnd()
      await this.#cancel()
      await Promise.race([ended, sleep(limits.stopMs)])
    }
    if (!this.#connection.gone) {
      this.#connection.process.closeInput()
      await Promise.race([this.#connection.process.exited, sleep(limits.stopMs)])
    }
    await endTree([marker], END_TREE)
    await this.#ended
  }

  /** Resolves at the end of the turn, or of the agent. */
  #nextTurnEnd(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.#turnEnded.push(resolve))
    return Promise.race([ended, this.#ended])
  }

  async #giveUp(what: string): Promise<void> {
    if (this.#connection.gone || this.#stopping !== null) return
    const { title, now, marker } = this.#options
    const text = `${title} ${what}, so it was ended.`
    this.#emit([this.#normalizer.notice(now(), 'warning', 'runtime.hung', text)])
    try {
      await endTree([marker], { ...END_SOON, freezesOldest: true })
    } catch (error) {
      this.#tellSurvivors(error)
    }
    await this.#ended
  }

  async #sweepTools(): Promise<void> {
    const { tools, terminals } = this.#options
    try {
      const isOver = () => !this.#normalizer.turnRuns || this.#connection.gone
      await Promise.all([terminals.releaseAll(), tools.sweep(isOver)])
    } catch (error) {
      this.#tellSurvivors(error)
    }
  }

  #tellSurvivors(error: unknown): void {
    const isOwn = error instanceof BalletError
    const code = isOwn ? error.code : 'processes.unknown'
    const text = isOwn ? error.message : `The processes could not be read: ${String(error)}`
    this.#emit([this.#normalizer.notice(this.#options.now(), 'error', code, text)])
  }

  async #exited(detail: string): Promise<void> {
    const { now, onSignal, marker, permissions } = this.#options
    permissions.cancelAll()
    this.#emit(this.#normalizer.died(detail, GO_ON_HINT, now()))
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
      detail: `${this.#normalizer.mask(detail)}${survivors}`,
      ...(this.#stopping === null ? { hint: GO_ON_HINT } : {}),
    })
  }
}
