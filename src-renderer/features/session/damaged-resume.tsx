import { useState } from 'react'
import type { Session } from '../../../src-shared/records.ts'
import { tell } from '../../stores/told.ts'
import { useClient } from '../../sync/client.ts'
import { resumeWithoutDamaged } from './actions.ts'
import { canResume } from './parking.ts'

/** The way on where a file that is kept of a session is damaged; nothing for any other. */
export function DamagedResume({ session }: { session: Session }) {
  const client = useClient()
  const [busy, setBusy] = useState(false)
  if (session.parked?.damaged !== true || !canResume(session.state)) return null
  const resume = async () => {
    if (busy) return
    setBusy(true)
    const outcome = await resumeWithoutDamaged(client, session.id)
    setBusy(false)
    if (!outcome.ok) tell(outcome.refusal)
  }
  return (
    <p className="damaged-resume">
      <button type="button" className="btn" aria-disabled={busy} onClick={() => void resume()}>
        {busy ? 'Resuming…' : 'Resume without the damaged files'}
      </button>
      <span className="faint">
        The timeline and the agent are told what is left out; nothing is deleted.
      </span>
    </p>
  )
}
