import type { OpenDelivery } from '../../src-shared/agent-wire.ts'
import type { Instant } from '../../src-shared/ids.ts'
import type { DriverSignal } from './driver.ts'
import { NO_USAGE } from './no-usage.ts'

/** What a runtime's record holds of a turn that nobody told of, as the cut turn that it was. */
export function asCutTurn(
  open: OpenDelivery,
  signals: readonly DriverSignal[],
  now: () => Instant,
): DriverSignal[] {
  const times = signals.flatMap((each) => ('at' in each ? [each.at] : []))
  const begin = times[0] ?? now()
  const last = times.at(-1) ?? begin
  return [
    { type: 'turn.started', at: begin, deliveries: [open.id] },
    ...signals,
    {
      type: 'turn.ended',
      at: last,
      reason: 'killed',
      durationMs: Math.max(0, Date.parse(last) - Date.parse(begin)),
      usage: NO_USAGE,
      costUsd: 0,
      detail: 'The runtime or its agent ended while the turn was running.',
      hint: 'Send a message to let it go on.',
    },
  ]
}
