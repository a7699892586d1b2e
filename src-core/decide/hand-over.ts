import { InputId } from '../../src-shared/ids.ts'
import type { Ids } from '../ports.ts'
import { ticketText } from '../sessions/prompt.ts'
import type { SessionDraft } from './session-draft.ts'

/** How the first message of every conversation begins that goes on with the work of an earlier one. */
export const HAND_OVER = 'You go on with work on a ticket that'

/** Queues what a new conversation is told first, in the place of what another one was to be told and never got. */
export function handOver(draft: SessionDraft, text: string, ids: Ids): void {
  const ticket = ticketText(draft.ticket)
  for (const input of draft.queued) {
    const isOther = input.author === 'ballet' && input.text.startsWith(HAND_OVER)
    // The ticket is a part of what is told.
    const isTicket = input.text === ticket && input.images.length === 0
    if (isOther || isTicket) draft.changeInput(input, { state: 'cancelled' })
  }
  draft.queueFirst({
    id: InputId.parse(ids.uuid()),
    sessionId: draft.session.id,
    inputKind: 'message',
    text,
    author: 'ballet',
  })
}
