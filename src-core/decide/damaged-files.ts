import { DAMAGED } from '../../src-shared/parking.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import type { KeptWork } from '../storage/rows.ts'
import { isKeptOnly } from './kept-work.ts'
import type { SessionDraft } from './session-draft.ts'

type Files = KeptWork['work']['files']

/** Kept files of a session but for those that were left out of its last restore because they are damaged. */
export function usableFiles({ work, leftOut = [] }: KeptWork): Files {
  return work.files.filter(({ name }) => !leftOut.includes(name))
}

/** Those that were. Nothing needs them any more, and nothing but the end of the session removes them. */
export function leftOutFiles({ work, leftOut = [] }: KeptWork): Files {
  return work.files.filter(({ name }) => leftOut.includes(name))
}

/** Whether the session was restored since it was parked, and files that are damaged were left out. */
export function isPartlyKept({ withoutDamaged, leftOut = [] }: KeptWork): boolean {
  return withoutDamaged === true && leftOut.length > 0
}

/** From the next restore on, kept files that are damaged are left out. */
export function allowDamaged(draft: SessionDraft): void {
  const { parked } = draft.session
  if (parked !== null) draft.set({ parked: { ...parked, withoutDamaged: true } })
}

/** The session was restored without these files. */
export function storeLeftOut(draft: SessionDraft, names: readonly string[]): void {
  const { parked } = draft.session
  if (parked === null || names.length === 0) return
  const { damaged: _, ...rest } = parked
  const leftOut = [...new Set([...(parked.leftOut ?? []), ...names])]
  draft.set({ parked: { ...rest, leftOut } })
}

/** Remembers that what is kept could not be opened: then a person may go on without it. */
export function storeDamage(draft: SessionDraft, refusal: Pick<Refusal, 'code'> | undefined): void {
  const { parked } = draft.session
  if (parked === null || !isKeptOnly({ parked })) return
  if (refusal === undefined || !DAMAGED.includes(refusal.code)) return
  draft.set({ parked: { ...parked, damaged: true } })
}
