import type { DriverSignal } from '../driver.ts'
import type { SecretMask, StreamMask } from '../mask-secrets.ts'

export type BlockKind = 'assistant.text' | 'assistant.thinking'

type OpenBlock = {
  id: string
  message: string
  kind: BlockKind
  parent: string | undefined
  /** As the runtime sent it, secrets not masked. */
  text: string
  mask: StreamMask
  /** UTF-16 units that were shown. */
  shown: number
}

/** A block that ended without being finished. */
export type CutBlock = Pick<OpenBlock, 'id' | 'kind' | 'parent' | 'text'>

/** The unfinished blocks of text and thinking. A conversation is the main one or that of one subagent (`parent`). */
export class LiveBlocks {
  readonly #mask: SecretMask
  readonly #open = new Map<string, OpenBlock>()
  /** The message that each conversation is receiving, and how many of its blocks are finished. */
  readonly #messages = new Map<string, { id: string; finished: number }>()

  constructor(mask: SecretMask) {
    this.#mask = mask
  }

  /** Blocks of this message come now; those of an earlier one that were never finished are generated anew. */
  begin(message: string, parent: string | undefined): DriverSignal[] {
    if (this.#messages.get(parent ?? '')?.id === message) return []
    const gone = this.drop(parent)
    this.#messages.set(parent ?? '', { id: message, finished: 0 })
    return gone
  }

  open(index: number, kind: BlockKind, parent: string | undefined): void {
    const message = this.#messages.get(parent ?? '')
    if (message === undefined) return
    const id = blockId(message.id, index)
    const mask = this.#mask.stream()
    this.#open.set(id, { id, message: message.id, kind, parent, text: '', mask, shown: 0 })
  }

  append(index: number, piece: string, parent: string | undefined): DriverSignal[] {
    const message = this.#messages.get(parent ?? '')
    const block = message && this.#open.get(blockId(message.id, index))
    if (block === undefined || piece === '') return []
    block.text += piece
    const text = block.mask.push(piece)
    if (text === '') return []
    const offset = block.shown
    block.shown += text.length
    const { id, kind } = block
    const owner = block.parent === undefined ? {} : { parent: block.parent }
    return [{ type: 'live', offset, block: { block: id, kind, text, ...owner } }]
  }

  /** One block of a message is finished: the name of the live block that it ends. Count every block, of any kind. */
  finish(message: string, kind: BlockKind | null, parent: string | undefined): string {
    const current = this.#messages.get(parent ?? '')
    const counted = blockId(message, current?.finished ?? 0)
    if (current !== undefined) current.finished += 1
    if (kind === null) return counted
    // The first open one of its kind: the runtime leaves out blocks without text, which the count cannot know.
    const open = [...this.#open.values()].find(
      (block) => block.message === message && block.kind === kind,
    )
    const id = open?.id ?? counted
    this.#open.delete(id)
    return id
  }

  /** Gives up the unfinished blocks of a conversation, without keeping what they held. */
  drop(parent: string | undefined): DriverSignal[] {
    const gone = [...this.#open.values()].filter((block) => block.parent === parent)
    for (const block of gone) this.#open.delete(block.id)
    return gone
      .filter((block) => block.shown > 0)
      .map((block) => ({ type: 'live.gone', block: block.id }))
  }

  /** Takes out every unfinished block, when nothing more will come. */
  cut(): CutBlock[] {
    const cut = [...this.#open.values()]
    this.#open.clear()
    this.#messages.clear()
    return cut
  }
}

export function blockId(message: string, index: number): string {
  return `${message}:${index}`
}
