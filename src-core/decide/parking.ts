import type { AgentItem } from '../../src-shared/agent-wire.ts'
import { InputId, type Instant, type LeaseId } from '../../src-shared/ids.ts'
import type { ParkReason } from '../../src-shared/parking.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import type { Ids } from '../ports.ts'
import { GO_ON } from '../sessions/prompt.ts'
import type { InputRow, KeptWork, ParkSaga, SessionRow } from '../storage/rows.ts'
import { leavingConversation } from './continue-with.ts'
import { leftOutFiles, usableFiles } from './damaged-files.ts'
import { tellRefused } from './finishing.ts'
import { isDrained, parkedReason, parkReasons, removeKept } from './kept-work.ts'
import { waitsForPerson } from './online-window.ts'
import { loseRuntime } from './requests.ts'
import { beginStop, park } from './session-commands.ts'
import type { SessionDraft } from './session-draft.ts'
import { bringBack } from './tickets.ts'
import { TURN_LOST } from './turn-cut.ts'

/** Which agents are drained now: none, that of the session, or every one. */
export type Drained = 'none' | 'own' | 'all'

type Why = { why: ParkReason; fast?: boolean }

const HINT = 'Answer it or send a message: any agent goes on with it.'

/** The agent that holds the session settles it, keeps everything, and lets go. */
export function beginPark(draft: SessionDraft, lease: LeaseId, why: Why, ids: Ids): void {
  begin(draft, why, ids)
  tellPark(draft, lease)
}

/** What an earlier lease left on disk is kept by the next agent, without a runtime. */
export function parkUnheld(draft: SessionDraft, why: Why, ids: Ids): void {
  begin(draft, why, ids)
  draft.set({ queuedAt: draft.now })
}

function begin(draft: SessionDraft, { why, fast = false }: Why, ids: Ids): void {
  const seq = draft.nextSeq
  const waited = waitsForPerson(draft) ? { waited: true as const } : {}
  draft.set({ pending: null, saga: { id: ids.uuid(), why, fast, seq, resumes: false, ...waited } })
  draft.move('parking', parkReasons[why])
}

/** There is no time left: what is still being done is to be done in the fast way. */
export function hurry(draft: SessionDraft): void {
  const { saga, leaseId } = draft.session
  if (saga === null || saga.fast) return
  draft.set({ saga: { ...saga, fast: true } })
  if (leaseId !== null) tellPark(draft, leaseId)
}

function tellPark(draft: SessionDraft, lease: LeaseId): void {
  const order = parkOrder(draft.session, lease)
  if (order !== null) draft.tell(order)
}

/** What an agent is told to park a session, but for the key and the folder; null when it is not being parked. */
export function parkOrder({ id, saga, parked }: SessionRow, lease: LeaseId) {
  if (saga === null) return null
  const kept = parked === null ? [] : usableFiles(parked)
  const damaged = parked === null ? [] : leftOutFiles(parked).map(({ name }) => name)
  return {
    type: 'session.park' as const,
    lease,
    session: id,
    saga: saga.id,
    kept,
    ...(damaged.length === 0 ? {} : { damaged }),
    fast: saga.fast,
  }
}

/**
 * Everything of the session is kept and verified: from now on the agent may remove the workspace. What came meanwhile
 * brings it back at once, but not while every agent is drained.
 */
export function storeParked(
  draft: SessionDraft,
  { work }: Extract<AgentItem, { type: 'parked' }>,
  drained: Drained,
  ids: Ids,
): void {
  // The record of the conversation tells of the others what became of them, at the next resume.
  const { unrecorded, ...lasting } = work
  if (unrecorded === true && !draft.session.recorded) giveAllBack(draft)
  else if (work.state === null) forgetSent(draft)
  const { saga, parked: before, wakes, continueWith } = draft.session
  if (continueWith === null) loseRuntime(draft, ids)
  const why = saga?.why ?? 'drain'
  const kept = before === null ? lasting : withEarlier(lasting, before)
  const leftOut = before === null ? [] : leftOutFiles(before)
  const files = [...kept.files, ...leftOut]
  const isBehind = work.snapshot === null && before?.hasPushed === true
  if (before !== null) removeOthers(draft, before, files)
  if (draft.session.state !== 'parking') draft.move('parking')
  draft.set({
    parked: {
      ...{ why, at: draft.now, work: { ...kept, files }, restored: false },
      ...(leftOut.length === 0 ? {} : { leftOut: leftOut.map(({ name }) => name) }),
      ...(isBehind ? { hasPushed: true } : {}),
    },
    saga: null,
    pending: null,
    queuedAt: null,
  })
  draft.move('parked', parkedReason(draft.session), HINT)
  const isWanted = saga?.resumes === true || continueWith !== null
  const goesOn = isWanted || wakes || hasMoreToDo(draft, why, saga?.seq ?? 0)
  if (!goesOn && why === 'stop') park(draft, draft.session.reason)
  else if (!goesOn) draft.ticketStatus('Waiting for answer')
  else if (drained === 'all') draft.set({ wakes: true })
  else bringBack(draft, draft.now)
}

/** The runtime's own record may hold them, wherever that is. */
function forgetSent(draft: SessionDraft): void {
  if (draft.sent.length > 0) draft.set({ recorded: true })
  for (const input of draft.sent) draft.changeInput(input, { state: 'unknown' })
}

/** The conversation never began, whatever its first turn did: all of it is said to another one. */
function giveAllBack(draft: SessionDraft): void {
  if (draft.session.turnCut && draft.sent.length > 0) draft.event(TURN_LOST)
  for (const input of draft.sent) {
    draft.changeInput(input, { state: 'queued', delivery: null, steer: false })
  }
  draft.set(leavingConversation(draft.session))
}

/** What a person had said before they parked or stopped it waits for another word of theirs. */
function hasMoreToDo({ queued, sent }: SessionDraft, why: ParkReason, seq: number): boolean {
  if (why === 'window' || isDrained(why)) return queued.length > 0 || sent.length > 0
  const isLate = ({ position, inputKind }: InputRow) =>
    position > seq && !(why === 'stop' && inputKind === 'answer')
  return queued.some(isLate)
}

/** Where there was no workspace, what was kept before may be all that there is of the work. */
function withEarlier(work: KeptWork['work'], before: KeptWork): KeptWork['work'] {
  if (work.snapshot !== null || before.work.snapshot === null) return work
  if (before.finished === true) return work
  const names = new Set(work.files.map(({ name }) => name))
  const earlier = usableFiles(before).filter(
    ({ kind, name }) => kind !== 'state' && !names.has(name),
  )
  return { ...before.work, state: work.state, files: [...work.files, ...earlier] }
}

/** Files of what was kept before that are not among these. */
export function removeOthers(
  draft: SessionDraft,
  { work }: KeptWork,
  files: KeptWork['work']['files'],
): void {
  const current = new Set(files.map(({ name }) => name))
  const names = work.files.flatMap(({ name }) => (current.has(name) ? [] : [name]))
  if (names.length > 0) removeKept(draft, names)
}

/** It could not be parked: it goes on as it was, and is not parked by itself in this wait again. */
export function refusePark(
  draft: SessionDraft,
  refusal: Refusal,
  drained: Drained,
  at: Instant = draft.now,
): void {
  tellRefused(draft, refusal, at)
  const { leaseId, turnStartedAt, wakes, saga } = draft.session
  draft.set({ saga: null, parkAt: null, parkFrom: draft.now })
  draft.move(turnStartedAt === null ? 'waiting' : 'working', refusal.message, refusal.hint)
  if (saga?.why === 'stop' && leaseId !== null) beginStop(draft, leaseId)
  else if (drained === 'none') draft.set({ wakes: false })
  // It has to be free all the same; the workspace stays where it is.
  else if (leaseId !== null) {
    draft.set({ wakes })
    draft.tell({ type: 'session.release', lease: leaseId })
  }
}

/** Whether a turn that is interrupted goes on by itself: for a drain it does, unless it waited for a person. */
export function wakesUp(saga: ParkSaga | null): boolean {
  return saga !== null && isDrained(saga.why) && saga.waited !== true
}

/** What was kept is behind what the session pushed after it was restored. */
export function storePushed(draft: SessionDraft): void {
  const { parked } = draft.session
  if (parked?.restored === true) draft.set({ parked: { ...parked, hasPushed: true } })
}

/** The runtime is up: from now on the workspace may hold what is kept nowhere else, whatever the session is about to do. */
export function storeRestored(draft: SessionDraft): void {
  const { parked } = draft.session
  if (parked !== null && !parked.restored) draft.set({ parked: { ...parked, restored: true } })
}

/** A session that was to go on by itself is told so where nobody says anything else. */
export function wakeUp(draft: SessionDraft, ids: Ids): void {
  if (!draft.session.wakes) return
  draft.set({ wakes: false })
  if (draft.queued.length > 0) return
  draft.queue({
    id: InputId.parse(ids.uuid()),
    sessionId: draft.session.id,
    inputKind: 'message',
    text: GO_ON,
    author: 'ballet',
  })
}
