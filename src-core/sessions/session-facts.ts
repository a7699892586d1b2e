import type { Reader } from '../commit/committer.ts'
import type { SessionFacts } from '../decide/session-draft.ts'
import type { InputRow, QuestionRow, RequestRow } from '../storage/rows.ts'

/** What a decision about a session is made on; undefined when it is gone. */
export async function loadFacts(read: Reader, id: string): Promise<SessionFacts | undefined> {
  const session = await read.row('session', id)
  if (session === undefined) return undefined
  const ticket = await read.row('ticket', session.ticketId)
  const project = await read.row('project', session.projectId)
  if (ticket === undefined || project === undefined) return undefined
  const sessionId = session.id
  const [inputs, requests, questions]: [InputRow[], RequestRow[], QuestionRow[]] =
    await Promise.all([
      read.rows({ table: 'input', where: { sessionId, state: ['queued', 'sent'] } }),
      read.rows({
        table: 'request',
        where: { sessionId, phase: ['waits', 'gone', 'allows-once'] },
      }),
      read.rows({
        table: 'question',
        where: { sessionId, state: ['open', 'answered'], inputId: null },
      }),
    ])
  return {
    session,
    lastSeq: session.lastSeq,
    ticket,
    window: project.window,
    inputs: inputs.sort((a, b) => a.position - b.position),
    requests,
    questions,
  }
}
