import { app, BrowserWindow, ipcMain, type WebContents } from 'electron'
import { z } from 'zod'
import { SessionId } from '../src-shared/ids.ts'
import { SHOWS_SESSIONS } from './channels.ts'
import { isOwnPage } from './guard.ts'

const Shown = z.array(SessionId).max(16)

export type LookedAt = {
  /** Sessions that a window shows which has the focus. */
  now(): ReadonlySet<SessionId>
}

/** Knows what a person looks at: windows tell what they show, and one has the focus. */
export function watchLookedAt(onChange: () => void): LookedAt {
  const shown = new WeakMap<WebContents, readonly SessionId[]>()
  ipcMain.on(SHOWS_SESSIONS, (event, given: unknown) => {
    const sessions = Shown.safeParse(given)
    if (!isOwnPage(event.senderFrame) || !sessions.success) return
    shown.set(event.sender, sessions.data)
    onChange()
  })
  app.on('browser-window-focus', onChange)
  app.on('browser-window-blur', onChange)
  return {
    now: () => {
      const focused = BrowserWindow.getFocusedWindow()
      const isSeen = focused?.isVisible() === true && !focused.isMinimized()
      return new Set(isSeen ? shown.get(focused.webContents) : [])
    },
  }
}
