import { useEffect, useState } from 'react'
import type { Row } from '../../sync/rows.ts'
import type { SessionTimeline } from '../../sync/timeline.ts'

/** As much of an answer as is read out at once. */
const READ_OUT = 300

const endWord = {
  completed: 'ended',
  interrupted: 'was interrupted',
  failed: 'failed',
  limit: 'stopped at a limit',
  killed: 'was cut off',
} as const

/** What to read out for the last turn that ended; null while none has. */
export function lastAnswer(
  rows: readonly Row[],
  ticket: string,
): { turn: string; text: string } | null {
  for (let at = rows.length - 1; at >= 0; at -= 1) {
    const row = rows[at]
    if (row?.kind !== 'turn' || row.end === null) continue
    let answer = ''
    for (const later of rows.slice(at + 1)) {
      if (later.kind === 'turn') break
      if (later.kind === 'text' && !later.live) answer = later.text
    }
    const end = answer.length > READ_OUT ? `… ${answer.slice(-READ_OUT)}` : answer
    return {
      turn: row.key,
      text: `${ticket}: turn ${row.turn ?? ''} ${endWord[row.end.reason]}. ${end}`,
    }
  }
  return null
}

/** Tells a screen reader the end of the last answer when a turn ends, and nothing while it is written. */
export function AnswerAnnouncer({
  timeline,
  ticket,
}: {
  timeline: SessionTimeline
  ticket: string
}) {
  const [said, setSaid] = useState('')
  useEffect(() => {
    // What had ended before this pane was opened is history.
    let known = lastAnswer(timeline.store.getState().rows, ticket)?.turn
    let begun = timeline.store.getState().phase === 'ready'
    return timeline.store.subscribe(({ rows, phase }) => {
      const answer = lastAnswer(rows, ticket)
      if (answer !== null && answer.turn !== known && begun) setSaid(answer.text)
      known = answer?.turn
      begun = phase === 'ready'
    })
  }, [timeline, ticket])
  return (
    <div className="unseen" role="status" aria-live="polite">
      {said}
    </div>
  )
}
