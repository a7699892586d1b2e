import { useEffect, useMemo } from 'react'
import type { SessionId } from '../../../src-shared/ids.ts'
import type { Citation } from '../../../src-shared/questions.ts'
import { showControls } from '../../text/controls.ts'
import { LineViewer } from '../../text/line-viewer.tsx'
import { lineStarts } from '../../text/lines.ts'
import { findQuote } from '../../text/quote.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Key } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { StateDot } from '../../ui/state-dot.tsx'
import { useBlob } from '../timeline/use-blob.ts'

function Source({ text, citation }: { text: string; citation: Citation }) {
  const { quote, line } = citation
  const mark = useMemo(
    () => findQuote(text, quote, line === undefined ? 0 : (lineStarts(text)[line - 1] ?? 0)),
    [text, quote, line],
  )
  return (
    <>
      {mark !== undefined ? null : (
        <p className="source-note" role="status">
          <StateDot look="wait" />
          <span>
            The quote is not in this source: <q>{showControls(quote.slice(0, 600))}</q>
          </span>
        </p>
      )}
      <LineViewer text={text} label={citation.source} mark={mark} numbered />
    </>
  )
}

/** A source as the planner read it, opened at the quoted passage. */
export function SourceDialog({
  citation,
  blob,
  session,
  onClose,
}: {
  citation: Citation
  blob: string
  session: SessionId
  onClose: () => void
}) {
  const { load, begin } = useBlob(session, blob)
  useEffect(() => void begin(), [begin])
  return (
    <Dialog label={`Source ${citation.source}`} className="source" onClose={onClose}>
      <form method="dialog" className="source-head">
        <code className="clip grow" title={citation.source}>
          {showControls(citation.source)}
        </code>
        <span className="clip faint">{showControls(citation.place)}</span>
        <button type="submit" className="btn">
          Close <Key keys="Escape" />
        </button>
      </form>
      <div className="source-body">
        {load.state === 'ready' ? <Source text={load.text} citation={citation} /> : null}
        {load.state === 'failed' ? (
          <RefusalNote refusal={load.refusal} onRetry={() => void begin()} />
        ) : null}
        {load.state === 'loading' ? (
          <p className="dim" role="status">
            loading the source
          </p>
        ) : null}
      </div>
    </Dialog>
  )
}
