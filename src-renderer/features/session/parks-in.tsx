import type { SessionId } from '../../../src-shared/ids.ts'
import type { Session } from '../../../src-shared/records.ts'
import { useSeconds } from '../../stores/clock.ts'
import { tell } from '../../stores/told.ts'
import { useClient } from '../../sync/client.ts'
import { keyText } from '../../ui/key.tsx'
import { countdown, fullTime } from '../../ui/words.ts'
import { keepSession, parkSession } from './actions.ts'

/** How long a waiting session keeps its agent yet. */
export function ParksIn({ at }: { at: string }) {
  return (
    <span className="parks-in" title={`Parks at ${fullTime(at)}`}>
      <span className="parks-word">parks in </span>
      <span className="parks-time">{countdown(Date.parse(at) - useSeconds())}</span>
    </span>
  )
}

/** What a person can do about it, each with one click. */
export function ParkButtons({ session }: { session: Pick<Session, 'ticket'> & { id: SessionId } }) {
  const client = useClient()
  const run = async (act: typeof keepSession) => {
    const outcome = await act(client, session.id)
    if (!outcome.ok) tell(outcome.refusal)
  }
  return (
    <span className="park-acts">
      <button
        type="button"
        className="btn-quiet"
        title={`Parks in an hour at the earliest (${keyText('Mod+Shift+K')})`}
        onClick={() => void run(keepSession)}
      >
        Keep online 1 h
      </button>
      <button
        type="button"
        className="btn-quiet"
        title={`Keeps its work and its state, and frees its agent (${keyText('Mod+Shift+P')})`}
        onClick={() => void run(parkSession)}
      >
        Park now
      </button>
    </span>
  )
}
