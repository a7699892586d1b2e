import type { TurnEndReason } from '../../src-shared/timeline.ts'

/** Why a turn ended. `cut`: of an interrupted one that the runtime did not end in order. */
export type TurnEnd = { reason: TurnEndReason; detail?: string; hint?: string; cut?: true }

/** What a driver knows of a turn that it ends, or that a person does. */
type Ending = { ended: TurnEnd | null; interrupting: boolean }

/** Of a turn whose runtime is gone: what it did not record by then, it does not know. */
export function endByDeath(
  { ended, interrupting }: Ending,
  why: { detail: string; hint: string },
): TurnEnd {
  const end = ended ?? (interrupting ? { reason: 'interrupted' as const } : null)
  if (end === null) return { reason: 'killed', ...why }
  return end.reason === 'interrupted' ? { ...end, cut: true } : end
}
