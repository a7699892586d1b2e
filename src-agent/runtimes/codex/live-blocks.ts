import type { DriverSignal } from '../driver.ts'
import type { SecretMask, StreamMask } from '../mask-secrets.ts'

type Kind = 'assistant.text' | 'assistant.thinking' | 'tool.output'

type Open = {
  kind: Kind
  /** As the server sent it, secrets not masked. */
  text: string
  mask: StreamMask
  /** UTF-16 units that were shown. */
  shown: number
}

/** Of a command that prints for ever, no more is shown while it runs, in UTF-16 units. */
const OUTPUT_SHOWN = 256 * 1_024

/** What of unfinished items was told so far, by the ids of the items. */
export class LiveBlocks {
  readonly #mask: SecretMask
  readonly #open = new Map<string, Open>()

  constructor(mask: SecretMask) {
    this.#mask = mask
  }

  append(id: string, kind: Kind, piece: string): DriverSignal[] {
    let block = this.#open.get(id)
    if (block === undefined) {
      block = { kind, text: '', mask: this.#mask.stream(), shown: 0 }
      this.#open.set(id, block)
    }
    if (kind === 'tool.output' && block.text.length > OUTPUT_SHOWN) return []
    block.text += piece
    const text = block.mask.push(piece)
    if (text === '') return []
    const offset = block.shown
    block.shown += text.length
    const call = kind === 'tool.output' ? { callId: id } : {}
    return [{ type: 'live', offset, block: { block: liveId(id, kind), kind, text, ...call } }]
  }

  /** The item is finished, or given up. Gives all that came of it. */
  finish(id: string): string {
    const text = this.#open.get(id)?.text ?? ''
    this.#open.delete(id)
    return text
  }

  /** Takes out the unfinished texts and thoughts, when nothing more will come of them. */
  cut(): { id: string; kind: 'assistant.text' | 'assistant.thinking'; text: string }[] {
    const cut = [...this.#open].flatMap(([id, { kind, text }]) =>
      kind === 'tool.output' ? [] : [{ id, kind, text }],
    )
    for (const { id } of cut) this.#open.delete(id)
    return cut
  }
}

function liveId(item: string, kind: Kind): string {
  return kind === 'tool.output' ? `${item}:output` : item
}
