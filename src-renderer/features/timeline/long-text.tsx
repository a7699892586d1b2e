import { useState } from 'react'
import type { SessionId } from '../../../src-shared/ids.ts'
import { showControls } from '../../text/controls.ts'
import { LineViewer } from '../../text/line-viewer.tsx'
import { cutLines, lineCount, linesUpTo } from '../../text/lines.ts'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { counted } from '../../ui/words.ts'
import { useBlob } from './use-blob.ts'

const SHOWN_LINES = 24
const SHOWN_CHARACTERS = 6_000

/** Plain text as a person wrote it; a long one is cut, and shown whole on demand. */
export function LongText({
  text,
  blob,
  session,
}: {
  text: string
  blob: string | undefined
  session: SessionId
}) {
  const { load, begin, forget } = useBlob(session, blob)
  const [all, setAll] = useState(false)
  const total = lineCount(text)
  const cut = blob !== undefined || total > SHOWN_LINES + 4 || text.length > SHOWN_CHARACTERS + 500
  const head = cut ? linesUpTo(text, SHOWN_LINES).slice(0, SHOWN_CHARACTERS) : text
  const whole = blob === undefined ? text : load.state === 'ready' ? load.text : undefined
  if (!cut) return <span className="tl-plain">{showControls(text)}</span>
  return (
    <>
      {all && whole !== undefined ? (
        <LineViewer text={whole} label="The whole text" />
      ) : (
        <span className="tl-plain">{showControls(cutLines(head))} …</span>
      )}
      {load.state === 'failed' ? (
        <RefusalNote refusal={load.refusal} onRetry={() => void begin()} />
      ) : null}
      <button
        type="button"
        className="btn-link tl-more"
        onClick={() => {
          if (all) forget()
          else if (blob !== undefined) void begin()
          setAll(!all)
        }}
      >
        {all
          ? 'Show less'
          : blob === undefined
            ? `Show all ${counted(total, 'line')}`
            : 'Show the whole text'}
      </button>
    </>
  )
}
