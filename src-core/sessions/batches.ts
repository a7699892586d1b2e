import type { z } from 'zod'
import type { AgentItem, BlobText, ItemBatch } from '../../src-shared/agent-wire.ts'
import type { Items } from '../decide/plain-items.ts'

export type Batch = z.infer<typeof ItemBatch>

/** Number of a batch's last item. */
export const lastOf = (batch: Batch) => batch.from + batch.items.length - 1

/** The most items of one commit. */
const COMMIT_ITEMS = 1_000

/** As many of the first batches as fit into one commit, at least one. */
export function takeBatches(batches: readonly Batch[]): Batch[] {
  const taken: Batch[] = []
  let items = 0
  for (const batch of batches) {
    if (taken.length > 0 && items + batch.items.length > COMMIT_ITEMS) break
    taken.push(batch)
    items += batch.items.length
  }
  return taken
}

/** What was told before the first parked work among it. */
export function beforeParked(batches: readonly Batch[]): Batch[] {
  const before: Batch[] = []
  for (const batch of batches) {
    const at = batch.items.findIndex(({ type }) => type === 'parked')
    if (at !== 0) before.push(at < 0 ? batch : { ...batch, items: batch.items.slice(0, at) })
    if (at >= 0) break
  }
  return before
}

/** The items after `lastItem`, without repetitions, up to where one is missing. */
export function freshItems(batches: readonly Batch[], lastItem: number): Items & { gap: boolean } {
  const items: z.infer<typeof AgentItem>[] = []
  const blobs: z.infer<typeof BlobText>[] = []
  let last = lastItem
  for (const batch of batches) {
    const end = lastOf(batch)
    if (end <= last) continue
    if (batch.from > last + 1) return { last, items, blobs, gap: true }
    items.push(...batch.items.slice(last + 1 - batch.from))
    blobs.push(...batch.blobs)
    last = end
  }
  return { last, items, blobs, gap: false }
}
