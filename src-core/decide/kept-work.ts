import type { ParkReason } from '../../src-shared/parking.ts'
import type { ParkSaga, SessionRow } from '../storage/rows.ts'
import { KEPT_REMOVE } from './change.ts'
import { joinReasons } from './joined-reasons.ts'
import type { SessionDraft } from './session-draft.ts'

export const STOPPED = 'stopped by a person'

/** Why a session parks, for people. */
export const parkReasons: Readonly<Record<ParkReason, string>> = {
  window: 'nobody answered within its online window',
  person: 'parked by a person',
  drain: 'its agent was drained',
  quit: 'Ballet was quit',
  stop: STOPPED,
}

/** Ballet parked it by itself, for its agent to be free: what was under way is no less wanted. */
export const isDrained = (why: ParkReason): boolean => why === 'drain' || why === 'quit'

/** Whether what is kept of the session is all that there is of its work. */
export function isKeptOnly({ parked }: Pick<SessionRow, 'parked'>): boolean {
  return parked !== null && !parked.restored
}

const NOT_KEPT =
  'its conversation cannot be moved: where its runtime does not have it any more, a new one begins'

/** Why a session is parked, with what is still to be done for it and what is not kept of it. */
export function parkedReason({
  parked,
  conversation,
  turn,
}: Pick<SessionRow, 'parked' | 'conversation' | 'turn'>): string {
  if (parked === null) return ''
  const { why, work } = parked
  return joinReasons(
    parkReasons[why],
    work.notPushed === null ? '' : `its branch is not pushed yet: ${work.notPushed.message}`,
    work.state === null && conversation !== null && turn > 0 ? NOT_KEPT : '',
  )
}

/** A session that is being parked is wanted parked alone after that, or brought back at once; no more stopped. */
export function parkedThen(saga: ParkSaga, then: Pick<ParkSaga, 'resumes'>): ParkSaga {
  return { ...saga, ...then, why: saga.why === 'stop' ? 'person' : saga.why }
}

/** A finish has all of the work on the remote, and removes the workspace: what was kept before is of no more use. */
export function storeFinished(draft: SessionDraft): void {
  const { parked } = draft.session
  if (parked?.restored === true) draft.set({ parked: { ...parked, finished: true } })
}

/** The session goes on in a workspace, whatever became of a finish before. */
export function storeWorkspace(draft: SessionDraft): void {
  const { parked } = draft.session
  if (parked?.finished === undefined) return
  const { finished: _, ...rest } = parked
  draft.set({ parked: rest })
}

/** Files of the session that nobody needs any more; null: all of them. */
export function removeKept(draft: SessionDraft, names: readonly string[] | null): void {
  const session = draft.session.id
  draft.outbox({
    id: names === null ? `kept ${session}` : `kept ${session} ${names.join(' ')}`,
    effect: KEPT_REMOVE,
    data: { session, names },
  })
}
