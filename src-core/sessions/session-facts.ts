import type { Reader } from '../commit/committer.ts'
import type { SessionFacts } from '../decide/session-draft.ts'
import type { InputRow, RequestRow } from '../storage/rows.ts'

/** What a decision about a session is made on; undefined when it is gone. */
export async function loadFacts(read: Reader, id: string): Promise<SessionFacts | undefined> {
  const session = await read.row('session', id)
  if (session === undefined) return undefined
  const ticket = await read.row('ticket', session.ticketId)
  if (ticket === undefined) return undefined
  const inputs: InputRow[] = await read.rows({
    table: 'input',
    where: { sessionId: session.id, state: ['queued', 'sent'] },
  })
  const requests: RequestRow[] = await read.rows({
    table: 'request',
    where: { sessionId: session.id, phase: ['waits', 'gone', 'allows-once'] },
  })
  return {
    session,
    lastSeq: session.lastSeq,
    ticket,
    inputs: inputs.sort((a, b) => a.position - b.position),
    requests,
  }
}
