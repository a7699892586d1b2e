import type { LiveBlock, TimelineEvent } from '../../src-shared/timeline.ts'
import type { LiveUpdate } from '../../src-shared/timeline-calls.ts'

/** A block grows no further (UTF-16 code units): its finished event brings the whole. */
const LIMIT = 2_000_000

/** How many finished blocks of a session are remembered, so that nothing late begins them again. */
const FINISHED = 64

type SessionBlocks = {
  /** In the order in which they began. */
  blocks: Map<string, LiveBlock>
  finished: Set<string>
}

/**
 * The unfinished blocks of all sessions, shown and never stored. They live until the event of the same block is
 * stored, until the agent says that none will come, or until the session's lease ends.
 */
export class LiveBlocks {
  readonly #sessions = new Map<string, SessionBlocks>()

  /**
   * Adds a piece of text at its offset. What was there before is passed over; false when text is missing between
   * what is held and the piece, which is then not taken.
   */
  append(session: string, piece: LiveUpdate): boolean {
    const of = this.#of(session)
    if (of.finished.has(piece.block)) return true
    const held = of.blocks.get(piece.block)
    const length = held?.text.length ?? 0
    if (piece.offset > length) return false
    if (held === undefined) {
      const { offset: _, ...block } = piece
      of.blocks.set(piece.block, block)
      return true
    }
    const fresh = piece.text.slice(length - piece.offset)
    if (fresh !== '' && length < LIMIT) {
      of.blocks.set(piece.block, { ...held, text: held.text + fresh })
    }
    return true
  }

  drop(session: string, block: string): void {
    this.#sessions.get(session)?.blocks.delete(block)
  }

  /** The event that finishes a block is stored: the block is shown by it from now on. */
  stored(event: TimelineEvent): void {
    if (event.kind === 'tool.result') {
      const of = this.#sessions.get(event.session)
      for (const block of of?.blocks.values() ?? []) {
        if (block.callId === event.callId && block.kind === 'tool.output') {
          this.#finish(event.session, block.block)
        }
      }
      return
    }
    if ('block' in event && event.block !== undefined) this.#finish(event.session, event.block)
  }

  /** The lease is over: nothing will finish what is left. */
  clear(session: string): void {
    this.#sessions.delete(session)
  }

  of(session: string): readonly LiveBlock[] {
    return [...(this.#sessions.get(session)?.blocks.values() ?? [])]
  }

  /** Whether a client has a block that does not live any more. */
  anyGone(session: string, has: Readonly<Record<string, number>>): boolean {
    const blocks = this.#sessions.get(session)?.blocks
    return Object.keys(has).some((block) => blocks?.has(block) !== true)
  }

  /** What a client lacks of the blocks, when it has so much of each. */
  news(session: string, has: Readonly<Record<string, number>>): LiveUpdate[] {
    const updates: LiveUpdate[] = []
    for (const block of this.#sessions.get(session)?.blocks.values() ?? []) {
      const length = Object.hasOwn(has, block.block) ? has[block.block] : undefined
      if (length === block.text.length) continue
      // A client that has more than there is has another block of that name.
      const offset = length === undefined || length > block.text.length ? 0 : length
      updates.push({ ...block, offset, text: block.text.slice(offset) })
    }
    return updates
  }

  #of(session: string): SessionBlocks {
    const existing = this.#sessions.get(session)
    if (existing !== undefined) return existing
    const made: SessionBlocks = { blocks: new Map(), finished: new Set() }
    this.#sessions.set(session, made)
    return made
  }

  #finish(session: string, block: string): void {
    const of = this.#of(session)
    of.blocks.delete(block)
    of.finished.add(block)
    if (of.finished.size <= FINISHED) return
    const [oldest] = of.finished
    if (oldest !== undefined) of.finished.delete(oldest)
  }
}
