import { type KeyboardEvent, useEffect, useLayoutEffect, useRef } from 'react'
import { type InboxItem, InboxKind } from '../../../src-shared/inbox.ts'
import '../../sync/without-jit.ts'
import { inboxView, showInInbox, useInboxView } from '../../stores/inbox-view.ts'
import { jumps } from '../../stores/jumps.ts'
import { openPage } from '../../stores/layout.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { Key } from '../../ui/key.tsx'
import { counted } from '../../ui/words.ts'
import { PaneHead } from '../shell/pane-head.tsx'
import { Answered } from './answered.tsx'
import { type Held, HeldAnswer, undoLast, useHeld } from './held-answer.tsx'
import { ItemCard, ItemFacts } from './item-card.tsx'
import { ItemList } from './item-list.tsx'
import { currentItem, filtered, kindWords, useInbox, useWaiting, wantedItem } from './items.ts'

/** Text is being written, and a letter is a letter. */
const isWriting = (target: EventTarget) =>
  target instanceof HTMLElement &&
  target.matches('textarea, select, input:not([type="radio"], [type="checkbox"])')

function Views() {
  const shows = useInboxView((view) => view.shows)
  const count = useWaiting()
  return (
    <fieldset className="inbox-views" aria-label="Shown">
      {(['open', 'answered'] as const).map((each) => (
        <button
          key={each}
          type="button"
          className="btn-quiet"
          aria-pressed={shows === each}
          onClick={() => showInInbox({ shows: each })}
        >
          {each === 'open' ? 'Waiting' : 'Answered'}
          {each === 'open' && count > 0 ? <span className="faint">{count}</span> : null}
        </button>
      ))}
    </fieldset>
  )
}

function Filters({ items }: { items: readonly InboxItem[] }) {
  const kind = useInboxView((view) => view.kind)
  const project = useInboxView((view) => view.project)
  const projects = useRecords((records) => records.projects)
  const count = (of: InboxKind) => items.filter((item) => item.kind === of).length
  return (
    <div className="inbox-filters">
      <select
        className="field"
        aria-label="Kind"
        value={kind ?? ''}
        onChange={({ target }) =>
          showInInbox({ kind: InboxKind.options.find((each) => each === target.value) ?? null })
        }
      >
        <option value="">All kinds</option>
        {InboxKind.options.map((each) => (
          <option key={each} value={each}>
            {kindWords[each]} ({count(each)})
          </option>
        ))}
      </select>
      <select
        className="field"
        aria-label="Project"
        value={project ?? ''}
        onChange={({ target }) => showInInbox({ project: target.value || null })}
      >
        <option value="">All projects</option>
        {[...projects.values()].map(({ id, name }) => (
          <option key={id} value={id}>
            {showControls(name)}
          </option>
        ))}
      </select>
    </div>
  )
}

/** Nothing waits: what goes on meanwhile. */
function Calm({ isFiltered }: { isFiltered: boolean }) {
  const working = useRecords(({ sketches }) => {
    let count = 0
    for (const { state } of sketches.values()) if (state === 'working') count += 1
    return count
  })
  if (isFiltered) {
    return (
      <div className="inbox-calm" tabIndex={-1}>
        <p>Nothing of this kind waits.</p>
        <button
          type="button"
          className="btn"
          onClick={() => showInInbox({ kind: null, project: null })}
        >
          Show everything
        </button>
      </div>
    )
  }
  return (
    <div className="inbox-calm" tabIndex={-1}>
      <p className="inbox-calm-head">Nothing waits for you.</p>
      <p className="dim">
        {working === 0
          ? 'Questions, requests and sessions that wait for a word come here.'
          : `${counted(working, 'session')} ${working === 1 ? 'is' : 'are'} at work.`}
      </p>
    </div>
  )
}

/** The keys, or the answer that is on its way; as high in both cases, so that nothing moves. */
function Foot({ held }: { held: readonly Held[] }) {
  const [last] = held
  return (
    <footer className="inbox-foot">
      {last === undefined ? (
        <span className="inbox-keys">
          <span>
            <Key keys="J" /> <Key keys="K" /> next, back
          </span>
          <span>
            <Key keys="1" />–<Key keys="9" /> pick
          </span>
          <span>
            <Key keys="Enter" /> send
          </span>
          <span>
            <Key keys="E" /> open the session
          </span>
          <span>
            <Key keys="U" /> undo
          </span>
        </span>
      ) : (
        <HeldAnswer question={last} more={held.length - 1} />
      )}
    </footer>
  )
}

function Open() {
  const client = useClient()
  const all = useInbox()
  const held = useHeld()
  const kind = useInboxView((view) => view.kind)
  const project = useInboxView((view) => view.project)
  const chosen = useInboxView((view) => view.current)
  const comesBack = useInboxView((view) => view.comesBack)
  const sessions = useRecords((records) => records.sessions)
  const items = filtered(all, { kind, project }, (id) => sessions.get(id)?.projectId)
  const current = wantedItem(items, { current: chosen, comesBack })
  const root = useRef<HTMLDivElement>(null)
  /** Where the shown item stood last, and what it was. */
  const place = useRef(0)
  const shownBefore = useRef<InboxItem | null>(null)
  const answered = useRef(new Set<string>())
  /** To which item a person moved. */
  const movedTo = useRef<string | null>(null)

  const isListed = items.some(({ id }) => id === current)
  const before = shownBefore.current
  /** Somebody else ended the question that is looked at: it stays, and says so. */
  const meanwhile =
    !isListed &&
    before !== null &&
    before.id === current &&
    before.kind === 'question' &&
    !answered.current.has(before.id)
  const at = meanwhile ? -1 : currentItem(items, current, place.current)
  const shown = meanwhile ? before : items[at]
  const shownId = shown?.id ?? null

  useLayoutEffect(() => {
    if (at >= 0) place.current = at
    shownBefore.current = shown ?? null
    if (at >= 0 && shownId !== null) answered.current.delete(shownId)
    if (chosen !== shownId) inboxView.setState({ current: shownId })
    if (comesBack !== null && shownId === comesBack) inboxView.setState({ comesBack: null })
  })
  const wasShown = useRef(false)
  // The next one takes the focus of the one that was answered; what comes by itself takes it from nothing else.
  useLayoutEffect(() => {
    const isFirst = !wasShown.current
    wasShown.current = true
    if (shownId !== null && !isFirst && movedTo.current !== shownId) jumps.jumped(shownId)
    movedTo.current = null
    const active = document.activeElement
    const isBusy = active !== null && active !== document.body
    if (isBusy && !isFirst && root.current?.closest('.pane')?.contains(active) !== true) return
    if (isBusy && active.closest('.inbox-list, .inbox-filters') !== null) return
    const card = '.inbox-card :is([data-question], [data-request])'
    const place = shownId === null ? '.inbox-calm' : meanwhile ? '.inbox-next' : card
    root.current?.querySelector<HTMLElement>(place)?.focus({ preventScroll: true })
  }, [shownId, meanwhile])

  const show = (next: number, takesFocus: boolean) => {
    const item = items[Math.min(next, items.length - 1)]
    if (item === undefined) return
    place.current = next
    inboxView.setState({ current: item.id, comesBack: null })
    if (takesFocus && document.activeElement instanceof HTMLElement) document.activeElement.blur()
  }
  const choose = (next: number, takesFocus: boolean) => {
    const item = items[Math.min(next, items.length - 1)]
    if (item === undefined) return
    if (item.id !== shownId) movedTo.current = item.id
    jumps.moved(item.id)
    show(next, takesFocus)
  }
  const open = () => {
    if (shown !== undefined) openPage({ page: 'session', session: shown.session })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
    if (isWriting(event.target)) return
    if (event.repeat && event.key !== 'j' && event.key !== 'k') return
    const here = meanwhile ? place.current - 1 : at
    switch (event.key) {
      case 'j':
        choose(meanwhile ? place.current : here + 1, true)
        break
      case 'k':
        if (here > 0 || meanwhile) choose(Math.max(0, here - (meanwhile ? 0 : 1)), true)
        break
      case 'Enter':
        if (!meanwhile) return
        show(place.current, true)
        break
      case 'e':
        open()
        break
      case 'u':
        undoLast(client)
        break
      default:
        return
    }
    event.preventDefault()
    event.stopPropagation()
  }
  const isFiltered = kind !== null || project !== null
  if (all.length === 0 && shown === undefined && held.length === 0) {
    return (
      <div ref={root} className="inbox-empty">
        <Calm isFiltered={false} />
      </div>
    )
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys of what is in it
    <div ref={root} className="inbox" data-count={items.length} onKeyDown={onKeyDown}>
      <div className="inbox-side">
        <Filters items={all} />
        <ItemList items={items} current={at} onChoose={choose} />
      </div>
      <div className="inbox-card">
        {shown === undefined ? (
          <Calm isFiltered={isFiltered && all.length > 0} />
        ) : (
          <>
            <ItemFacts item={shown} onOpen={open} />
            {meanwhile ? (
              <p className="q-hint" role="status">
                <span className="grow">This question is over: it was ended elsewhere.</span>
                <button
                  type="button"
                  className="btn inbox-next"
                  onClick={() => show(place.current, true)}
                >
                  Next <Key keys="Enter" />
                </button>
              </p>
            ) : null}
            <ItemCard
              key={shown.id}
              item={shown}
              onAnswered={() => answered.current.add(shown.id)}
            />
          </>
        )}
      </div>
      <Foot held={held} />
    </div>
  )
}

/** One list of everything that waits for the person, over all sessions and projects; answered in place. */
export function InboxPage({ pane }: { pane: number }) {
  const shows = useInboxView((view) => view.shows)
  useEffect(() => {
    // The next time it begins with what waits longest.
    return () => inboxView.setState({ current: null })
  }, [])
  return (
    <>
      <PaneHead pane={pane} title="Inbox" menu={<Views />} />
      {shows === 'open' ? <Open /> : <Answered />}
    </>
  )
}
