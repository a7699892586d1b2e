import type { Delivery } from '../../src-shared/agent-wire.ts'
import type { DeliveryId } from '../../src-shared/ids.ts'
import { cutPreface } from '../sessions/prompt.ts'
import type { InputRow, SessionRow } from '../storage/rows.ts'

/** Queued inputs as one, in their order, after what the runtime has to be told first. */
export function mergedDelivery(
  id: DeliveryId,
  inputs: readonly InputRow[],
  { turnCut, reason, preface }: Pick<SessionRow, 'turnCut' | 'reason' | 'preface'>,
): Delivery {
  const prefaces = [
    ...(turnCut ? [cutPreface(reason)] : []),
    ...(preface === null ? [] : [preface]),
  ]
  return {
    id,
    inputs: inputs.map((input) => input.id),
    text: inputs
      .map((input) => input.text)
      .filter((text) => text !== '')
      .join('\n\n'),
    ...(prefaces.length === 0 ? {} : { preface: prefaces.join('\n\n') }),
  }
}
