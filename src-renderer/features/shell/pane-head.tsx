import type { ReactNode } from 'react'
import { closePane, useLayout } from '../../stores/layout.ts'

/** The line over a pane: what it shows, and what can be done with it as a whole. */
export function PaneHead({
  pane,
  title,
  mark,
  after,
  meta,
  menu,
}: {
  pane: number
  title: string
  mark?: ReactNode
  after?: ReactNode
  meta?: ReactNode
  menu?: ReactNode
}) {
  const split = useLayout((layout) => layout.panes.length > 1)
  return (
    <header className="pane-head">
      {mark}
      <h2 className="clip" tabIndex={-1} title={title}>
        {title}
      </h2>
      {after}
      <span className="grow" />
      {meta === undefined ? null : <span className="pane-meta">{meta}</span>}
      {menu}
      {split ? (
        <button
          type="button"
          className="btn-quiet"
          aria-label="Close this pane"
          onClick={() => closePane(pane)}
        >
          ×
        </button>
      ) : null}
    </header>
  )
}
