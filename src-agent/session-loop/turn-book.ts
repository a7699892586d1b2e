import type { AgentItem, BlobText, RequestFacts } from '../../src-shared/agent-wire.ts'
import type { DeliveryId, InputId, Instant } from '../../src-shared/ids.ts'
import type { AgentEventBody, LiveBlock, TurnEndReason } from '../../src-shared/timeline.ts'
import { TOLD_NEWEST, type ToldEntry, toldEntries } from '../../src-shared/told-entries.ts'
import { cutText } from '../runtimes/cut-text.ts'
import type { DriverSignal } from '../runtimes/driver.ts'

/** Where the items and deltas of a session go. */
export type Sink = {
  item(item: AgentItem, blobs?: readonly BlobText[]): void
  live(part: { offset: number; block: LiveBlock }): void
  liveGone(block: string): void
  liveBlocks(): LiveBlock[]
}

export type Cut = { reason: TurnEndReason; detail?: string; hint?: string }

const NO_USAGE = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

/**
 * Numbers the turns of a session and turns what a driver tells into items. It knows what is unfinished, so that a
 * runtime that dies leaves nothing open.
 */
export class TurnBook {
  readonly #sink: Sink
  readonly #now: () => Instant
  readonly #inputsOf = new Map<DeliveryId, readonly InputId[]>()
  readonly #delivered = new Set<DeliveryId>()
  readonly #openCalls = new Map<string, string | undefined>()
  #refs: string[] = []
  #told: ToldEntry[] = []
  #toldBefore: ToldEntry[] = []
  #turn: number
  #startedAt: number | null = null
  /** What runtimes of this session that have ended spent. */
  #costBefore: number
  #costNow = 0
  #isRecorded: boolean

  constructor(
    sink: Sink,
    now: () => Instant,
    begin: { turn: number; costUsd: number; recorded: boolean },
  ) {
    this.#sink = sink
    this.#now = now
    this.#turn = begin.turn
    this.#isRecorded = begin.recorded
    this.#costBefore = begin.costUsd
  }

  get isRunning(): boolean {
    return this.#startedAt !== null
  }

  /** Number of the running turn or of the last one; 0 before the first. */
  get turn(): number {
    return this.#turn
  }

  /** The runtime's names of what the last turn's events tell. */
  get refs(): readonly string[] {
    return this.#refs
  }

  /** What the timeline has of the last turn and the one before it. */
  get told(): ToldEntry[] {
    return [...this.#toldBefore, ...this.#told].slice(-TOLD_NEWEST)
  }

  /** The runtime's own record holds something of the conversation. */
  get isRecorded(): boolean {
    return this.#isRecorded
  }

  /** From here on it is another conversation. */
  beginConversation(): void {
    this.#isRecorded = false
  }

  /** It may hold something, as far as anybody knows. */
  mayBeRecorded(): void {
    this.#isRecorded = true
  }

  know(delivery: DeliveryId, inputs: readonly InputId[]): void {
    this.#inputsOf.set(delivery, inputs)
  }

  isDelivered(delivery: DeliveryId): boolean {
    return this.#delivered.has(delivery)
  }

  /** Says once that the runtime holds a delivery; `steer`: as part of a turn that others began. */
  deliver(delivery: DeliveryId, at: Instant, steer = false): void {
    if (this.#delivered.has(delivery)) return
    this.#delivered.add(delivery)
    this.#isRecorded = true
    this.#sink.item({ type: 'delivered', at, delivery, ...(steer ? { steer } : {}) })
  }

  /** A runtime may count what it spent from 0: what came before is added from now on. */
  beginRuntime(): void {
    this.#costBefore += this.#costNow
    this.#costNow = 0
  }

  apply(signal: DriverSignal): void {
    switch (signal.type) {
      case 'turn.started':
        this.#begin(signal.at, signal.deliveries)
        return
      case 'delivered':
        for (const delivery of signal.deliveries) this.deliver(delivery, signal.at)
        return
      case 'turn.ended': {
        const { type: _, at, ...fields } = signal
        if (fields.reason !== 'killed' && fields.cut !== true) this.mayBeRecorded()
        this.#end(at, { kind: 'turn.ended', turn: Math.max(1, this.#turn), ...fields })
        return
      }
      case 'event':
        this.#event(signal.at, signal.event, signal.blobs ?? [], signal.request)
        return
      case 'request.withdrawn':
        this.#sink.item({ type: 'request.withdrawn', at: signal.at, request: signal.request })
        return
      case 'live': {
        const turn = this.isRunning ? { turn: this.#turn } : {}
        this.#sink.live({ offset: signal.offset, block: { ...signal.block, ...turn } })
        return
      }
      case 'live.gone':
        this.#sink.liveGone(signal.block)
        return
      case 'turn.joined':
      case 'withdrawn':
      case 'exited':
        return
    }
  }

  /** What a transcript holds of the turn that was cut before this runtime began. */
  recover(signals: readonly DriverSignal[]): void {
    const isCut = !this.isRunning && this.#turn > 0
    if (isCut) this.#startedAt = 0
    for (const signal of signals) this.apply(signal)
    // The cut turn was ended when it was cut; one that only the transcript knows of ends here.
    if (this.#startedAt === 0) this.#startedAt = null
    else this.settle({ reason: 'killed', detail: 'The runtime ended in this turn.' })
  }

  /** Ends what is unfinished because the runtime will not: blocks become partial, calls unknown, the turn is over. */
  settle(cut: Cut): void {
    const at = this.#now()
    this.#keepPartialBlocks(at)
    for (const [callId, parent] of [...this.#openCalls]) {
      const whole = this.#outputSoFar(callId)
      const { text: output, blob } = cutText(whole)
      this.#event(
        at,
        {
          kind: 'tool.result',
          callId,
          status: cut.reason === 'interrupted' ? 'cancelled' : 'unknown',
          output,
          ...(blob === undefined
            ? {}
            : { outputBlob: blob.id, outputBytes: Buffer.byteLength(whole) }),
          ...(parent === undefined ? {} : { parent }),
        },
        blob === undefined ? [] : [blob],
      )
    }
    if (this.#startedAt === null) return
    this.#end(at, {
      kind: 'turn.ended',
      turn: this.#turn,
      ...cut,
      ...(cut.reason === 'interrupted' ? { cut: true as const } : {}),
      durationMs: this.#startedAt === 0 ? 0 : Math.max(0, Date.parse(at) - this.#startedAt),
      usage: NO_USAGE,
      costUsd: 0,
    })
  }

  #begin(at: Instant, deliveries: readonly DeliveryId[]): void {
    if (this.#startedAt !== null && this.#startedAt > 0) this.settle({ reason: 'killed' })
    this.#turn += 1
    this.#startedAt = Date.parse(at)
    this.#refs = []
    this.#toldBefore = this.#told
    this.#told = []
    const inputs = deliveries.flatMap((delivery) => this.#inputsOf.get(delivery) ?? [])
    this.#put(at, { kind: 'turn.started', turn: this.#turn, inputs })
  }

  #end(at: Instant, event: AgentEventBody & { kind: 'turn.ended' }): void {
    this.#keepPartialBlocks(at)
    this.#startedAt = null
    this.#put(at, event)
  }

  #event(
    at: Instant,
    event: AgentEventBody,
    blobs: readonly BlobText[],
    request?: RequestFacts,
  ): void {
    if (event.kind === 'tool.call') this.#openCalls.set(event.callId, event.parent)
    if (event.kind === 'tool.result') this.#openCalls.delete(event.callId)
    if (event.ref !== undefined) {
      this.#refs.push(event.ref)
      this.#told.push(...toldEntries([event]))
    }
    const turn = this.isRunning ? { turn: this.#turn } : {}
    if (event.kind === 'cost') {
      this.#costNow = event.costUsd
      this.#put(at, { ...event, ...turn, costUsd: this.#costBefore + event.costUsd }, blobs)
      return
    }
    this.#put(at, { ...event, ...turn }, blobs, request)
  }

  /** What was shown of a text that no finished block will replace stays in the timeline. */
  #keepPartialBlocks(at: Instant): void {
    for (const block of this.#sink.liveBlocks()) {
      if (block.kind === 'tool.output') continue
      if (block.text === '') {
        this.#sink.liveGone(block.block)
        continue
      }
      const { kind, turn, parent } = block
      const { text, blob } = cutText(block.text)
      const event: AgentEventBody = {
        kind,
        text,
        block: block.block,
        partial: true,
        ...(blob === undefined ? {} : { textBlob: blob.id }),
        ...(turn === undefined ? {} : { turn }),
        ...(parent === undefined ? {} : { parent }),
      }
      this.#put(at, event, blob === undefined ? [] : [blob])
    }
  }

  #outputSoFar(callId: string): string {
    const block = this.#sink.liveBlocks().find((candidate) => candidate.callId === callId)
    return block?.text ?? ''
  }

  #put(
    at: Instant,
    event: AgentEventBody,
    blobs: readonly BlobText[] = [],
    request?: RequestFacts,
  ): void {
    this.#sink.item(
      { type: 'event', at, event, ...(request === undefined ? {} : { request }) },
      blobs,
    )
  }
}
