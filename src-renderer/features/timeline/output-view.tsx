import { useMemo, useState } from 'react'
import type { SessionId } from '../../../src-shared/ids.ts'
import { plainOutput } from '../../text/controls.ts'
import { LineViewer } from '../../text/line-viewer.tsx'
import { cutLines, lineCount, linesUpTo } from '../../text/lines.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { bytes as bytesWord, counted } from '../../ui/words.ts'
import { useBlob } from './use-blob.ts'

const SHOWN_LINES = 16
const CUT_FROM_LINES = 24

/** Output as text whose lines are not longer than can be drawn at once. */
export const plainCut = (text: string): string => plainOutput(cutLines(text))

/** What a tool gave: its beginning, and the whole of it on demand in a box that draws only what is in sight. */
export function OutputView({
  text,
  blob,
  bytes,
  session,
  label,
}: {
  text: string
  blob: string | undefined
  bytes: number | undefined
  session: SessionId
  label: string
}) {
  const { load, begin, forget } = useBlob(session, blob)
  const [all, setAll] = useState(false)
  const total = useMemo(() => lineCount(text), [text])
  const cut = blob !== undefined || total > CUT_FROM_LINES
  const head = useMemo(() => plainCut(cut ? linesUpTo(text, SHOWN_LINES) : text), [cut, text])
  const whole = blob === undefined ? text : load.state === 'ready' ? load.text : undefined
  const size = blob !== undefined && bytes !== undefined ? bytesWord(bytes) : counted(total, 'line')
  return (
    <>
      {all && whole !== undefined ? (
        <LineViewer text={whole} label={label} />
      ) : (
        <pre className="tl-out">{head}</pre>
      )}
      {load.state === 'failed' ? (
        <RefusalNote refusal={load.refusal} onRetry={() => void begin()} />
      ) : null}
      {cut ? (
        <div className="tl-tool-foot">
          <button
            type="button"
            className="btn-link"
            onClick={() => {
              if (all) forget()
              else if (blob !== undefined) void begin()
              setAll(!all)
            }}
          >
            {all ? 'Show less' : `Show all · ${size}`}
          </button>
          {load.state === 'loading' ? (
            <span role="status">
              loading
              {load.length === 0 ? '' : ` ${Math.round((100 * load.loaded) / load.length)} %`}
            </span>
          ) : null}
          <span className="grow" />
          {whole === undefined ? null : (
            <CopyButton text={whole} label={`Copy ${label.toLowerCase()}`} />
          )}
        </div>
      ) : null}
    </>
  )
}
