import { useEffect, useRef, useState } from 'react'
import { draftOf, followDraft, keepDraft } from '../stores/drafts.ts'
import { LineViewer } from '../text/line-viewer.tsx'
import { lineCount } from '../text/lines.ts'
import { bytes, counted } from './words.ts'

/** A longer text is not put into a text box, which would stand still with it, but kept beside it. */
export const PASTE_LIMIT = 20_000

function stored(owner: string): string[] {
  try {
    const pieces: unknown = JSON.parse(draftOf(owner))
    return Array.isArray(pieces) ? pieces.filter((piece) => typeof piece === 'string') : []
  } catch {
    // Nothing was kept, or nothing that can be read.
    return []
  }
}

/** The text of the box and the long pieces beside it, as one. */
export function joined(text: string, pieces: readonly string[]): string {
  return [text, ...pieces].filter((piece) => piece.trim() !== '').join('\n\n')
}

/** Long pieces that belong to the text of one box; kept as its draft is. */
export function usePasted(owner: string, initial: readonly string[] = []) {
  const name = `${owner}.pasted`
  const [pieces, setPieces] = useState(() => {
    const kept = stored(name)
    return kept.length > 0 ? kept : [...initial]
  })
  const isChanged = useRef(false)
  useEffect(() => followDraft(name, () => setPieces(stored(name))), [name])
  const set = (next: readonly string[]) => {
    isChanged.current = true
    keepDraft(name, next.length === 0 ? '' : JSON.stringify(next))
  }
  // Not those of the last drawing: more may have been pasted since, also into a box that was opened since.
  const now = () => (isChanged.current ? stored(name) : pieces)
  return {
    pieces,
    set,
    /** Puts pieces that could not be given in front of those that were pasted meanwhile. */
    putBack: (before: readonly string[]): void => set([...before, ...now()]),
    /** What the box may hold of a new value: too long a one becomes a piece. */
    keep: (value: string): string => {
      if (value.length <= PASTE_LIMIT) return value
      set([...now(), value])
      return ''
    },
    /** True: the pasted text was long and is a piece now. */
    paste: (text: string): boolean => {
      if (text.length <= PASTE_LIMIT) return false
      set([...now(), text])
      return true
    },
  }
}

export function PastedList({
  pieces,
  onChange,
}: {
  pieces: readonly string[]
  onChange: (pieces: string[]) => void
}) {
  const [shown, setShown] = useState<number | null>(null)
  if (pieces.length === 0) return null
  const text = shown === null ? undefined : pieces[shown]
  return (
    <div className="pasted">
      <ul aria-label="Pasted texts">
        {pieces.map((piece, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no other name than their place
          <li key={at}>
            <span className="key">pasted</span>
            <span className="grow">
              {bytes(piece.length)} · {counted(lineCount(piece), 'line')}
            </span>
            <button
              type="button"
              className="btn-quiet"
              aria-expanded={shown === at}
              onClick={() => setShown(shown === at ? null : at)}
            >
              {shown === at ? 'Hide' : 'Show'}
            </button>
            <button
              type="button"
              className="btn-quiet"
              onClick={() => {
                setShown(null)
                onChange(pieces.filter((_, other) => other !== at))
              }}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      {text === undefined ? null : <LineViewer text={text} label="Pasted text" />}
    </div>
  )
}
