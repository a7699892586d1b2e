import { type AgentItem, NOT_PUSHED } from '../../src-shared/agent-wire.ts'
import { InputId, type Instant } from '../../src-shared/ids.ts'
import { assertNever } from '../../src-shared/refusal.ts'
import type { Ids } from '../ports.ts'
import { anewText } from '../sessions/prompt.ts'
import type { LeaseRow } from '../storage/rows.ts'
import { close } from './finishing.ts'
import { loseRuntime } from './requests.ts'
import { park, stopReason } from './session-commands.ts'
import type { SessionDraft } from './session-draft.ts'

type Ended = Extract<AgentItem, { type: 'ended' }>

/** What an agent says when the runtime does not know the conversation any more. */
const CONVERSATION_LOST = 'runtime.conversation-lost'

/** The agent let go of the session in an orderly way, and said how. */
export function endLease(
  draft: SessionDraft,
  lease: LeaseRow,
  item: Ended,
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
  const { workspace, pending } = draft.session
  draft.set({
    leaseId: null,
    agent: null,
    turnStartedAt: null,
    workspace: item.kept ? workspace : null,
  })
  loseRuntime(draft, ids)
  const message = item.refusal?.message ?? ''
  const hint = item.refusal?.hint
  const outcome = item.outcome !== 'finished' && pending === 'stop' ? 'stopped' : item.outcome
  switch (outcome) {
    case 'finished':
      if (draft.session.state === 'working' || draft.session.state === 'starting') {
        draft.move('waiting')
      }
      close(draft)
      draft.set({ workspace: item.kept ? workspace : null })
      break
    case 'stopped':
    case 'parked':
      park(
        draft,
        [stopReason(draft.session), message].filter((part) => part !== '').join('; '),
        hint,
      )
      break
    case 'failed':
      draft.move(
        'failed',
        message || 'the session failed',
        hint ?? 'Send a message or start the ticket to try again.',
      )
      draft.set({ pending: null, queuedAt: null })
      if (item.refusal?.code === CONVERSATION_LOST) beginAnew(draft, ids)
      break
    case 'released':
      draft.move('resuming', draft.session.turnCut ? draft.session.reason : '')
      draft.set({ queuedAt: now, pending: pending === 'finish' ? 'finish' : null })
      break
    default:
      assertNever(outcome)
  }
}

/** The next run begins a conversation of its own, which knows nothing but what it is told. */
function beginAnew(draft: SessionDraft, ids: Ids): void {
  for (const input of draft.sent) draft.changeInput(input, { state: 'unknown' })
  draft.set({ conversation: null, turnCut: false })
  draft.queue({
    id: InputId.parse(ids.uuid()),
    sessionId: draft.session.id,
    inputKind: 'message',
    text: anewText(draft.ticket),
    author: 'ballet',
  })
}
