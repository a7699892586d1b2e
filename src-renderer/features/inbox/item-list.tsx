import { type KeyboardEvent, memo, useEffect, useRef } from 'react'
import type { InboxItem } from '../../../src-shared/inbox.ts'
import { useMinutes } from '../../stores/clock.ts'
import { useSession } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { InlineCode } from '../../ui/inline-code.tsx'
import { StateDot } from '../../ui/state-dot.tsx'
import { age } from '../../ui/words.ts'
import { ParksIn } from '../session/parks-in.tsx'
import { kindLook, kindWord } from './items.ts'

const firstLine = (text: string) => (text.trim().split('\n', 1)[0] ?? '').slice(0, 300)

/** The kind, which the mark shows too; beside it, instead of its word, until when its session is online. */
function Kind({ item, isParked }: { item: InboxItem; isParked: boolean }) {
  const word = kindWord[item.kind]
  if (item.kind === 'assumption' || (item.parkAt === null && (!isParked || item.kind === 'failed')))
    return word
  return (
    <>
      <span className="unseen">{word}, </span>
      {item.parkAt === null ? 'parked' : <ParksIn at={item.parkAt} />}
    </>
  )
}

const Row = memo(function Row({
  item,
  isCurrent,
  at,
}: {
  item: InboxItem
  isCurrent: boolean
  at: number
}) {
  const session = useSession(item.session)
  const since = age(useMinutes() - Date.parse(item.since))
  return (
    <li>
      <button
        type="button"
        className={isCurrent ? 'inbox-row inbox-on' : 'inbox-row'}
        aria-current={isCurrent}
        tabIndex={isCurrent ? 0 : -1}
        data-at={at}
        data-kind={item.kind}
      >
        <span>
          <StateDot look={kindLook[item.kind]} />
          <span className="inbox-text clip">
            <InlineCode text={firstLine(item.text)} />
          </span>
          <span className="inbox-age">{since}</span>
        </span>
        <span>
          <span className="inbox-from clip">
            {item.ticket} · {session === undefined ? '' : showControls(session.title)}
          </span>
          <span className="inbox-kind">
            <Kind item={item} isParked={session?.state === 'parked'} />
          </span>
        </span>
      </button>
    </li>
  )
})

/** What waits, a row each; the chosen one is shown beside it. */
export function ItemList({
  items,
  current,
  onChoose,
}: {
  items: readonly InboxItem[]
  /** The place of the chosen one. */
  current: number
  onChoose: (at: number, takesFocus: boolean) => void
}) {
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    list.current?.querySelector(`[data-at="${current}"]`)?.scrollIntoView({ block: 'nearest' })
  }, [current])
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined) return
    const next = current + step
    if (next < 0 || next >= items.length) return
    event.preventDefault()
    onChoose(next, false)
    list.current?.querySelector<HTMLElement>(`[data-at="${next}"]`)?.focus()
  }
  return (
    <ul
      ref={list}
      className="inbox-list"
      aria-label="What waits for you"
      onKeyDown={onKeyDown}
      onClick={({ target }) => {
        if (!(target instanceof HTMLElement)) return
        const row = target.closest<HTMLElement>('[data-at]')
        if (row !== null) onChoose(Number(row.dataset.at), true)
      }}
    >
      {items.map((item, at) => (
        <Row key={`${item.kind} ${item.id}`} item={item} at={at} isCurrent={at === current} />
      ))}
    </ul>
  )
}
