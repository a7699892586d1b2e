import type { Instant } from '../../src-shared/ids.ts'
import { importCommand } from '../../src-shared/moving.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import type { Ids } from '../ports.ts'
import type { SessionRow } from '../storage/rows.ts'
import type { Decision } from './change.ts'
import { checkNotFinishing } from './finishing.ts'
import { isKeptOnly } from './kept-work.ts'
import { parkUnheld } from './parking.ts'
import { parkSession } from './parking-commands.ts'
import { withdrawQuestions } from './questions.ts'
import { withdrawRequests } from './requests.ts'
import { SessionDraft, type SessionFacts } from './session-draft.ts'
import { isLive, isOver } from './session-states.ts'
import { bringBack } from './tickets.ts'

type Taken = Result<Decision<SessionDraft>>

const WENT = 'its session was moved'

/** What has to be in one file is parked first, also where a stopped session has its workspace still. */
export function parkToMove(facts: SessionFacts, now: Instant, ids: Ids): Taken {
  const { session, ticket } = facts
  const draft = new SessionDraft(facts, now)
  const free = checkNotFinishing(facts, 'Export it when that was not possible.')
  if (!free.ok) return free
  if (session.state === 'parked' && isKeptOnly(session))
    return accept({ answer: draft, change: null })
  if (isOver(session.state) || isLive(session.state)) return parkSession(facts, now, ids)
  if (session.workspace === null && session.conversation === null && session.parked === null) {
    return refuse(
      'session.nothing-kept',
      `The session of ${ticket.key} has done nothing yet: there is nothing to export.`,
      'Start the ticket where it is to be done.',
    )
  }
  bringBack(draft, now)
  parkUnheld(draft, { why: 'person' }, ids)
  return accept({ answer: draft, change: draft.change() })
}

/** What a moved session says of itself. */
export function movedTo(file: string): Pick<SessionRow, 'reason' | 'hint'> {
  return {
    reason: `exported to ${file}`,
    hint: `It goes on where that file is imported: \`${importCommand(file)}\`, or “Import a session…” in the window.`,
  }
}

/** It goes on elsewhere from now on: nobody needs to answer here what it asked, and it takes no more inputs. */
export function moveAway(
  facts: SessionFacts,
  { file, lastSeq }: { file: string; lastSeq: number },
  now: Instant,
): Result<Decision<SessionDraft>> {
  const { session, ticket } = facts
  if (session.state !== 'parked' || session.leaseId !== null || facts.lastSeq !== lastSeq) {
    return refuse(
      'session.changed',
      `The session of ${ticket.key} went on while it was exported: it is ${session.state}.`,
      'Nothing was moved. Export it again when it is quiet.',
    )
  }
  const free = checkNotFinishing(facts, 'Nothing was moved.')
  if (!free.ok) return free
  const draft = new SessionDraft(facts, now)
  withdrawRequests(draft, draft.openRequests, WENT)
  withdrawQuestions(draft, draft.questions, WENT)
  for (const input of draft.queued) draft.changeInput(input, { state: 'cancelled' })
  draft.set({ wakes: false, saga: null, pending: null, queuedAt: null })
  const { reason, hint } = movedTo(file)
  draft.move('moved', reason, hint)
  draft.ticketStatus('In progress')
  return accept({ answer: draft, change: draft.change() })
}
