import { useEffect } from 'react'
import type { SessionId } from '../../../src-shared/ids.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { attempt } from './actions.ts'

/** Each time gives the session two minutes more, so that it does not park under the person's hands. */
const EVERY_MS = 30_000

/** Tells at once and again and again that somebody attends, until it is ended. */
export function attending(tell: () => void, everyMs = EVERY_MS): () => void {
  tell()
  const timer = setInterval(tell, everyMs)
  return () => clearInterval(timer)
}

/** While a person writes to a session that would park, or has the place for it in sight. */
export function useAttends(session: SessionId, isWriting: boolean): void {
  const client = useClient()
  const parks = useRecords(({ sessions }) => sessions.get(session)?.parkAt != null)
  useEffect(() => {
    if (!isWriting || !parks) return
    // Whether it was taken is seen in the countdown, and what could not be told is told again.
    return attending(() => void attempt(() => client.sessions.attend({ ref: session })))
  }, [client, session, isWriting, parks])
}
