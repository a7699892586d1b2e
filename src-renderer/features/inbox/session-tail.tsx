import { useEffect, useMemo } from 'react'
import { useStore } from 'zustand'
import type { SessionId } from '../../../src-shared/ids.ts'
import type { Row, ToolRow } from '../../sync/rows.ts'
import { useTimelines } from '../../sync/timelines-context.ts'
import { chunksOf } from '../../text/chunks.ts'
import { showControls } from '../../text/controls.ts'
import { MarkdownChunk } from '../../text/markdown.tsx'

/** Pieces of the last text, and calls behind it, that are shown. */
const CHUNKS = 6
const CALLS = 3

/** The last thing that the agent said, and what it did since. */
export function tailOf(rows: readonly Row[]): { text: string; calls: ToolRow[] } {
  const calls: ToolRow[] = []
  for (let at = rows.length - 1; at >= 0; at -= 1) {
    const row = rows[at]
    if (row?.kind === 'text' && row.text.trim() !== '') return { text: row.text, calls }
    if (row?.kind === 'tool' && calls.length < CALLS) calls.unshift(row)
  }
  return { text: '', calls }
}

/** The last lines of a session, so that a decision needs no look at the whole of it. */
export function SessionTail({ session }: { session: SessionId }) {
  const timelines = useTimelines()
  const timeline = timelines.open(session)
  useEffect(() => timelines.hold(session), [timelines, session])
  const rows = useStore(timeline.store, (view) => view.rows)
  const phase = useStore(timeline.store, (view) => view.phase)
  const { text, calls } = useMemo(() => tailOf(rows), [rows])
  const chunks = useMemo(() => chunksOf(text), [text])
  const shown = chunks.slice(-CHUNKS)
  return (
    <section
      className="tail"
      aria-label="The last lines of the session"
      aria-busy={phase === 'loading'}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard */}
      <div className="tail-text md" dir="auto" tabIndex={0}>
        {chunks.length > shown.length ? <p className="faint">…</p> : null}
        {shown.map((chunk, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the end of a text that only grows
          <MarkdownChunk key={at} chunk={chunk} live={false} />
        ))}
        {phase === 'ready' && text === '' && calls.length === 0 ? (
          <p className="faint">The agent has said nothing yet.</p>
        ) : null}
        {calls.map((call) => (
          <p key={call.key} className="tail-call clip">
            <code>
              {call.name} {showControls(call.title.slice(0, 300))}
            </code>
          </p>
        ))}
      </div>
    </section>
  )
}
