import { useRef, useState } from 'react'
import type { SessionId } from '../../../src-shared/ids.ts'
import type { Citation } from '../../../src-shared/questions.ts'
import { showControls } from '../../text/controls.ts'
import { SourceDialog } from './source-dialog.tsx'

const QUOTE_SHOWN = 600

function whereIn({ source, line, place }: Citation): string {
  if (line !== undefined) return `${source}:${line}`
  return place === '' ? source : `${source}, ${place}`
}

function CitationLine({ citation, session }: { citation: Citation; session: SessionId }) {
  const [open, setOpen] = useState(false)
  const opener = useRef<HTMLButtonElement>(null)
  const { quote, verified, blob } = citation
  const where = showControls(whereIn(citation))
  const close = () => {
    setOpen(false)
    opener.current?.focus()
  }
  return (
    <li className="cite" data-verified={verified}>
      <q>{showControls(quote.slice(0, QUOTE_SHOWN))}</q>
      {quote.length > QUOTE_SHOWN ? ' …' : null}{' '}
      {blob === undefined ? (
        <code>{where}</code>
      ) : (
        <button
          ref={opener}
          type="button"
          className="btn-link mono"
          title="Open the source at this place"
          onClick={() => setOpen(true)}
        >
          {where}
        </button>
      )}
      {verified ? null : (
        <span className="cite-wrong">
          {blob === undefined ? ' · there is no such source' : ' · not in this source'}
        </span>
      )}
      {open && blob !== undefined ? (
        <SourceDialog citation={citation} blob={blob} session={session} onClose={close} />
      ) : null}
    </li>
  )
}

/** The passages that an answer rests on; each opens its source there. */
export function Citations({
  citations,
  session,
}: {
  citations: readonly Citation[]
  session: SessionId
}) {
  if (citations.length === 0) return null
  return (
    <ul className="cites" aria-label="Sources">
      {citations.map((citation, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the citations of one answer do not change
        <CitationLine key={at} citation={citation} session={session} />
      ))}
    </ul>
  )
}
