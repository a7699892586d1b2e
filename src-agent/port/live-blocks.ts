import type { LiveBlock } from '../../src-shared/timeline.ts'

export type LivePart = { offset: number; block: LiveBlock }

type Growing = {
  head: Omit<LiveBlock, 'text'>
  text: string
  /** How much of the text was sent. */
  sent: number
  /** When something of it was sent last; milliseconds. */
  sentAt: number
}

/** The unfinished blocks of the running turn: their whole text, and what of it the host does not have yet. */
export class LiveBlocks {
  readonly #blocks = new Map<string, Growing>()

  /** Appends at the offset; an offset before the end takes back what was beyond it. */
  append({ offset, block }: LivePart): void {
    const { text, ...head } = block
    const known = this.#blocks.get(block.block)
    if (known === undefined) {
      this.#blocks.set(block.block, { head, text, sent: 0, sentAt: Number.NEGATIVE_INFINITY })
      return
    }
    known.text = known.text.slice(0, offset) + text
    known.sent = Math.min(known.sent, offset)
  }

  /** What can be sent of a block now; null when nothing, or when something of it was sent less than `everyMs` ago. */
  take(name: string, now: number, everyMs: number): LivePart | null {
    const block = this.#blocks.get(name)
    if (block === undefined || now - block.sentAt < everyMs) return null
    if (block.text.length <= block.sent) return null
    const offset = block.sent
    const text = block.text.slice(offset)
    block.sent = block.text.length
    block.sentAt = now
    return { offset, block: { ...block.head, text } }
  }

  /** Names of the blocks of which something may be left to send. */
  names(): string[] {
    return [...this.#blocks.keys()]
  }

  hasUnsent(): boolean {
    return [...this.#blocks.values()].some(({ text, sent }) => text.length > sent)
  }

  /** False when there was no such block. */
  remove(name: string): boolean {
    return this.#blocks.delete(name)
  }

  /** The blocks that show the output of a call. */
  ofCall(callId: string): string[] {
    return [...this.#blocks.values()].flatMap(({ head }) =>
      head.kind === 'tool.output' && head.callId === callId ? [head.block] : [],
    )
  }

  all(): LiveBlock[] {
    return [...this.#blocks.values()].map(({ head, text }) => ({ ...head, text }))
  }
}
