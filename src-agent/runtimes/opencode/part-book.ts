import type { Instant } from '../../../src-shared/ids.ts'
import type { DriverSignal } from '../driver.ts'
import type { SecretMask, StreamMask } from '../mask-secrets.ts'
import { type BlockKind, blockKindOf, type EntryMaker, isOver } from './entries.ts'
import type { Part } from './wire.ts'

/** UTF-16 units of a call's output that are shown while it runs. */
const OUTPUT_LIMIT = 64 * 1_024

type OpenText = {
  kind: BlockKind
  part: string
  session: string
  parent: string | undefined
  /** As the runtime sent it, secrets not masked. */
  text: string
  mask: StreamMask
  shown: number
}

type OpenCall = {
  part: Part
  parent: string | undefined
  mask: StreamMask
  seen: string
  shown: number
}

/**
 * The parts of messages, from their changes in pieces to what the timeline holds: each is told once, however often the
 * server says it.
 */
export class PartBook {
  readonly #entries: EntryMaker
  readonly #mask: SecretMask
  readonly #told: Set<string>
  readonly #texts = new Map<string, OpenText>()
  readonly #calls = new Map<string, OpenCall>()

  /** `told`: refs that the timeline holds already. */
  constructor(entries: EntryMaker, mask: SecretMask, told: Iterable<string> = []) {
    this.#entries = entries
    this.#mask = mask
    this.#told = new Set(told)
  }

  /** The call of this id, as far as it is known. */
  callOf(callId: string): Part | undefined {
    return [...this.#calls.values()].find(({ part }) => part.callID === callId)?.part
  }

  /** A part of an answer has changed. `cut`: the turn is being ended, so what ends now was cut. */
  update(part: Part, at: Instant, parent: string | undefined, cut: boolean): DriverSignal[] {
    const kind = blockKindOf(part)
    if (kind !== null) return this.#text(part, kind, at, parent, cut)
    return part.type === 'tool' ? this.#tool(part, at, parent) : []
  }

  /** A piece of a text that is being written. */
  append(partId: string, piece: string): DriverSignal[] {
    const open = this.#texts.get(partId)
    return open === undefined ? [] : grow(open, piece)
  }

  /** Keeps what unfinished texts hold, and closes calls that will get no result. */
  settle(at: Instant, status: 'cancelled' | 'unknown', session?: string): DriverSignal[] {
    const isOf = (id: string) => session === undefined || id === session
    const texts = [...this.#texts.values()].filter((open) => isOf(open.session))
    const calls = [...this.#calls.values()].filter(({ part }) => isOf(part.sessionID))
    return [
      ...texts.map((open): DriverSignal => {
        this.#texts.delete(open.part)
        if (open.text.trim() === '') return { type: 'live.gone', block: open.part }
        const { kind, part, parent } = open
        return this.#entries.block(at, open.text, { kind, part, partial: true, parent })
      }),
      ...calls.map(({ part, parent }) => {
        this.#calls.delete(part.id)
        this.#told.add(`${part.id}:result`)
        return this.#entries.result(at, part, parent, status)
      }),
    ]
  }

  /** An answer is fetched anew: what is unfinished of it is not kept. */
  drop(session: string): DriverSignal[] {
    const gone = [...this.#texts.values()].filter((open) => open.session === session)
    for (const { part } of gone) this.#texts.delete(part)
    return gone
      .filter(({ shown }) => shown > 0)
      .map(({ part }) => ({ type: 'live.gone', block: part }))
  }

  #text(
    part: Part,
    kind: BlockKind,
    at: Instant,
    parent: string | undefined,
    cut: boolean,
  ): DriverSignal[] {
    if (this.#told.has(part.id)) return []
    const open = this.#texts.get(part.id)
    const text = part.text ?? ''
    if (part.time?.end === undefined) {
      if (open === undefined) {
        const made = { kind, part: part.id, session: part.sessionID, parent }
        const added = { ...made, text: '', mask: this.#mask.stream(), shown: 0 }
        this.#texts.set(part.id, added)
        return grow(added, text)
      }
      return text.length > open.text.length && text.startsWith(open.text)
        ? grow(open, text.slice(open.text.length))
        : []
    }
    this.#texts.delete(part.id)
    this.#told.add(part.id)
    if (text.trim() === '') {
      return (open?.shown ?? 0) > 0 ? [{ type: 'live.gone', block: part.id }] : []
    }
    return [
      this.#entries.block(at, text, { kind, part: part.id, partial: cut, ref: part.id, parent }),
    ]
  }

  #tool(part: Part, at: Instant, parent: string | undefined): DriverSignal[] {
    const isStarted = part.state !== undefined && part.state.status !== 'pending'
    if (!isStarted) return []
    const signals: DriverSignal[] = []
    if (!this.#told.has(part.id)) {
      this.#told.add(part.id)
      signals.push(...this.#entries.call(at, part, parent))
    }
    if (this.#told.has(`${part.id}:result`)) return signals
    if (isOver(part)) {
      this.#calls.delete(part.id)
      this.#told.add(`${part.id}:result`)
      return [...signals, this.#entries.result(at, part, parent)]
    }
    const open = this.#calls.get(part.id) ?? {
      ...{ part, parent, mask: this.#mask.stream(), seen: '', shown: 0 },
    }
    open.part = part
    this.#calls.set(part.id, open)
    return [...signals, ...this.#output(open)]
  }

  /** What a call has printed so far, as far as it grows at its end. */
  #output(open: OpenCall): DriverSignal[] {
    const { part, parent } = open
    const output = part.state?.metadata?.output
    if (typeof output !== 'string' || !output.startsWith(open.seen)) return []
    if (open.shown >= OUTPUT_LIMIT) return []
    const text = open.mask.push(output.slice(open.seen.length))
    open.seen = output
    if (text === '') return []
    const offset = open.shown
    open.shown += text.length
    const callId = part.callID ?? part.id
    const block = { block: `output:${part.id}`, kind: 'tool.output' as const, callId, text }
    return [
      { type: 'live', offset, block: { ...block, ...(parent === undefined ? {} : { parent }) } },
    ]
  }
}

function grow(open: OpenText, piece: string): DriverSignal[] {
  if (piece === '') return []
  open.text += piece
  const text = open.mask.push(piece)
  if (text === '') return []
  const offset = open.shown
  open.shown += text.length
  const { part: block, kind, parent } = open
  return [
    {
      type: 'live',
      offset,
      block: { block, kind, text, ...(parent === undefined ? {} : { parent }) },
    },
  ]
}
