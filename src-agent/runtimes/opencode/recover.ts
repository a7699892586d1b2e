import type { OpenDelivery } from '../../../src-shared/agent-wire.ts'
import { type DeliveryId, Instant } from '../../../src-shared/ids.ts'
import { asCutTurn } from '../cut-turn.ts'
import type { DriverSignal, Fate, Recovery, ResumeFacts } from '../driver.ts'
import type { SecretMask } from '../mask-secrets.ts'
import { EntryMaker } from './entries.ts'
import { deliveryOf } from './handed-over.ts'
import { PartBook } from './part-book.ts'
import type { StoredMessage } from './wire.ts'

type Options = {
  facts: ResumeFacts
  cwd: string
  mask: SecretMask
  servers: readonly string[]
  now: () => Instant
}

/** A message and what came of it. */
type Segment = { delivery: string | undefined; answers: StoredMessage[] }

/** What the record of a conversation holds and the timeline lacks. */
export function recover(messages: readonly StoredMessage[], options: Options): Recovery {
  const { facts } = options
  const open = new Map<string, OpenDelivery>(facts.openDeliveries.map((each) => [each.id, each]))
  const fates = new Map<DeliveryId, Fate>()
  const answered = new Set(messages.flatMap(({ info }) => info.parentID ?? []))
  let last: Segment = { delivery: undefined, answers: [] }
  for (const message of messages) {
    if (message.info.role !== 'user') {
      if (message.info.role === 'assistant') last.answers.push(message)
      continue
    }
    const delivery = message.parts.map(deliveryOf).find((each) => each !== undefined)
    // What opencode says to itself, such as after a summary, belongs to the turn that it goes on with.
    if (delivery === undefined) continue
    const known = open.get(delivery)
    const hasJoined = known?.steer === true && facts.turnCut
    if (known !== undefined) fates.set(known.id, hasJoined ? 'joined' : 'delivered')
    if (!hasJoined || !answered.has(message.info.id)) last = { delivery, answers: [] }
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
  const delivery = last.delivery === undefined ? undefined : open.get(last.delivery)
  if (delivery === undefined) {
    // Without what began the cut turn the last message is that of one which the timeline holds to its end.
    const isLost = [...open.values()].some(({ id, steer }) => !steer && fates.get(id) === 'never')
    return facts.turnCut && !isLost ? recoverSegment(last, options) : []
  }
  const signals = recoverSegment(last, options)
  // Nobody has seen the turn of this delivery yet: it is told whole, with its beginning and its end.
  return facts.turnCut ? signals : asCutTurn(delivery, signals, now)
}

function recoverSegment({ answers }: Segment, options: Options): DriverSignal[] {
  const { facts, now, cwd, mask, servers } = options
  const book = new PartBook(new EntryMaker(cwd, mask, servers), mask, facts.storedRefs)
  const signals: DriverSignal[] = []
  let at = now()
  for (const { info, parts } of answers) {
    for (const part of parts) {
      const { end, start } = part.state?.time ?? part.time ?? {}
      at = instantOf(end ?? start ?? info.time.created, now)
      signals.push(...book.update(part, at, undefined, false))
    }
  }
  signals.push(...book.settle(at, 'unknown'))
  const told = new Set(
    signals.flatMap((signal) =>
      signal.type === 'event' && signal.event.kind === 'tool.call' ? [signal.event.callId] : [],
    ),
  )
  return signals.filter(
    (signal) =>
      signal.type === 'event' &&
      // Calls that the timeline has are closed there already, or Core closes them; the record knows no more of them.
      !(
        signal.event.kind === 'tool.result' &&
        signal.event.status === 'unknown' &&
        !told.has(signal.event.callId)
      ),
  )
}

function instantOf(ms: number | undefined, now: () => Instant): Instant {
  const date = new Date(ms ?? Number.NaN)
  return Number.isNaN(date.getTime()) ? now() : Instant.parse(date.toISOString())
}
