import { readFileSync } from 'node:fs'
import { DeliveryId, Instant } from '../../../../src-shared/ids.ts'
import type { DriverSignal } from '../../driver.ts'
import { SecretMask } from '../../mask-secrets.ts'
import { EventReader } from '../event-stream.ts'
import { DELIVERY_FIELD } from '../handed-over.ts'
import { Normalizer } from '../normalize.ts'

const BEGIN = Date.parse('2026-11-29T02:30:00.000Z')
/** Every message of a capture is this delivery. */
export const DELIVERY = DeliveryId.parse('019b0000-0000-7000-8000-000000000001')

type Captured = { at: number; type: string; properties: Record<string, unknown> }

/** What the driver makes of captured events of the real server (`captures/<scenario>.1.18.33.jsonl`). */
export function replay(scenario: string): { signals: DriverSignal[]; normalizer: Normalizer } {
  const file = new URL(`../captures/${scenario}.1.18.33.jsonl`, import.meta.url)
  const events = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Captured)
  const conversation = String(
    events.find(({ type }) => type === 'session.created')?.properties.sessionID ??
      events.find(({ properties }) => properties.sessionID !== undefined)?.properties.sessionID,
  )
  const normalizer = newNormalizer(conversation)
  const signals = events.flatMap((event) => {
    if (!normalizer.turnRuns) normalizer.handedOver.expect(DELIVERY)
    return feed(normalizer, `data: ${JSON.stringify(withDelivery(event))}\n\n`, at(event.at))
  })
  return { signals, normalizer }
}

export function at(ms: number): Instant {
  return Instant.parse(new Date(BEGIN + ms).toISOString())
}

/** As the driver hands a message over; answers have times, so their texts are never taken for one. */
function withDelivery(event: Captured): Captured {
  const { part } = event.properties as { part?: Record<string, unknown> }
  if (part?.type !== 'text' || part.time !== undefined) return event
  const marked = { ...part, metadata: { [DELIVERY_FIELD]: DELIVERY } }
  return { ...event, properties: { ...event.properties, part: marked } }
}

/** Puts bytes of a stream through reading, decoding and normalizing. */
export function feed(
  normalizer: Normalizer,
  bytes: string | Uint8Array,
  time: Instant,
  capBytes?: number,
): DriverSignal[] {
  const signals: DriverSignal[] = []
  const reader = new EventReader(
    {
      onEvent: (decoded, text) => {
        if (decoded.kind === 'garbage') signals.push(...normalizer.strange.garbage(text, time))
        else if (decoded.kind === 'unknown')
          signals.push(...normalizer.strange.unknown(decoded.type, time))
        else if (!isPrompt(decoded.event)) signals.push(...normalizer.event(decoded.event, time))
      },
      onOversized: (head, size) => signals.push(...normalizer.strange.oversized(head, size, time)),
    },
    capBytes,
  )
  reader.push(Buffer.from(bytes as string))
  return signals
}

type Told = Parameters<Normalizer['event']>[0]

function isPrompt<E extends { type: string }>(event: E): event is Exclude<E, Told> {
  return event.type.startsWith('permission.')
}

export function newNormalizer(
  conversation: string,
  env: Readonly<Record<string, string>> = {},
): Normalizer {
  const options = { conversation, cwd: '/workspace', servers: ['human'] }
  return new Normalizer({ ...options, mask: new SecretMask(env) })
}
