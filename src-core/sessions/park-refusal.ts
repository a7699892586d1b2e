import { accept, type Refusal } from '../../src-shared/refusal.ts'
import type { Committer } from '../commit/committer.ts'
import { refusePark } from '../decide/parking.ts'
import { SessionDraft } from '../decide/session-draft.ts'
import { loadFacts } from './session-facts.ts'

/** A parking that could not even be told to the agent: the session goes on as it was. */
export async function refuseParking(
  committer: Committer,
  session: string,
  saga: string,
  refusal: Refusal,
): Promise<void> {
  await committer.transact(async (read, now) => {
    const facts = await loadFacts(read, session)
    if (facts?.session.saga?.id !== saga || facts.session.state !== 'parking') {
      return accept({ change: null, answer: null })
    }
    const draft = new SessionDraft(facts, now)
    refusePark(draft, refusal, 'none')
    return accept({ change: draft.change(), answer: null })
  })
}
