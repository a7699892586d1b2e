import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type MouseEvent, memo, useMemo, useRef, useState } from 'react'
import type { Session, Ticket } from '../../../src-shared/records.ts'
import { useMinutes } from '../../stores/clock.ts'
import { openBeside, openPage, type Page, toggleFold, useLayout } from '../../stores/layout.ts'
import { useRecords, useSession, useTicket } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { isMod, keyText } from '../../ui/key.tsx'
import { StateDot, sessionLook, sessionWord, ticketLook } from '../../ui/state-dot.tsx'
import { age, whole } from '../../ui/words.ts'
import { useWaiting } from '../inbox/items.ts'
import { type Line, sidebarLines } from './list.ts'
import { treeMove } from './tree-keys.ts'

const HEIGHT = { project: 32, group: 24, ticket: 28 } as const

/** The ticket that a page is about. */
function ticketOf(page: Page, sessions: ReadonlyMap<string, Session>): string | undefined {
  if (page.page === 'ticket' || page.page === 'edit-ticket') return page.ticket
  return page.page === 'session' ? sessions.get(page.session)?.ticketId : undefined
}

const pageOf = (line: Extract<Line, { line: 'ticket' }>): Page =>
  line.session === undefined
    ? { page: 'ticket', ticket: line.ticket }
    : { page: 'session', session: line.session }

function Age({ session }: { session: Session }) {
  const now = useMinutes()
  if (sessionWord(session) === 'asks') return <span className="side-asks">asks</span>
  switch (session.state) {
    case 'working':
      return <>{age(now - Date.parse(session.turnStartedAt ?? session.updatedAt))}</>
    case 'waiting':
    case 'finished':
      return <>{age(now - Date.parse(session.updatedAt))}</>
    case 'parked':
      return <>parked {age(now - Date.parse(session.updatedAt))}</>
    default:
      return <>{session.state}</>
  }
}

const TicketLine = memo(function TicketLine({
  id,
  sessionId,
}: {
  id: string
  sessionId: string | undefined
}) {
  const ticket: Ticket | undefined = useTicket(id)
  const session = useSession(sessionId)
  if (ticket === undefined) return null
  const title = showControls(ticket.title)
  return (
    <>
      <StateDot look={session === undefined ? ticketLook(ticket.status) : sessionLook(session)} />
      <span className="clip side-title" title={`${ticket.key} ${title}`}>
        <span className="side-key">{ticket.key}</span> {title}
      </span>
      <span className="unseen">{session === undefined ? '' : `, ${sessionWord(session)}`}</span>
      <span className="side-age">{session === undefined ? null : <Age session={session} />}</span>
    </>
  )
})

function lineContent(line: Line) {
  switch (line.line) {
    case 'project':
      return (
        <>
          <span className="tl-fold" aria-hidden="true" />
          <span className="clip">{showControls(line.name)}</span>
          <span className="side-age">{line.count === 0 ? '' : whole(line.count)}</span>
        </>
      )
    case 'group':
      return (
        <>
          <span className="tl-fold" aria-hidden="true" />
          <span className="clip">{line.status}</span>
          <span className="side-age">{whole(line.count)}</span>
        </>
      )
    case 'ticket':
      return <TicketLine id={line.ticket} sessionId={line.session} />
  }
}

/** Everything that waits for the person, with how much that is. */
function Inbox({ on }: { on: boolean }) {
  const count = useWaiting()
  return (
    <button
      type="button"
      className={on ? 'side-home side-on' : 'side-home'}
      title={`Inbox (${keyText('Mod+B')})`}
      onClick={() => openPage({ page: 'inbox' })}
    >
      <StateDot look={count === 0 ? 'open' : 'wait'} />
      <span className="grow">Inbox</span>
      {count === 0 ? null : (
        <span className="side-badge">
          {whole(count)}
          <span className="unseen"> {count === 1 ? 'waits' : 'wait'} for you</span>
        </span>
      )}
    </button>
  )
}

/** Projects, their tickets by status, and how each ticket's session is. */
export function Sidebar() {
  const projects = useRecords((records) => records.projects)
  const tickets = useRecords((records) => records.tickets)
  const sketches = useRecords((records) => records.sketches)
  const folded = useLayout((layout) => layout.folded)
  const lines = useMemo(
    () => sidebarLines(projects, tickets, sketches, folded),
    [projects, tickets, sketches, folded],
  )
  const panes = useLayout((layout) => layout.panes)
  const focused = useLayout((layout) => layout.focused)
  const shown = useRecords((records) =>
    panes.map((page) => ticketOf(page, records.sessions) ?? '').join(' '),
  ).split(' ')
  const [active, setActive] = useState<string | null>(null)
  const box = useRef<HTMLDivElement>(null)
  const list = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: (at) => HEIGHT[lines[at]?.line ?? 'ticket'],
    getItemKey: (at) => lines[at]?.key ?? at,
    overscan: 10,
    paddingEnd: 16,
  })

  const activeAt = lines.findIndex((line) => line.key === active)
  const current = shown[focused]
  const tabAt =
    activeAt >= 0
      ? activeAt
      : Math.max(
          0,
          lines.findIndex((line) => line.key === current),
        )

  const choose = (line: Line, beside: boolean) => {
    setActive(line.key)
    if (line.line !== 'ticket') toggleFold(line.key)
    else if (beside) openBeside(pageOf(line))
    else openPage(pageOf(line))
  }

  const goTo = (at: number) => {
    const line = lines[at]
    if (line === undefined) return
    setActive(line.key)
    list.scrollToIndex(at)
    // The line may only be drawn once it is scrolled to.
    requestAnimationFrame(() => {
      box.current?.querySelector<HTMLElement>(`[data-at="${at}"]`)?.focus()
    })
  }

  const onClick = (event: MouseEvent<HTMLElement>) => {
    if (!(event.target instanceof HTMLElement)) return
    const line = lines[Number(event.target.closest<HTMLElement>('[data-at]')?.dataset.at ?? -1)]
    if (line !== undefined) choose(line, isMod(event))
  }

  const onKeyDown = (event: KeyboardEvent) => {
    const line = lines[tabAt]
    if (line === undefined || event.altKey) return
    const move = treeMove(event.key, lines, tabAt, isMod(event))
    if (move === null) return
    event.preventDefault()
    if (move.act === 'go') goTo(move.to)
    else if (move.act === 'fold') toggleFold(move.key)
    else choose(line, move.beside)
  }

  return (
    <nav className="side" aria-label="Projects and tickets">
      <div className="side-bar">
        <button
          type="button"
          className={panes[focused]?.page === 'home' ? 'side-home side-on' : 'side-home'}
          onClick={() => openPage({ page: 'home' })}
        >
          Overview
        </button>
        <button
          type="button"
          className="btn-quiet"
          title={`New project (${keyText('Mod+Shift+N')})`}
          onClick={() => openPage({ page: 'new-project' })}
        >
          + Project
        </button>
        <button
          type="button"
          className="btn-quiet"
          title={`New ticket (${keyText('Mod+N')})`}
          disabled={projects.size === 0}
          onClick={() =>
            openPage({ page: 'new-ticket', project: projects.keys().next().value ?? null })
          }
        >
          + Ticket
        </button>
      </div>
      <div className="side-bar side-second">
        <Inbox on={panes[focused]?.page === 'inbox'} />
      </div>
      <div className="side-list" ref={box}>
        {lines.length === 0 ? null : (
          <div
            className="side-all"
            role="tree"
            aria-label="Tickets"
            tabIndex={-1}
            style={{ height: list.getTotalSize() }}
            onKeyDown={onKeyDown}
            onClick={onClick}
          >
            {list.getVirtualItems().map(({ index, key, start }) => {
              const line = lines[index]
              if (line === undefined) return null
              const isShown = line.line === 'ticket' && shown.includes(line.key)
              const isCurrent = line.line === 'ticket' && line.key === current
              return (
                <div
                  key={key}
                  role="treeitem"
                  aria-level={line.line === 'project' ? 1 : line.line === 'group' ? 2 : 3}
                  aria-expanded={line.line === 'ticket' ? undefined : !line.folded}
                  aria-selected={isCurrent}
                  tabIndex={index === tabAt ? 0 : -1}
                  data-at={index}
                  data-ticket={line.line === 'ticket' ? line.ticket : undefined}
                  className={`side-line side-${line.line}${isCurrent ? ' side-on' : isShown ? ' side-shown' : ''}`}
                  style={{ top: start, height: HEIGHT[line.line] }}
                >
                  {lineContent(line)}
                  {line.line === 'project' ? (
                    <button
                      type="button"
                      className="btn-quiet side-add side-edit"
                      tabIndex={-1}
                      aria-label={`Edit ${line.name}`}
                      title="Edit the project"
                      onClick={(event) => {
                        event.stopPropagation()
                        openPage({ page: 'edit-project', project: line.project })
                      }}
                    >
                      ⋯
                    </button>
                  ) : null}
                  {line.line === 'project' ? (
                    <button
                      type="button"
                      className="btn-quiet side-add"
                      tabIndex={-1}
                      aria-label={`New ticket in ${line.name}`}
                      title="New ticket"
                      onClick={(event) => {
                        event.stopPropagation()
                        openPage({ page: 'new-ticket', project: line.project })
                      }}
                    >
                      +
                    </button>
                  ) : null}
                </div>
              )
            })}
          </div>
        )}
      </div>
    </nav>
  )
}
