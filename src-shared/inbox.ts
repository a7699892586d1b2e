import { z } from 'zod'
import { AssumptionId, Instant, QuestionId, RequestId, SessionId, TicketKey } from './ids.ts'

export { type InboxRecords, inboxOf } from './inbox-of.ts'

export const InboxKind = z.enum(['question', 'request', 'waiting', 'failed', 'assumption'])
export type InboxKind = z.infer<typeof InboxKind>

/** One thing that waits for a person. Its id is what the answering commands take. */
export const InboxItem = z.object({
  kind: InboxKind,
  /** Of the question, the request, the assumption; of the session for the other kinds. */
  id: z.union([QuestionId, RequestId, AssumptionId, SessionId]),
  session: SessionId,
  ticket: TicketKey,
  project: z.string(),
  /** What is to be decided, in one line or more. */
  text: z.string(),
  since: Instant,
  parkAt: Instant.nullable(),
})
export type InboxItem = z.infer<typeof InboxItem>
