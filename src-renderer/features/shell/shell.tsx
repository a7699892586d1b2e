import { lazy, Suspense, useEffect } from 'react'
import { focusedSession, runCommand, runMenuCommand } from '../../commands.ts'
import { commandOf, isWritten } from '../../shortcuts.ts'
import { focusPane, layoutStore, type Page, useLayout } from '../../stores/layout.ts'
import { untell, useTold } from '../../stores/told.ts'
import { bridge } from '../../sync/bridge.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { isMac } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { HomePage } from '../empty/home-page.tsx'
import { Palette } from '../palette/palette.tsx'
import { Details } from '../session/details.tsx'
import { SessionPane } from '../session/session-pane.tsx'
import { Sidebar } from '../sidebar/sidebar.tsx'
import { Guard } from './guard.tsx'
import { useHostTheme } from './host-theme.ts'
import { useKeptFocus } from './keep-focus.ts'
import { TopBar } from './top-bar.tsx'
import { useShownSessions } from './use-shown-sessions.ts'

const TicketPage = lazy(() =>
  import('../ticket/ticket-page.tsx').then(({ TicketPage: page }) => ({ default: page })),
)
const NewTicketPage = lazy(() =>
  import('../ticket/new-ticket-page.tsx').then(({ NewTicketPage: page }) => ({ default: page })),
)
const NewProjectPage = lazy(() =>
  import('../project/new-project-page.tsx').then(({ NewProjectPage: page }) => ({ default: page })),
)
const EditProjectPage = lazy(() =>
  import('../project/edit-project-page.tsx').then(({ EditProjectPage: page }) => ({
    default: page,
  })),
)
const EditTicketPage = lazy(() =>
  import('../ticket/edit-ticket-page.tsx').then(({ EditTicketPage: page }) => ({ default: page })),
)
const InboxPage = lazy(() =>
  import('../inbox/inbox-page.tsx').then(({ InboxPage: page }) => ({ default: page })),
)
const SettingsPage = lazy(() =>
  import('../settings/settings-page.tsx').then(({ SettingsPage: page }) => ({ default: page })),
)
const FleetPage = lazy(() =>
  import('../fleet/fleet-page.tsx').then(({ FleetPage: page }) => ({ default: page })),
)
const CheckPage = lazy(() =>
  import('../doctor/check-page.tsx').then(({ CheckPage: page }) => ({ default: page })),
)
const KeyboardDialog = lazy(() =>
  import('../palette/keyboard-dialog.tsx').then(({ KeyboardDialog: dialog }) => ({
    default: dialog,
  })),
)
const ExportDialog = lazy(() =>
  import('../moving/export-dialog.tsx').then(({ ExportDialog: dialog }) => ({ default: dialog })),
)
const ImportDialog = lazy(() =>
  import('../moving/import-dialog.tsx').then(({ ImportDialog: dialog }) => ({ default: dialog })),
)

function PageOf({ page, pane, focused }: { page: Page; pane: number; focused: boolean }) {
  switch (page.page) {
    case 'home':
      return <HomePage pane={pane} />
    case 'session':
      return <SessionPane key={page.session} id={page.session} pane={pane} focused={focused} />
    case 'ticket':
      return <TicketPage key={page.ticket} id={page.ticket} pane={pane} />
    case 'new-ticket':
      return <NewTicketPage key={page.project ?? ''} project={page.project} pane={pane} />
    case 'new-project':
      return <NewProjectPage pane={pane} />
    case 'edit-project':
      return <EditProjectPage key={page.project} id={page.project} pane={pane} />
    case 'edit-ticket':
      return <EditTicketPage key={page.ticket} id={page.ticket} pane={pane} />
    case 'inbox':
      return <InboxPage pane={pane} />
    case 'settings':
      return <SettingsPage pane={pane} />
    case 'fleet':
      return <FleetPage pane={pane} />
    case 'check':
      return <CheckPage pane={pane} />
  }
}

function Panes() {
  const panes = useLayout((layout) => layout.panes)
  const focused = useLayout((layout) => layout.focused)
  return (
    <main className="panes">
      {panes.map((page, at) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: only notes which pane is used
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: a pane is a place, whatever it shows
          key={at}
          className="pane"
          data-page={page.page}
          data-focused={at === focused}
          onFocus={() => focusPane(at)}
          onPointerDown={() => focusPane(at)}
        >
          <Guard name={JSON.stringify(page)}>
            <Suspense fallback={null}>
              <PageOf page={page} pane={at} focused={at === focused} />
            </Suspense>
          </Guard>
        </div>
      ))}
    </main>
  )
}

function FocusedDetails() {
  const session = useLayout(({ panes, focused }) => {
    const page = panes[focused]
    return page?.page === 'session' ? page.session : undefined
  })
  const beside = useLayout((layout) => layout.details)
  const over = useLayout((layout) => layout.detailsOver)
  if (session === undefined || (!beside && !over)) return null
  return (
    <div className="details-place" data-beside={beside} data-over={over}>
      <Details id={session} />
    </div>
  )
}

function Away() {
  const away = useRecords((records) => (records.phase === 'away' ? records.away : null))
  if (away === null) return null
  return (
    <div className="banner" role="status">
      <i className="dot dot-wait" aria-hidden="true" />
      <span className="clip" title={away.message}>
        The host does not answer. What you see may be old; the window goes on by itself when it is
        back.
      </span>
    </div>
  )
}

function Told() {
  const refusal = useTold()
  if (refusal === null) return null
  return (
    <div className="told">
      <RefusalNote refusal={refusal} onClose={untell} />
    </div>
  )
}

const PARTS = '.search, .side [tabindex="0"], .pane [tabindex="0"], .pane textarea, .details button'

/** F6: the next part of the window, as in other desktop applications. */
function goToNextPart(back: boolean): void {
  const parts: HTMLElement[] = []
  const seen = new Set<Element | null>()
  for (const element of document.querySelectorAll<HTMLElement>(PARTS)) {
    const part = element.closest('.top, .side, .comp, .pane, .details')
    if (seen.has(part)) continue
    seen.add(part)
    parts.push(element)
  }
  const here = document.activeElement?.closest('.top, .side, .comp, .pane, .details')
  const at = parts.findIndex((part) => part.closest('.top, .side, .comp, .pane, .details') === here)
  const next = (at + (back ? -1 : 1) + parts.length) % parts.length
  parts[next]?.focus()
}

function useKeys(): void {
  const client = useClient()
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || document.querySelector('dialog[open]') !== null) return
      if (event.key === 'F6') {
        event.preventDefault()
        return goToNextPart(event.shiftKey)
      }
      const mod = isMac ? event.metaKey : event.ctrlKey
      if (mod && !event.shiftKey && !event.altKey && (event.key === '1' || event.key === '2')) {
        const pane = Number(event.key) - 1
        if (layoutStore.getState().panes[pane] === undefined) return
        event.preventDefault()
        focusPane(pane)
        document
          .querySelectorAll<HTMLElement>('.pane')
          [pane]?.querySelector<HTMLElement>('textarea, [tabindex="0"], button')
          ?.focus()
        return
      }
      const id = commandOf(event, isWritten(event.target), isMac)
      if (id === undefined) return
      event.preventDefault()
      runCommand(id, client)
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [client])
  useEffect(() => bridge()?.onMenu((command) => runMenuCommand(command, client)), [client])
}

function useTitle(): void {
  const title = useLayout(() => {
    const session = focusedSession()
    return session === undefined ? 'Ballet' : `${session.ticket} ${session.title} · Ballet`
  })
  useEffect(() => {
    document.title = title
  }, [title])
}

/** What a person may want within a moment is loaded when the window has nothing else to do. */
function useLoadedAhead(): void {
  useEffect(() => {
    const idle = requestIdleCallback(() => {
      void import('../ticket/new-ticket-page.tsx')
      void import('../ticket/ticket-page.tsx')
      void import('../inbox/inbox-page.tsx')
    })
    return () => cancelIdleCallback(idle)
  }, [])
}

/** The whole window once the host has told what there is. */
export function Shell() {
  useKeys()
  useShownSessions()
  useKeptFocus()
  useTitle()
  useHostTheme()
  useLoadedAhead()
  const dialog = useLayout((layout) => layout.dialog)
  return (
    <div className="shell">
      <TopBar />
      <Away />
      <Sidebar />
      <Panes />
      <FocusedDetails />
      <Told />
      <Suspense fallback={null}>
        {dialog === 'palette' ? <Palette /> : null}
        {dialog === 'keyboard' ? <KeyboardDialog /> : null}
        {dialog === 'export' ? <ExportDialog /> : null}
        {dialog === 'import' ? <ImportDialog /> : null}
      </Suspense>
    </div>
  )
}
