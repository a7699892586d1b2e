import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useLayoutEffect, useMemo, useRef } from 'react'
import { plainOutput } from './controls.ts'
import { cutLine, lineAt, lineStarts } from './lines.ts'
import type { Place } from './quote.ts'

const LINE_HEIGHT = 18

/** A line, with what is marked of it. */
function marked(line: string, start: number, mark: Place | undefined): ReactNode {
  const from = mark === undefined ? 0 : Math.max(0, mark.from - start)
  const to = mark === undefined ? 0 : Math.min(line.length, mark.to - start)
  if (from >= to) return plainOutput(cutLine(line))
  return (
    <>
      {plainOutput(cutLine(line.slice(0, from)))}
      <mark>{plainOutput(cutLine(line.slice(from, to)))}</mark>
      {plainOutput(cutLine(line.slice(to)))}
    </>
  )
}

/** A text of any length in a box of its own: only the lines in sight are drawn. */
export function LineViewer({
  text,
  label,
  lineClass,
  mark,
  numbered = false,
}: {
  text: string
  label: string
  lineClass?: (line: string) => string | undefined
  /** What of the text is marked; the box opens at it. */
  mark?: Place | undefined
  numbered?: boolean
}) {
  const box = useRef<HTMLElement>(null)
  const starts = useMemo(() => lineStarts(text), [text])
  const lines = useVirtualizer({
    count: starts.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: 12,
  })
  const markFrom = mark?.from
  useLayoutEffect(() => {
    if (markFrom === undefined) return
    lines.scrollToIndex(lineAt(starts, markFrom), { align: 'center' })
  }, [lines, starts, markFrom])
  return (
    <section
      ref={box}
      className={numbered ? 'lines lines-numbered' : 'lines'}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard
      tabIndex={0}
    >
      <div className="lines-all" style={{ height: lines.getTotalSize() }}>
        {lines.getVirtualItems().map(({ index, start }) => {
          const from = starts[index] ?? 0
          const to = index + 1 < starts.length ? (starts[index + 1] ?? 1) - 1 : text.length
          const line = text.slice(from, to)
          return (
            <pre
              key={index}
              className={lineClass?.(line)}
              data-line={numbered ? index + 1 : undefined}
              style={{ top: start }}
            >
              {marked(line, from, mark)}
            </pre>
          )
        })}
      </div>
    </section>
  )
}
