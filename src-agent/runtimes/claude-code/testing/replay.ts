import { readFileSync } from 'node:fs'
import { DeliveryId, Instant } from '../../../../src-shared/ids.ts'
import type { DriverSignal } from '../../driver.ts'
import { LineFramer } from '../../line-framing.ts'
import { SecretMask } from '../../mask-secrets.ts'
import { decodeLine } from '../lines.ts'
import { Normalizer } from '../normalize.ts'

type CapturedLine = { t: number; dir: string; line: Readonly<Record<string, unknown>> }

const BEGIN = Date.parse('2026-11-29T15:28:56.000Z')

/** What the driver makes of a captured run of the real runtime (`captures/<scenario>.<version>.jsonl`). */
export function replay(scenario: string, version = '2.1.332'): DriverSignal[] {
  const file = new URL(`../captures/${scenario}.${version}.jsonl`, import.meta.url)
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as CapturedLine)
  const signals: DriverSignal[] = []
  let normalizer = newNormalizer()
  for (const { t, dir, line } of lines) {
    const at = Instant.parse(new Date(BEGIN + t).toISOString())
    if (dir === 'spawn') normalizer = newNormalizer()
    if (dir === 'in' && line.type === 'user' && typeof line.uuid === 'string') {
      if (!normalizer.turnRuns) normalizer.handedOver.expect(DeliveryId.parse(line.uuid))
    }
    if (dir === 'in' && isInterrupt(line)) normalizer.interrupting()
    if (dir === 'out') signals.push(...feed(normalizer, JSON.stringify(line), at))
    if (dir === 'exit') signals.push(...normalizer.died(at, 'ended', 'go on'))
  }
  return signals
}

/** Puts bytes through framing, decoding and normalizing. */
export function feed(
  normalizer: Normalizer,
  bytes: string | Buffer,
  at: Instant,
  capBytes?: number,
): DriverSignal[] {
  const signals: DriverSignal[] = []
  const framer = new LineFramer(
    (framed) => {
      if (framed.kind === 'oversized') {
        signals.push(...normalizer.oversized(framed.head, framed.bytes, at))
        return
      }
      const decoded = decodeLine(framed.text)
      if (decoded.kind === 'garbage') signals.push(...normalizer.garbage(framed.text, at))
      if (decoded.kind === 'unknown') signals.push(...normalizer.unknown(decoded.type, at))
      if (decoded.kind !== 'line') return
      const { line } = decoded
      if (line.type.startsWith('control_')) return
      signals.push(...normalizer.line(line as Parameters<Normalizer['line']>[0], at))
    },
    capBytes === undefined ? {} : { capBytes },
  )
  framer.push(Buffer.from(bytes as string))
  framer.end()
  return signals
}

export function newNormalizer(env: Readonly<Record<string, string>> = {}): Normalizer {
  return new Normalizer({ cwd: '/workspace', mask: new SecretMask(env) })
}

/** One short line for each signal; live deltas are left out unless asked for. */
export function tell(signals: readonly DriverSignal[], options = { live: false }): string[] {
  return signals.flatMap((signal) => tellOne(signal, options.live))
}

function tellOne(signal: DriverSignal, live: boolean): string[] {
  switch (signal.type) {
    case 'turn.started':
      return [`turn.started ${signal.deliveries.length}`]
    case 'turn.ended': {
      const detail = signal.detail === undefined ? '' : `: ${signal.detail.split('\n')[0]}`
      return [`turn.ended ${signal.reason}${detail}`]
    }
    case 'turn.joined':
    case 'withdrawn':
      return [`${signal.type} ${signal.deliveries.length}`]
    case 'delivered':
      return [`delivered ${signal.deliveries.length}`]
    case 'live':
      return live ? [`live ${signal.block.kind} @${signal.offset} ${signal.block.text}`] : []
    case 'live.gone':
      return ['live.gone']
    case 'request.withdrawn':
      return ['request.withdrawn']
    case 'exited':
      return [`exited ${signal.expected ? 'expected' : 'unexpected'}`]
    case 'event':
      return [tellEvent(signal.event)]
  }
}

function tellEvent(event: Extract<DriverSignal, { type: 'event' }>['event']): string {
  const parent = event.parent === undefined ? '' : '> '
  switch (event.kind) {
    case 'assistant.text':
    case 'assistant.thinking': {
      const kind = event.kind === 'assistant.text' ? 'text' : 'thinking'
      return `${parent}${kind}${event.partial ? ' (cut)' : ''}: ${event.text}`
    }
    case 'tool.call':
      return `${parent}call ${event.toolKind} ${event.name}: ${event.title}`
    case 'tool.result':
      return `${parent}result ${event.status}: ${event.output.split('\n')[0]?.slice(0, 60)}`
    case 'todo':
      return `todo ${event.items.map((item) => `${item.status} ${item.text}`).join(', ')}`
    case 'cost':
      return `cost ${event.costUsd.toFixed(5)}`
    case 'notice':
      return `${parent}${event.level} ${event.code}: ${event.text.split('\n')[0]}`
    case 'request.opened':
      return `request ${event.toolKind} ${event.title}`
    case 'park.step':
    case 'resume.step':
      return `step ${event.step}`
  }
}

function isInterrupt(line: Readonly<Record<string, unknown>>): boolean {
  const request = line.request as { subtype?: unknown } | undefined
  return line.type === 'control_request' && request?.subtype === 'interrupt'
}
