import { useEffect, useState } from 'react'
import type { Row } from '../../sync/rows.ts'
import type { SessionTimeline, TimelineView } from '../../sync/timeline.ts'

/** As much of an answer as is read out at once. */
const READ_OUT = 300

const endWord = {
  completed: 'ended',
  interrupted: 'was interrupted',
  failed: 'failed',
  limit: 'stopped at a limit',
  killed: 'was cut off',
} as const

/** `seq` is the number of the event that began what it is about. */
type Announcement = { seq: number; text: string }

/** What to read out for the last turn that ended; null while none has. */
function lastAnswer(rows: readonly Row[], ticket: string): Announcement | null {
  for (let at = rows.length - 1; at >= 0; at -= 1) {
    const row = rows[at]
    if (row?.kind !== 'turn' || row.end === null || row.seq === null) continue
    let answer = ''
    for (const later of rows.slice(at + 1)) {
      if (later.kind === 'turn') break
      if (later.kind === 'text' && !later.live) answer = later.text
    }
    const end = answer.length > READ_OUT ? `… ${answer.slice(-READ_OUT)}` : answer
    const text = `${ticket}: turn ${row.turn ?? ''} ${endWord[row.end.reason]}. ${end}`
    return { seq: row.seq, text }
  }
  return null
}

function lastError(rows: readonly Row[], ticket: string): Announcement | null {
  for (let at = rows.length - 1; at >= 0; at -= 1) {
    const row = rows[at]
    if (row?.kind !== 'notice' || row.level !== 'error' || row.seq === null) continue
    return { seq: row.seq, text: `${ticket}: error. ${row.text.slice(0, READ_OUT)}` }
  }
  return null
}

/**
 * Chooses what of a timeline is read out: a turn's end with its answer, and an error, when they are new at its end.
 * What was there before is history, also when a reader goes back to it.
 */
export function createAnnouncer(ticket: string) {
  let known: { answer: number; error: number } | null = null
  return ({
    phase,
    rows,
    last,
    hostLast,
  }: Pick<TimelineView, 'phase' | 'rows' | 'last' | 'hostLast'>): string | null => {
    if (phase !== 'ready' || last < hostLast) return null
    const answer = lastAnswer(rows, ticket)
    const error = lastError(rows, ticket)
    const before = known
    known = {
      answer: Math.max(before?.answer ?? 0, answer?.seq ?? 0),
      error: Math.max(before?.error ?? 0, error?.seq ?? 0),
    }
    if (before === null) return null
    if (answer !== null && answer.seq > before.answer) return answer.text
    return error !== null && error.seq > before.error ? error.text : null
  }
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
    const announce = createAnnouncer(ticket)
    announce(timeline.store.getState())
    return timeline.store.subscribe((view) => {
      const text = announce(view)
      if (text !== null) setSaid(text)
    })
  }, [timeline, ticket])
  return (
    <div className="unseen" role="status" aria-live="polite">
      {said}
    </div>
  )
}
