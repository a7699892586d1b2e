import type { Session } from '../../src-shared/records.ts'
import type { Result } from '../../src-shared/refusal.ts'
import type { Reader, Receipt } from '../commit/committer.ts'
import type { Decision } from '../decide/change.ts'
import type { SessionDraft, SessionFacts } from '../decide/session-draft.ts'
import { loadFacts } from '../sessions/session-facts.ts'
import { type CallContext, checkNotDeleting, orGone, sessionAnswer } from './context.ts'
import { resolveSession } from './resolve.ts'

export type DecideSession = (facts: SessionFacts, now: string) => Result<Decision<SessionDraft>>

/** A command on the session of a reference, answered by the session as it will be. */
export function sessionCommand(
  context: CallContext,
  ref: string,
  decide: DecideSession,
  receipt: Receipt<Session> | undefined,
): Promise<Result<Session>> {
  return context.committer.transact<Session>(async (read, now) => {
    const facts = await factsOf(context, read, ref)
    if (!facts.ok) return facts
    const decision = decide(facts.value, now)
    if (!decision.ok) return decision
    return sessionAnswer(context, decision.value.answer, decision.value.change)
  }, receipt)
}

/** What a command on a session is decided on. */
export async function factsOf(
  context: CallContext,
  read: Reader,
  ref: string,
): Promise<Result<SessionFacts>> {
  const found = await resolveSession(read, ref)
  if (!found.ok) return found
  const facts = orGone('session', await loadFacts(read, found.value.id))
  if (!facts.ok) return facts
  const free = checkNotDeleting(context, facts.value.ticket)
  return free.ok ? facts : free
}
