import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef } from 'react'
import { plainOutput } from './controls.ts'
import { cutLine, lineStarts } from './lines.ts'

const LINE_HEIGHT = 18

/** A text of any length in a box of its own: only the lines in sight are drawn. */
export function LineViewer({
  text,
  label,
  lineClass,
}: {
  text: string
  label: string
  lineClass?: (line: string) => string | undefined
}) {
  const box = useRef<HTMLElement>(null)
  const starts = useMemo(() => lineStarts(text), [text])
  const lines = useVirtualizer({
    count: starts.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: 12,
  })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard
    <section ref={box} className="lines" aria-label={label} tabIndex={0}>
      <div className="lines-all" style={{ height: lines.getTotalSize() }}>
        {lines.getVirtualItems().map(({ index, start }) => {
          const from = starts[index] ?? 0
          const to = index + 1 < starts.length ? (starts[index + 1] ?? 1) - 1 : text.length
          const line = text.slice(from, to)
          return (
            <pre key={index} className={lineClass?.(line)} style={{ top: start }}>
              {plainOutput(cutLine(line))}
            </pre>
          )
        })}
      </div>
    </section>
  )
}
