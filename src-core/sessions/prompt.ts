import type { RequestRow, TicketRow } from '../storage/rows.ts'

/** Appended to the runtime's own system prompt. */
export const SESSION_PROMPT = `You work on one ticket for a person who watches this session in Ballet.
You are in a git clone of your own, on a branch of your own that nobody else writes. Do the ticket's work here.
You need not commit and must not push or switch branches: Ballet commits what is uncommitted and pushes the branch when the person finishes the ticket. Commit yourself where separate commits help the reader.
End your turn when the work is done, or when you need something from the person: say briefly what you did, what you checked, and what is open. The person's next message continues this conversation.`

/** The first message of a ticket's session. */
export function ticketText({ title, body }: Pick<TicketRow, 'title' | 'body'>): string {
  return body.trim() === '' ? title : `${title}\n\n${body}`
}

/** The first message of a new conversation that goes on with the work of one that is gone. */
export function anewText(ticket: Pick<TicketRow, 'title' | 'body'>): string {
  return `You go on with work on a ticket that was begun in a conversation which is lost. What was done is in your clone: look at its commits and at what is uncommitted first. The ticket:\n\n${ticketText(ticket)}`
}

/** What the first message after a cut turn begins with. */
export function cutPreface(reason: string): string {
  const cause = reason === '' ? '' : ` (${reason})`
  return `Your last turn was cut off before its end${cause}. Commands that were running have been ended, and their results may be missing. Check the state of the files before you go on.`
}

/**
 * What the runtime is told of an answer that came when the runtime which had asked was gone. `isCertain`: the call
 * was certainly not made.
 */
export function lateAnswer(
  { name, title, state, text }: Pick<RequestRow, 'name' | 'title' | 'state' | 'text'>,
  isCertain: boolean,
): string {
  const request = `Your request for ${name} (${title})`
  if (state === 'denied') {
    const reason = text === null ? '' : ` The reason: ${text}`
    return `${request} was denied.${reason}\nGo on without it.`
  }
  return isCertain
    ? `${request} was allowed; it has not run yet. Make exactly the same call again and go on.`
    : `${request} was allowed, but you were cut off before its result was known. Check whether it has run; make the call again only where it has not, and go on.`
}
