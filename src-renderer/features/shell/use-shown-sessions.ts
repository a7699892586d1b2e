import { useEffect } from 'react'
import { openPage, useLayout } from '../../stores/layout.ts'
import { bridge } from '../../sync/bridge.ts'

/** Tells the application which sessions the panes show, and shows one that was chosen outside, as in a notification. */
export function useShownSessions(): void {
  // As one text, so that nothing is told twice.
  const shown = useLayout(({ panes }) =>
    panes.flatMap((page) => (page.page === 'session' ? [page.session] : [])).join(' '),
  )
  useEffect(() => {
    bridge()?.showsSessions(shown === '' ? [] : shown.split(' '))
  }, [shown])
  useEffect(() => bridge()?.onOpenSession((session) => openPage({ page: 'session', session })), [])
}
