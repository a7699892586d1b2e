import { app, type Session, session, type WebFrameMain } from 'electron'
import type { Log } from '../src-core/index.ts'
import { isOurs, REFUSAL_PAGE } from './addresses.ts'
import { openOutside } from './outside.ts'

/**
 * What no page gets, whatever it is: other pages, new windows, embedded pages. `onAction` is asked about
 * every address that the page of refusals leads to; true means that it was an action and is done.
 */
export function guardContents(log: Log, onAction: (address: string) => boolean): void {
  app.on('web-contents-created', (_event, contents) => {
    contents.on('will-navigate', (event) => {
      // A reload asks for the same page again.
      if (event.url === contents.getURL() && isOurs(event.url)) return
      event.preventDefault()
      // Elsewhere a link in an agent's text could be one.
      if (contents.getURL() === REFUSAL_PAGE && onAction(event.url)) return
      leave(event.url)
    })
    contents.on('will-redirect', (event) => event.preventDefault())
    contents.on('will-frame-navigate', (event) => {
      if (!event.isMainFrame) event.preventDefault()
    })
    contents.on('will-attach-webview', (event) => event.preventDefault())
    contents.setWindowOpenHandler(({ url }) => {
      leave(url)
      return { action: 'deny' }
    })
  })

  function leave(address: string): void {
    openOutside(address).then(
      (opened) => {
        if (!opened)
          log.warn('a page wanted to leave for an address that is not opened', { address })
      },
      (error: unknown) => log.warn('an address could not be opened', { address, error }),
    )
  }
}

/** Whether a message comes from a page of ours itself, not from something inside it. */
export function isOwnPage(frame: WebFrameMain | null): boolean {
  return frame !== null && frame.parent === null && isOurs(frame.url)
}

/** Once the application is ready. */
export function refusePermissions(of: Session = session.defaultSession): void {
  // Writing to the clipboard is asked for as a permission of its own by the copy buttons.
  const allowed = new Set(['clipboard-sanitized-write'])
  of.setPermissionRequestHandler((_contents, permission, answer) => answer(allowed.has(permission)))
  of.setPermissionCheckHandler((_contents, permission) => allowed.has(permission))
  of.setDevicePermissionHandler(() => false)
}
