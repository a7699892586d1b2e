import type { Usage } from '../../src-shared/records.ts'
import { assertNever } from '../../src-shared/refusal.ts'
import type { EventBody } from '../../src-shared/timeline.ts'
import type { SaidOfSession } from './standing-reason.ts'

/** Why a session waits after a turn, and what a person can do; nothing where all went well. */
export function afterTurn(
  event: Extract<EventBody, { kind: 'turn.ended' }>,
  standing: SaidOfSession,
): SaidOfSession {
  const { detail = '', hint } = event
  switch (event.reason) {
    case 'completed':
      return standing
    case 'interrupted':
      return ['interrupted', '']
    case 'failed':
      return [detail || 'the turn failed', hint ?? 'Send a message to try again.']
    case 'limit':
      return [detail || 'a limit was reached', hint ?? 'Send a message to go on.']
    case 'killed':
      return [detail || 'the turn was cut', hint ?? 'Send a message to go on.']
    default:
      return assertNever(event.reason)
  }
}

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
  }
}
