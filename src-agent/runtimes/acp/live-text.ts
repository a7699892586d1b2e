import type { DriverSignal } from '../driver.ts'
import type { SecretMask, StreamMask } from '../mask-secrets.ts'

export type TextKind = 'assistant.text' | 'assistant.thinking'

/** The block of text or thinking that the agent is writing; the protocol never says when one ends. */
export class LiveText {
  readonly kind: TextKind
  readonly id: string
  /** The agent's own name of the message; null where it gives none. */
  readonly message: string | null
  /** As the agent sent it, secrets not masked. */
  text = ''
  readonly #mask: StreamMask
  #shown = 0

  constructor(kind: TextKind, id: string, message: string | null, mask: SecretMask) {
    this.kind = kind
    this.id = id
    this.message = message
    this.#mask = mask.stream()
  }

  append(piece: string): DriverSignal[] {
    if (piece === '') return []
    this.text += piece
    const text = this.#mask.push(piece)
    if (text === '') return []
    const offset = this.#shown
    this.#shown += text.length
    return [{ type: 'live', offset, block: { block: this.id, kind: this.kind, text } }]
  }
}

/** UTF-16 units of a call's output that are shown while it runs. */
const OUTPUT_LIMIT = 64 * 1_024

/** The output of a call that still runs, as far as it grows at its end. */
export class LiveOutput {
  readonly #callId: string
  readonly #mask: StreamMask
  #seen = ''
  #shown = 0

  constructor(callId: string, mask: SecretMask) {
    this.#callId = callId
    this.#mask = mask.stream()
  }

  /** Takes the whole output so far; one that is not longer than before shows nothing. */
  become(whole: string): DriverSignal[] {
    if (!whole.startsWith(this.#seen) || this.#shown >= OUTPUT_LIMIT) return []
    const text = this.#mask.push(whole.slice(this.#seen.length))
    this.#seen = whole
    if (text === '') return []
    const offset = this.#shown
    this.#shown += text.length
    const block = { block: `output:${this.#callId}`, kind: 'tool.output' as const }
    return [{ type: 'live', offset, block: { ...block, callId: this.#callId, text } }]
  }
}
