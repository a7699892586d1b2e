import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react'
import type { Request } from '../../../src-shared/records.ts'
import { useMinutes } from '../../stores/clock.ts'
import { openPage } from '../../stores/layout.ts'
import { useRecords, useSession } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { Key } from '../../ui/key.tsx'
import { age } from '../../ui/words.ts'
import { PaneHead } from '../shell/pane-head.tsx'
import { RequestCard } from './request-card.tsx'

/** As many are drawn at once; the others come up as these are answered. */
const SHOWN = 20

function Entry({ request }: { request: Request }) {
  const session = useSession(request.session)
  const since = age(useMinutes() - Date.parse(request.createdAt))
  const { id, name, toolKind, title, input, inputBlob } = request
  const asking = useMemo(
    () => ({ id, name, toolKind, title, input, inputBlob: inputBlob ?? undefined }),
    [id, name, toolKind, title, input, inputBlob],
  )
  return (
    <li className="ask-entry">
      <p className="page-facts">
        <button
          type="button"
          className="btn-link"
          onClick={() => openPage({ page: 'session', session: request.session })}
        >
          {request.ticket} {showControls(session?.title ?? '')}
        </button>
        <span>{request.project}</span>
        <span>{session?.state}</span>
        <span>{since === 'now' ? 'just now' : `${since} ago`}</span>
      </p>
      <RequestCard asking={asking} session={request.session} headed={false} />
    </li>
  )
}

/** Everything that runtimes wait to be allowed, the oldest first. */
export function RequestsPage({ pane }: { pane: number }) {
  const all = useRecords((records) => records.requests)
  const requests = useMemo(
    () => [...all.values()].sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1)),
    [all],
  )
  const list = useRef<HTMLUListElement>(null)
  const oldest = requests[0]?.id
  // The next one takes the focus of the one that was answered.
  useEffect(() => {
    if (oldest === undefined) return
    const active = document.activeElement
    if (active !== document.body && list.current?.contains(active) !== true) return
    list.current?.querySelector<HTMLElement>('[data-request]')?.focus()
  }, [oldest])

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    const cards = [...(list.current?.querySelectorAll<HTMLElement>('[data-request]') ?? [])]
    const at = cards.findIndex((card) => card.contains(document.activeElement))
    if (at === -1 || document.activeElement?.matches('input')) return
    event.preventDefault()
    cards[at + (event.key === 'ArrowDown' ? 1 : -1)]?.focus()
  }

  return (
    <>
      <PaneHead pane={pane} title="Requests" />
      <div className="page">
        {requests.length === 0 ? (
          <p className="dim">
            No runtime waits for a permission. In projects with the mode <em>ask</em> or{' '}
            <em>edits</em>, what an agent wants to do appears here and in its timeline.
          </p>
        ) : (
          <>
            <p className="dim">
              What agents wait to be allowed, the oldest first. <Key keys="↑" /> <Key keys="↓" />{' '}
              move, <Key keys="Enter" /> allows once.
            </p>
            <ul ref={list} className="ask-list" onKeyDown={onKeyDown}>
              {requests.slice(0, SHOWN).map((request) => (
                <Entry key={request.id} request={request} />
              ))}
            </ul>
            {requests.length > SHOWN ? (
              <p className="faint">and {requests.length - SHOWN} more</p>
            ) : null}
          </>
        )}
      </div>
    </>
  )
}
