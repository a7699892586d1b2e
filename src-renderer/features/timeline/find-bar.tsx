import { type RefObject, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { Key } from '../../ui/key.tsx'
import { whole } from '../../ui/words.ts'
import { findItems, rangesIn } from './find.ts'
import type { Item } from './items.ts'

const HIGHLIGHT = 'ballet-found'
/** Marks in one entry; more tell nobody anything. */
const MARKS = 200

/** Finds a text in what is loaded of a timeline, and goes to it. */
export function FindBar({
  items,
  box,
  hasMore,
  onShow,
  onClose,
}: {
  items: readonly Item[]
  box: RefObject<HTMLElement | null>
  /** There are earlier events that are not loaded. */
  hasMore: boolean
  /** Scrolls to an entry, and opens it where it is folded. */
  onShow: (at: number) => void
  onClose: () => void
}) {
  const [query, setQuery] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const calm = useDeferredValue(items)
  const found = useMemo(() => findItems(calm, query), [calm, query])
  /** The key of the entry that is shown; places move while the session goes on. */
  const [current, setCurrent] = useState<string | null>(null)
  const place = found.findIndex((at) => calm[at]?.key === current)

  useEffect(() => input.current?.focus(), [])
  useEffect(() => () => void CSS.highlights.delete(HIGHLIGHT), [])

  const mark = (at: number) => {
    // The entry is drawn by the frame after the one that scrolls to it.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        const element = box.current?.querySelector(`[data-index="${at}"]`)
        const ranges =
          element === null || element === undefined ? [] : rangesIn(element, query, MARKS)
        CSS.highlights.set(HIGHLIGHT, new Highlight(...ranges))
      }),
    )
  }

  // While somebody types, everything in sight that fits is marked.
  useEffect(() => {
    if (current !== null) return
    const frame = requestAnimationFrame(() => {
      const ranges =
        box.current === null || query.trim() === '' ? [] : rangesIn(box.current, query, MARKS)
      CSS.highlights.set(HIGHLIGHT, new Highlight(...ranges))
    })
    return () => cancelAnimationFrame(frame)
  }, [box, query, current])

  const go = (step: 1 | -1) => {
    if (found.length === 0) return
    // Begins at the newest, where people are.
    const next = place === -1 ? found.length - 1 : (place + step + found.length) % found.length
    const at = found[next]
    if (at === undefined) return
    setCurrent(calm[at]?.key ?? null)
    onShow(at)
    mark(at)
  }

  const said =
    query.trim() === ''
      ? ''
      : found.length === 0
        ? hasMore
          ? 'not in what is loaded'
          : 'not found'
        : place === -1
          ? `${whole(found.length)} found`
          : `${whole(place + 1)} of ${whole(found.length)}`

  return (
    <search className="find">
      <input
        ref={input}
        className="find-input"
        aria-label="Find in this timeline"
        placeholder="Find"
        value={query}
        onChange={(event) => {
          setQuery(event.target.value)
          setCurrent(null)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') go(event.shiftKey ? 1 : -1)
          else if (event.key === 'Escape') onClose()
          else return
          event.preventDefault()
        }}
      />
      <span className="find-said" role="status">
        {said}
      </span>
      <button
        type="button"
        className="btn-quiet"
        aria-label="Find further up"
        onClick={() => go(-1)}
      >
        ↑ <Key keys="Enter" />
      </button>
      <button
        type="button"
        className="btn-quiet"
        aria-label="Find further down"
        onClick={() => go(1)}
      >
        ↓
      </button>
      <button type="button" className="btn-quiet" aria-label="Close the search" onClick={onClose}>
        ×
      </button>
    </search>
  )
}
