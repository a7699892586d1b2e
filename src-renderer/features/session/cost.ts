import '../../sync/without-jit.ts'
import type { Session } from '../../../src-shared/records.ts'
import { capabilitiesOf } from '../../../src-shared/runtimes.ts'
import { useRecords } from '../../sync/records.ts'
import { money } from '../../ui/words.ts'

/** What a session cost so far; a dash where its runtime never tells. */
export function costText(
  { costUsd }: Pick<Session, 'costUsd'>,
  capabilities: { cost: boolean } | undefined,
): string {
  return capabilities?.cost === false && costUsd === 0 ? '—' : money(costUsd)
}

export const useCost = (session: Session): string =>
  costText(
    session,
    useRecords(({ runtimes, settings }) =>
      capabilitiesOf(session.runtime, runtimes, settings.get('settings')?.acpAgents),
    ),
  )
