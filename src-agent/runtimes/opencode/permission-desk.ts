import type { Instant, RequestId } from '../../../src-shared/ids.ts'
import type { DriverSignal, RequestAnswer } from '../driver.ts'
import { notWritten, requestGone } from '../failures.ts'
import { isCertainlyNotTaken, isNotFound, whyOf } from './client.ts'
import type { ConversationApi } from './conversation-api.ts'
import type { Normalizer } from './normalize.ts'
import { PermissionRequests, type Reply, replyTo, requestSignal } from './permission-requests.ts'
import type { Grants } from './permission-rules.ts'
import type { PermissionPrompt } from './wire.ts'

/** How long the call of a prompt may take to be told. */
const CALL_LIMIT_MS = 1_000

export type DeskOptions = {
  api: ConversationApi
  normalizer: Normalizer
  grants: Grants
  emit: (signals: readonly DriverSignal[]) => void
  /** Ends the runtime, whose turn would wait for ever. `what` goes on after its name. */
  giveUp: (what: string) => Promise<void>
  now: () => Instant
  newRequestId: () => RequestId
}

/** The permission prompts of one server: answers what was allowed before, and asks about the rest. */
export class PermissionDesk {
  readonly #options: DeskOptions
  readonly #requests = new PermissionRequests()
  /** Prompts whose call is not told yet: the server may tell them in either order. */
  readonly #early = new Map<string, { prompt: PermissionPrompt; timer: NodeJS.Timeout }>()

  constructor(options: DeskOptions) {
    this.#options = options
  }

  asked(prompt: PermissionPrompt): void {
    const { normalizer, grants } = this.#options
    if (!normalizer.owns(prompt.sessionID) || !this.#requests.isNew(prompt.id)) return
    if (grants.allow(prompt)) {
      // Nobody waits to hear what became of this one.
      this.#reply(prompt.id, { reply: 'once' }).catch(() => undefined)
      return
    }
    if (this.#isCallKnown(prompt)) {
      this.#open(prompt)
      return
    }
    const timer = setTimeout(() => {
      if (this.#early.delete(prompt.id)) this.#open(prompt)
    }, CALL_LIMIT_MS)
    this.#early.set(prompt.id, { prompt, timer })
  }

  /** Something was told: it may be the call of a prompt. */
  look(): void {
    for (const { prompt, timer } of this.#early.values()) {
      if (!this.#isCallKnown(prompt)) continue
      clearTimeout(timer)
      this.#early.delete(prompt.id)
      this.#open(prompt)
    }
  }

  replied(prompt: string): void {
    clearTimeout(this.#early.get(prompt)?.timer)
    this.#early.delete(prompt)
    const request = this.#requests.withdraw(prompt)
    if (request === null) return
    this.#options.emit([{ type: 'request.withdrawn', at: this.#options.now(), request }])
  }

  /**
   * Rejects with `request.gone` for one that is not open, and with `runtime.not-written` when the server certainly did
   * not take the answer. Where nobody can tell, the runtime is ended, and what goes on asks again for what did not run.
   */
  async answer(request: RequestId, answer: RequestAnswer): Promise<void> {
    const open = this.#requests.take(request)
    if (answer.outcome === 'allow-for-session') this.#options.grants.add(open.rules)
    await this.#reply(open.runtimeId, replyTo(answer))
  }

  async #reply(prompt: string, reply: Reply): Promise<void> {
    const { api, giveUp } = this.#options
    try {
      await api.reply(prompt, reply)
    } catch (error) {
      if (isNotFound(error)) throw requestGone()
      const why = whyOf(error)
      await giveUp(`did not take the answer to a request (${why})`)
      // Else it may have it, and the call may have run: an answer that is given once more would allow it twice.
      if (isCertainlyNotTaken(error)) throw notWritten('opencode', why)
    }
  }

  /** The turn is over: nothing waits any more, whatever the server still lists. */
  clear(): void {
    for (const { timer } of this.#early.values()) clearTimeout(timer)
    this.#early.clear()
    this.#requests.clear()
  }

  #isCallKnown({ tool }: PermissionPrompt): boolean {
    return tool === undefined || this.#options.normalizer.callOf(tool.callID) !== undefined
  }

  #open(prompt: PermissionPrompt): void {
    const { normalizer, newRequestId, now, emit } = this.#options
    const request = newRequestId()
    const opened = requestSignal(prompt, { request, at: now(), normalizer })
    this.#requests.add({ id: request, runtimeId: prompt.id, rules: opened.request.rules })
    emit([opened])
  }
}
