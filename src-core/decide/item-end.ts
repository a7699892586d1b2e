import { type AgentItem, NOT_PUSHED } from '../../src-shared/agent-wire.ts'
import type { Instant } from '../../src-shared/ids.ts'
import { assertNever } from '../../src-shared/refusal.ts'
import type { Ids } from '../ports.ts'
import type { LeaseRow, SessionRow } from '../storage/rows.ts'
import { changeRuntime, leavingConversation, titleOfNext } from './continue-with.ts'
import { storeDamage } from './damaged-files.ts'
import { close } from './finishing.ts'
import { handOver } from './hand-over.ts'
import { joinReasons } from './joined-reasons.ts'
import { isDrained } from './kept-work.ts'
import { loseRuntime } from './requests.ts'
import { park, stopReason } from './session-commands.ts'
import type { SessionDraft } from './session-draft.ts'

type Ended = Extract<AgentItem, { type: 'ended' }>

/** What an agent says when the runtime does not know the conversation any more. */
const CONVERSATION_LOST = 'runtime.conversation-lost'

/** The agent let go of the session in an orderly way, and said how. */
export function endLease(
  draft: SessionDraft,
  { lease, item, anew }: { lease: LeaseRow; item: Ended; anew: string | null },
  now: Instant,
  ids: Ids,
): void {
  draft.lease({
    ...lease,
    endedAt: lease.endedAt ?? now,
    endReason: item.outcome,
    // An agent whose runtime failed, or would not end, may have left something running.
    reaped:
      lease.reaped ||
      (item.outcome !== 'failed' &&
        (item.refusal === undefined || item.refusal.code === NOT_PUSHED)),
  })
  const { workspace, pending, saga } = draft.session
  const isStopped = pending === 'stop' || saga?.why === 'stop'
  const next = isStopped || item.outcome === 'finished' ? null : draft.session.continueWith
  draft.set({
    leaseId: null,
    agent: null,
    turnStartedAt: null,
    workspace: item.kept ? workspace : null,
  })
  if (next === null) {
    loseRuntime(draft, ids)
    draft.set({ continueWith: null })
  } else changeRuntime(draft, anew ?? '', ids)
  const message = item.refusal?.message ?? ''
  const hint = item.refusal?.hint
  // Once everything is kept it does not matter any more how the agent lets go.
  if (draft.session.state === 'parked') return
  if (next !== null && item.outcome !== 'parked') {
    draft.move('resuming', `${titleOfNext(next)} goes on with it`)
    draft.set({ queuedAt: now, saga: null })
    return
  }
  const outcome = item.outcome !== 'finished' && isStopped ? 'stopped' : item.outcome
  switch (outcome) {
    case 'finished':
      if (draft.session.state === 'working' || draft.session.state === 'starting') {
        draft.move('waiting')
      }
      close(draft)
      draft.set({ workspace: item.kept ? workspace : null })
      break
    case 'parked':
      // What was kept is stored before; where it is not, the next agent has to begin again.
      if (draft.session.state === 'parking') draft.set({ queuedAt: now })
      break
    case 'stopped':
      park(draft, joinReasons(stopReason(draft.session), message), hint)
      break
    case 'failed':
      storeDamage(draft, item.refusal)
      draft.move(
        'failed',
        message || 'the session failed',
        hint ?? 'Send a message or start the ticket to try again.',
      )
      draft.set({ pending: null, queuedAt: null, saga: null })
      if (anew !== null) beginAnew(draft, { item, anew, finishes: pending === 'finish' }, now, ids)
      break
    case 'released':
      if (isStillToPark(draft.session)) {
        // The next agent goes on with it, from what is on disk.
        draft.set({ queuedAt: now })
        break
      }
      draft.move('resuming', draft.session.turnCut ? draft.session.reason : '')
      draft.set({
        queuedAt: now,
        // The parking ends with the agent that was told of it: the next one runs the session.
        saga: null,
        pending: pending === 'finish' || pending === 'interrupt' ? pending : null,
      })
      break
    default:
      assertNever(outcome)
  }
}

/** Whether it was to park for more than its agent to be free, and is not wanted back. */
function isStillToPark({ state, saga }: Pick<SessionRow, 'state' | 'saga'>): boolean {
  return state === 'parking' && saga !== null && !saga.resumes && !isDrained(saga.why)
}

/** Whether the session goes on with a conversation of its own, which knows nothing but what it is told. */
export function losesConversation(
  item: AgentItem,
  { conversation }: Pick<SessionRow, 'conversation'>,
): item is Ended {
  // What a new conversation is told is not told again to another one.
  return (
    item.type === 'ended' &&
    item.outcome === 'failed' &&
    item.refusal?.code === CONVERSATION_LOST &&
    conversation !== null
  )
}

function beginAnew(
  draft: SessionDraft,
  { item, anew, finishes }: { item: Ended; anew: string; finishes: boolean },
  now: Instant,
  ids: Ids,
): void {
  for (const input of draft.sent) draft.changeInput(input, { state: 'unknown' })
  const { parked } = draft.session
  draft.set(leavingConversation(draft.session))
  draft.set({ contextTokens: null, turnCut: false, wakes: false })
  // The lost conversation had come as far as to be resumed: its work is in the workspace.
  if (item.kept && parked !== null) draft.set({ parked: { ...parked, restored: true } })
  const { message = 'The conversation is lost.' } = item.refusal ?? {}
  draft.event({
    kind: 'notice',
    level: 'warning',
    code: 'conversation.anew',
    text: `${message} A new one begins, with the ticket and a summary of what was.`,
  })
  if (finishes) {
    // Without any conversation.
    draft.set({ pending: 'finish' })
    return
  }
  handOver(draft, anew, ids)
  draft.move('resuming', 'a new conversation begins')
  draft.set({ queuedAt: now })
}
