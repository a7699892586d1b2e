import type { AgentItem, BlobText, FromAgent, ItemBatch } from '../../src-shared/agent-wire.ts'
import type { LeaseId } from '../../src-shared/ids.ts'
import type { LiveBlock } from '../../src-shared/timeline.ts'
import type { Clock } from './clock.ts'
import { LiveBlocks, type LivePart } from './live-blocks.ts'
import { within } from './within.ts'

const BATCH_ITEMS = 1_000
const BATCH_BYTES = 4 * 1024 * 1024
/** More than this is never on its way without an acknowledgement. */
const WINDOW_BYTES = 16 * 1024 * 1024
const RESEND_MS = 2_000
const RESEND_MOST_MS = 10_000
/** A block's deltas go at most this often. */
const DELTA_MS = 8

/** From `high` on no deltas are sent; from `over` on the session must stop making more. */
export type Pressure = 'none' | 'high' | 'over'
const MIB = 1024 * 1024
const HIGH_BYTES = 64 * MIB
const OVER_BYTES = 256 * MIB
const CALM_BYTES = 32 * MIB

type Kept = { item: AgentItem; blobs: readonly BlobText[]; bytes: number }

export type OutgoingOptions = {
  lease: LeaseId
  send: (message: FromAgent) => void
  clock: Clock
  onPressure?: (pressure: Pressure) => void
}

/** What goes to Core under one lease: numbered items, kept until they are acknowledged, and live deltas. */
export class Outgoing {
  readonly lease: LeaseId
  readonly #options: OutgoingOptions
  readonly #live = new LiveBlocks()
  #kept: Kept[] = []
  /** Number of the first kept item. */
  #first = 1
  /** Number of the next item to send. */
  #next = 1
  #bytes = 0
  #pressure: Pressure = 'none'
  #resendMs = RESEND_MS
  #cancelResend: (() => void) | null = null
  #cancelDeltas: (() => void) | null = null
  #flush: NodeJS.Immediate | null = null
  #settled: (() => void)[] = []
  #sealed = false
  #closed = false
  /** Something came after it took nothing new any more. */
  #left = false

  constructor(options: OutgoingOptions) {
    this.lease = options.lease
    this.#options = options
  }

  /** Numbers an item, and sends it with the others of this tick. */
  item(item: AgentItem, blobs: readonly BlobText[] = []): void {
    if (this.#sealed || this.#closed) {
      this.#left = true
      return
    }
    this.#sealed = item.type === 'ended'
    const bytes =
      JSON.stringify(item).length + blobs.reduce((sum, blob) => sum + blob.text.length, 0)
    this.#kept.push({ item, blobs, bytes })
    this.#bytes += bytes
    this.#endBlocks(item)
    this.#flush ??= setImmediate(() => this.flush())
    this.#tellPressure()
  }

  live(part: LivePart): void {
    if (this.#sealed || this.#closed) return
    this.#live.append(part)
    this.#sendDeltas(part.block.block)
  }

  liveGone(block: string): void {
    if (!this.#live.remove(block) || this.#closed) return
    this.flush()
    this.#options.send({ type: 'live.gone', lease: this.lease, block })
  }

  /** The blocks that are not finished, with their whole text. */
  liveBlocks(): LiveBlock[] {
    return this.#live.all()
  }

  /** Everything up to and with `n` is stored. */
  ack(n: number): void {
    const stored = Math.min(n - this.#first + 1, this.#kept.length)
    if (stored <= 0) return
    for (const { bytes } of this.#kept.splice(0, stored)) this.#bytes -= bytes
    this.#first += stored
    this.#next = Math.max(this.#next, this.#first)
    this.#resendMs = RESEND_MS
    this.#cancelResend?.()
    this.#cancelResend = null
    this.#tellPressure()
    if (this.#kept.length === 0) for (const resolve of this.#settled.splice(0)) resolve()
    this.flush()
  }

  get isSettled(): boolean {
    return this.#kept.length === 0
  }

  /** Whether everything so far is stored, after `limitMs` at the latest; also what it did not take any more. */
  async settled(limitMs: number): Promise<boolean> {
    if (!this.isSettled) {
      this.flush()
      const done = new Promise<void>((resolve) => this.#settled.push(resolve))
      await within(this.#options.clock, limitMs, done)
    }
    return this.isSettled && !this.#left
  }

  /** Sends what was not sent, as far as the window allows. */
  flush(): void {
    if (this.#flush !== null) clearImmediate(this.#flush)
    this.#flush = null
    if (this.#closed) return
    let onTheWay = this.#bytesBetween(0, this.#next - this.#first)
    while (this.#next - this.#first < this.#kept.length && onTheWay < WINDOW_BYTES) {
      const batch = this.#batchFrom(this.#next - this.#first)
      onTheWay += batch.reduce((sum, { bytes }) => sum + bytes, 0)
      const from = this.#next
      this.#next += batch.length
      this.#options.send({
        type: 'items',
        lease: this.lease,
        from,
        items: batch.map(({ item }) => item),
        blobs: batch.flatMap(({ blobs }) => blobs),
      })
    }
    if (this.#kept.length > 0) this.#cancelResend ??= this.#scheduleResend()
    if (this.#live.hasUnsent()) this.#scheduleDeltas()
  }

  /** What is not acknowledged, to be kept elsewhere. Null when there is nothing. */
  unacknowledged(): ItemBatch | null {
    if (this.#kept.length === 0) return null
    return {
      lease: this.lease,
      from: this.#first,
      items: this.#kept.map(({ item }) => item),
      blobs: this.#kept.flatMap(({ blobs }) => blobs),
    }
  }

  /** Takes nothing new any more, as after `ended`; what is there goes on its way. */
  seal(): void {
    this.#sealed = true
  }

  /** Sends nothing any more and forgets its timers. */
  close(): void {
    this.#closed = true
    if (this.#flush !== null) clearImmediate(this.#flush)
    this.#cancelResend?.()
    this.#cancelDeltas?.()
    for (const resolve of this.#settled.splice(0)) resolve()
  }

  #batchFrom(index: number): Kept[] {
    const batch: Kept[] = []
    let bytes = 0
    for (const kept of this.#kept.slice(index, index + BATCH_ITEMS)) {
      if (batch.length > 0 && bytes + kept.bytes > BATCH_BYTES) break
      batch.push(kept)
      bytes += kept.bytes
    }
    return batch
  }

  #bytesBetween(from: number, to: number): number {
    let sum = 0
    for (let index = from; index < to; index += 1) sum += this.#kept[index]?.bytes ?? 0
    return sum
  }

  #scheduleResend(): () => void {
    return this.#options.clock.after(this.#resendMs, () => {
      this.#cancelResend = null
      this.#resendMs = Math.min(this.#resendMs * 2, RESEND_MOST_MS)
      this.#next = this.#first
      this.flush()
    })
  }

  /** The item takes the place of a live block. */
  #endBlocks(item: AgentItem): void {
    if (item.type !== 'event') return
    const { event } = item
    if (event.kind === 'assistant.text' || event.kind === 'assistant.thinking') {
      if (event.block !== undefined) this.#live.remove(event.block)
    }
    if (event.kind === 'tool.result') {
      for (const block of this.#live.ofCall(event.callId)) this.liveGone(block)
    }
  }

  #sendDeltas(name: string): void {
    if (this.#pressure !== 'none') return
    // Deltas never overtake items, such as the call whose output they are.
    if (this.#flush !== null) this.flush()
    if (this.#next - this.#first < this.#kept.length) return
    const part = this.#live.take(name, this.#options.clock.monotonic(), DELTA_MS)
    if (part === null) {
      if (this.#live.hasUnsent()) this.#scheduleDeltas()
      return
    }
    this.#options.send({ type: 'live', lease: this.lease, offset: part.offset, ...part.block })
  }

  #scheduleDeltas(): void {
    this.#cancelDeltas ??= this.#options.clock.after(DELTA_MS, () => {
      this.#cancelDeltas = null
      if (this.#closed) return
      for (const name of this.#live.names()) this.#sendDeltas(name)
    })
  }

  #tellPressure(): void {
    const before = this.#pressure
    if (this.#bytes > OVER_BYTES) this.#pressure = 'over'
    else if (this.#bytes > HIGH_BYTES) this.#pressure = before === 'over' ? 'over' : 'high'
    else if (this.#bytes < CALM_BYTES) this.#pressure = 'none'
    if (this.#pressure !== before) this.#options.onPressure?.(this.#pressure)
  }
}
