import { useEffect } from 'react'
import { useStore } from 'zustand'
import type { SessionId } from '../../../src-shared/ids.ts'
import type { Session } from '../../../src-shared/records.ts'
import { useSeconds } from '../../stores/clock.ts'
import type { Row, StepEvent } from '../../sync/rows.ts'
import { useTimelines } from '../../sync/timelines-context.ts'
import { showControls } from '../../text/controls.ts'
import { StateDot, sessionLook, sessionWord } from '../../ui/state-dot.tsx'
import { countdown, elapsed } from '../../ui/words.ts'

/** The step that a session is at; undefined while it was told of none. */
export function currentStep(rows: readonly Row[]): StepEvent | undefined {
  for (let at = rows.length - 1; at >= 0; at -= 1) {
    const row = rows[at]
    if (row?.kind === 'steps') return row.saga === 'park' ? row.steps.at(-1) : undefined
  }
  return undefined
}

function ParkingStep({ id }: { id: SessionId }) {
  const timelines = useTimelines()
  const timeline = timelines.open(id)
  useEffect(() => timelines.hold(id), [timelines, id])
  const step = useStore(timeline.store, (view) => currentStep(view.rows))
  return <>{step === undefined ? 'parking' : `parking: ${step.step}`}</>
}

function Turn({ since, graceEnds }: { since: string; graceEnds: number | null }) {
  const now = useSeconds()
  const left = graceEnds === null ? 0 : graceEnds - now
  return (
    <>
      working · {elapsed(now - Date.parse(since))}
      {graceEnds === null
        ? ''
        : left > 0
          ? ` · interrupted in ${countdown(left)}`
          : ' · interrupting'}
    </>
  )
}

/** Whether its turn may go on until the grace is over: one that waits for a permission is parked at once. */
export const isTurnDrained = ({ state, openRequests }: Session): boolean =>
  state === 'working' && openRequests === 0

/** How far it is until a session is parked. `graceEnds`: when its turn is interrupted, in milliseconds since 1970. */
export function DrainingSession({
  session,
  graceEnds,
}: {
  session: Session
  graceEnds: number | null
}) {
  return (
    <li data-session={session.id} data-state={session.state}>
      <StateDot look={sessionLook(session)} />
      <span className="clip">
        {session.ticket} {showControls(session.title)}
      </span>
      <span className="pane-meta">
        {session.state === 'parking' ? (
          <ParkingStep id={session.id} />
        ) : isTurnDrained(session) && session.turnStartedAt !== null ? (
          <Turn since={session.turnStartedAt} graceEnds={graceEnds} />
        ) : session.state === 'parked' && session.parked?.wakes === true ? (
          'parked · goes on at the next start'
        ) : (
          sessionWord(session)
        )}
      </span>
    </li>
  )
}
