import type { LiveBlock } from '../../src-shared/timeline.ts'
import type { LiveUpdate } from '../../src-shared/timeline-calls.ts'

/** The live blocks of a session in the order in which they began; a block is replaced when it grew. */
export type LiveBlocks = ReadonlyMap<string, LiveBlock>

/** What `timeline.follow` is told: the length that the window has of each block. */
export function liveLengths(blocks: LiveBlocks): Record<string, number> {
  const lengths: Record<string, number> = {}
  for (const [name, block] of blocks) lengths[name] = block.text.length
  return lengths
}

/**
 * The blocks after one answer. A piece that begins further on than what is here is not joined: the
 * block then counts as empty, and the next question asks for the whole of it.
 */
export function growBlocks(before: LiveBlocks, updates: LiveUpdate[], names: string[]): LiveBlocks {
  let after: Map<string, LiveBlock> | undefined
  for (const { offset, ...update } of updates) {
    const known = (after ?? before).get(update.block)?.text ?? ''
    if (known.length === offset && update.text === '' && known !== '') continue
    after ??= new Map(before)
    const text = offset > known.length ? '' : known.slice(0, offset) + update.text
    after.set(update.block, { ...update, text })
  }
  const kept = new Set(names)
  for (const name of before.keys()) {
    if (kept.has(name)) continue
    after ??= new Map(before)
    after.delete(name)
  }
  for (const name of after?.keys() ?? []) if (!kept.has(name)) after?.delete(name)
  return after ?? before
}
