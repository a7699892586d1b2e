import { useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { useStore } from 'zustand'
import type { SessionId } from '../../../src-shared/ids.ts'
import { jumps } from '../../stores/jumps.ts'
import { requestShown, useWantedRequest } from '../../stores/wanted-request.ts'
import type { Row } from '../../sync/rows.ts'
import type { SessionTimeline } from '../../sync/timeline.ts'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { whole } from '../../ui/words.ts'
import { FindBar } from './find-bar.tsx'
import { type Item, ItemMaker, runningOutsideTurns } from './items.ts'
import { TimelineItem } from './timeline-item.tsx'

/** Nearer to the end than this counts as being there. */
const END_PX = 60
/** The next page is asked for when this much is left above. */
const ABOVE_PX = 1_200
/** A turn whose heading is this near to the top is the one being read. */
const TURN_SLACK_PX = 8

/** What still counts its time: a turn without an end, a call without a result. */
const isOpen = (row: Row): boolean =>
  (row.kind === 'turn' && row.end === null) || (row.kind === 'tool' && row.result === null)

function estimate(item: Item | undefined): number {
  switch (item?.row.kind) {
    case 'text':
      return Math.max(
        28,
        Math.min(900, (item.chunks ?? []).reduce((sum, c) => sum + c.text.length, 0) / 3),
      )
    case 'tool':
      return item.open ? 160 : 30
    case 'turn':
      return 40
    case 'question':
      return 240
    case 'assumption':
      return 130
    default:
      return 34
  }
}

/** What a search opens to show what it found inside. */
const isFoldable = (row: Row): boolean =>
  ['tool', 'thinking', 'todo', 'question'].includes(row.kind)

/** The open request or question that a row asks for. */
function wantedOf(row: Row): string | undefined {
  if (row.kind === 'question') return row.asked.question
  if (row.kind !== 'tool' && row.kind !== 'request') return undefined
  const { permission } = row
  return permission?.answer === null ? permission.asked.request : undefined
}

/** Frames that an entry gets to be drawn after it was scrolled to. */
const DRAWN_WITHIN = 30

/** Does something with an element as soon as it is there; the answer gives it up. */
function whenDrawn(
  box: HTMLElement | null,
  selector: string,
  act: (element: HTMLElement) => void,
): () => void {
  let left = DRAWN_WITHIN
  let frame = 0
  const look = () => {
    const element = box?.querySelector<HTMLElement>(selector)
    if (element != null) return act(element)
    left -= 1
    if (left > 0) frame = requestAnimationFrame(look)
  }
  frame = requestAnimationFrame(look)
  return () => cancelAnimationFrame(frame)
}

/** The same array as before while the keys are the same, so that the list keeps its measures. */
function useKeys(items: readonly Item[]): readonly string[] {
  const before = useRef<readonly string[]>([])
  const keys = useMemo(() => {
    const known = before.current
    if (known.length === items.length && items.every((item, at) => item.key === known[at]))
      return known
    return items.map((item) => item.key)
  }, [items])
  before.current = keys
  return keys
}

/** A session's timeline: opens at its end, stays there while the reader does, loads upwards. */
export function Timeline({
  timeline,
  session,
  runningTurn,
  preparing,
  findRequest,
}: {
  timeline: SessionTimeline
  session: SessionId
  /** The number of the turn that runs; null between turns. */
  runningTurn: number | null
  /** The session is being started or brought back. */
  preparing: boolean
  /** Grows when the reader wants to find something. */
  findRequest: number
}) {
  const rows = useStore(timeline.store, (view) => view.rows)
  const first = useStore(timeline.store, (view) => view.first)
  const last = useStore(timeline.store, (view) => view.last)
  const hostLast = useStore(timeline.store, (view) => view.hostLast)
  const pageFailed = useStore(timeline.store, (view) => view.pageFailed)
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map())
  const [maker] = useState(() => new ItemMaker())
  const items = useMemo(() => maker.items(rows, chosen), [maker, rows, chosen])
  const keys = useKeys(items)
  const runningCall = useMemo(() => runningOutsideTurns(rows, preparing), [rows, preparing])
  const box = useRef<HTMLElement>(null)
  const [atEnd, setAtEnd] = useState(true)
  /** Kept at the end whatever grows; not while a reader opens something there and reads on from it. */
  const [pinned, setPinned] = useState(true)
  const seen = useRef(hostLast)

  const getItemKey = useCallback((index: number) => keys[index] ?? index, [keys])
  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: (index) => estimate(items[index]),
    getItemKey,
    overscan: 6,
    paddingStart: 12,
    paddingEnd: 16,
    anchorTo: 'end',
    followOnAppend: pinned,
    scrollEndThreshold: pinned ? END_PX : -1,
    initialOffset: () => items.reduce((sum, item) => sum + estimate(item), 0),
    directDomUpdates: true,
    directDomUpdatesMode: 'transform',
  })

  useLayoutEffect(() => {
    list.scrollToEnd()
  }, [list])

  const endRef = useRef(true)

  // A pane that gets lower or wider must not push the end out of sight.
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const observer = new ResizeObserver(() => {
      if (endRef.current) list.scrollToEnd()
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [list])
  const onScroll = useCallback(() => {
    const element = box.current
    if (element === null) return
    const left = element.scrollHeight - element.scrollTop - element.clientHeight
    const isEnd = left < END_PX
    endRef.current = isEnd
    setAtEnd(isEnd)
    setPinned(isEnd)
    timeline.setFollowing(isEnd)
    if (element.scrollTop < ABOVE_PX) void timeline.loadAbove()
    if (left < ABOVE_PX) void timeline.loadBelow()
  }, [timeline])

  // Too few rows to scroll give no scroll event; the page above then loads by itself.
  useEffect(() => {
    const element = box.current
    if (element !== null && first > 1 && element.scrollHeight <= element.clientHeight + ABOVE_PX) {
      void timeline.loadAbove()
    }
  }, [first, timeline])

  if (atEnd && last >= hostLast) seen.current = hostLast
  const unseen = hostLast - seen.current

  const toggle = useCallback(
    (key: string, open: boolean) => {
      if (open) {
        endRef.current = false
        setPinned(false)
      }
      setChosen((before) => new Map(before).set(key, open))
      // Where the list is now is only known when the row has its new height.
      requestAnimationFrame(() => requestAnimationFrame(onScroll))
    },
    [onScroll],
  )

  const goToTurn = (back: boolean) => {
    const top = (box.current?.scrollTop ?? 0) + TURN_SLACK_PX
    const turns = items.flatMap((item, at) => {
      const offset = list.getOffsetForIndex(at, 'start')
      return item.row.kind === 'turn' && offset !== undefined ? [{ at, offset: offset[0] }] : []
    })
    const next = back
      ? turns.filter(({ offset }) => offset < top - 2 * TURN_SLACK_PX).at(-1)
      : turns.find(({ offset }) => offset > top)
    if (next !== undefined) list.scrollToIndex(next.at, { align: 'start' })
    else if (!back) list.scrollToEnd()
  }

  const [finding, setFinding] = useState(false)
  useEffect(() => {
    if (findRequest > 0) setFinding(true)
  }, [findRequest])
  const showFound = (at: number) => {
    const item = items[at]
    if (item !== undefined && !item.open && isFoldable(item.row)) toggle(item.row.key, true)
    endRef.current = false
    setPinned(false)
    list.scrollToIndex(at, { align: 'center' })
  }
  const endFind = () => {
    setFinding(false)
    box.current?.focus()
  }

  const wanted = useWantedRequest()
  const wantedAt = useMemo(
    () => (wanted === null ? -1 : items.findIndex(({ row }) => wantedOf(row) === wanted)),
    [items, wanted],
  )
  useEffect(() => {
    if (wantedAt === -1) return
    endRef.current = false
    setPinned(false)
    list.scrollToIndex(wantedAt, { align: 'center' })
    // It is drawn once it is scrolled to.
    const card = `:is([data-request="${wanted}"], [data-question="${wanted}"])`
    return whenDrawn(box.current, card, (element) => {
      if (wanted !== null) jumps.moved(wanted)
      element.focus()
      requestShown()
    })
  }, [list, wanted, wantedAt])

  const jump = () => {
    setPinned(true)
    void timeline.jumpToEnd().then(() => list.scrollToEnd())
    box.current?.focus()
  }

  return (
    <div className="tl-frame">
      <section
        ref={box}
        className="tl"
        aria-label="Timeline"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard
        tabIndex={0}
        onScroll={onScroll}
        onKeyDown={(event) => {
          if (!event.altKey || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown')) return
          event.preventDefault()
          goToTurn(event.key === 'ArrowUp')
        }}
        data-session={session}
        data-last={last}
      >
        <div className="tl-all" ref={list.containerRef}>
          {list.getVirtualItems().map(({ index, key }) => {
            const item = items[index]
            if (item === undefined) return null
            return (
              <div
                key={key}
                ref={list.measureElement}
                data-index={index}
                data-kind={item.row.kind}
                data-seq={item.row.seq ?? undefined}
                data-depth={item.depth === 0 ? undefined : Math.min(item.depth, 4)}
                data-next={items[index + 1]?.row.kind}
                className="tl-item"
              >
                <TimelineItem
                  item={item}
                  session={session}
                  running={
                    item.row.key === runningCall ||
                    (runningTurn !== null && item.row.turn === runningTurn && isOpen(item.row))
                  }
                  onToggle={toggle}
                />
              </div>
            )
          })}
        </div>
      </section>
      {finding ? (
        <FindBar
          key={findRequest}
          items={items}
          box={box}
          hasMore={first > 1}
          onShow={showFound}
          onClose={endFind}
        />
      ) : null}
      {pageFailed === null ? null : (
        <div className="tl-page-failed">
          <RefusalNote refusal={pageFailed} onRetry={() => void timeline.loadAbove()} />
        </div>
      )}
      {atEnd ? null : (
        <button type="button" className="btn tl-jump" onClick={jump}>
          Jump to latest
          {unseen > 0 ? <span className="tl-count">{whole(unseen)} new</span> : null}
          <span aria-hidden="true">↓</span>
        </button>
      )}
    </div>
  )
}
