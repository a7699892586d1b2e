import type { OpenDelivery } from '../../../src-shared/agent-wire.ts'
import { type DeliveryId, Instant } from '../../../src-shared/ids.ts'
import { asCutTurn } from '../cut-turn.ts'
import type { DriverSignal, Fate, Recovery, ResumeFacts } from '../driver.ts'
import type { SecretMask } from '../mask-secrets.ts'
import { EntryMaker, resultRef } from './entries.ts'
import { readItem } from './items.ts'
import { Item, type Turn, UserMessage } from './protocol.ts'

type Options = { facts: ResumeFacts; cwd: string; mask: SecretMask; now: () => Instant }

/** A message and what came of it. */
type Segment = { delivery: string | null; items: Item[] }

/** What of the newest turns the timeline lacks, and what became of open deliveries. `turns`: the oldest first. */
export function recover(turns: readonly Turn[], options: Options): Recovery {
  const { facts } = options
  const open = new Map<string, OpenDelivery>(facts.openDeliveries.map((each) => [each.id, each]))
  const fates = new Map<DeliveryId, Fate>()
  let last: Segment = { delivery: null, items: [] }
  for (const turn of turns) {
    last = { delivery: null, items: [] }
    for (const item of itemsOf(turn)) {
      const message = UserMessage.safeParse(item).data
      if (message === undefined) {
        last.items.push(item)
        continue
      }
      const delivery = open.get(message.clientId ?? '')
      const isFirst = last.delivery === null && last.items.length === 0
      if (delivery !== undefined) fates.set(delivery.id, isFirst ? 'delivered' : 'joined')
      if (isFirst) last.delivery = message.clientId ?? ''
    }
  }
  for (const { id } of open.values()) if (!fates.has(id)) fates.set(id, 'never')
  return { signals: recoverLast(last, open, fates, options), fates }
}

function recoverLast(
  last: Segment,
  open: ReadonlyMap<string, OpenDelivery>,
  fates: ReadonlyMap<DeliveryId, Fate>,
  options: Options,
): DriverSignal[] {
  const { facts, now } = options
  const delivery = open.get(last.delivery ?? '')
  if (delivery === undefined) {
    // Without what began the cut turn the last one in the record is one that the timeline holds to its end.
    const isLost = [...open.values()].some(({ id, steer }) => !steer && fates.get(id) === 'never')
    return facts.turnCut && !isLost ? recoverItems(last.items, options) : []
  }
  const signals = recoverItems(last.items, options)
  // Nobody has seen the turn of this delivery yet: it is told whole, with its beginning and its end.
  return facts.turnCut && !delivery.steer ? signals : asCutTurn(delivery, signals, now)
}

export function itemsOf(turn: Turn): Item[] {
  return turn.items.flatMap((value) => Item.safeParse(value).data ?? [])
}

function recoverItems(items: readonly Item[], options: Options): DriverSignal[] {
  const { facts, cwd, now } = options
  const entries = new EntryMaker(options.mask)
  const stored = new Set(facts.storedRefs)
  return items.flatMap((item) => {
    const at = instantOf(item, now)
    const seen = readItem(item, cwd)
    if (seen.kind === 'text' && !stored.has(item.id)) {
      const made = entries.block(at, seen.block, seen.text, { block: item.id, ref: item.id })
      return made === null ? [] : [made]
    }
    if (seen.kind !== 'call') return []
    const result = seen.result ?? { status: 'unknown' as const, output: '' }
    return [
      ...(stored.has(item.id) ? [] : [entries.call(at, item.id, seen.call)]),
      ...(stored.has(resultRef(item.id)) ? [] : [entries.result(at, item.id, result)]),
    ]
  })
}

function instantOf(item: Item, now: () => Instant): Instant {
  const { completedAtMs } = item
  if (typeof completedAtMs !== 'number' || !Number.isFinite(completedAtMs)) return now()
  const parsed = Instant.safeParse(new Date(completedAtMs).toISOString())
  return parsed.success ? parsed.data : now()
}
