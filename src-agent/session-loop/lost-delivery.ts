import type { Recovery } from '../runtimes/driver.ts'
import type { Open } from './deliveries.ts'

type Lost = { fate: 'never' | 'unknown'; reason: string }

/**
 * What is said of a delivery that the runtime before this one was given, and that its record does not hold. `facts`: of
 * the conversation that is gone on with, if one is; `wasInterrupted`: a person interrupted the last turn, and the runtime
 * ended before it had ended that in order.
 */
export function lostDelivery(
  { id, began }: Open,
  {
    recovery,
    facts,
    wasInterrupted,
  }: { recovery: Recovery; facts: object | null; wasInterrupted: boolean },
): Lost {
  if (began && wasInterrupted) {
    // Who interrupted it decides whether it is said again.
    const reason =
      'Its turn was interrupted, and the runtime ended before it had recorded the message.'
    return { fate: 'unknown', reason }
  }
  // A conversation that never began holds nothing.
  if (facts === null || recovery.fates.get(id) === 'never') {
    return { fate: 'never', reason: 'The runtime ended before it had the message.' }
  }
  const reason = 'The runtime ended before it said whether it had the message.'
  return { fate: 'unknown', reason }
}
