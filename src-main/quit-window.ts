import { BrowserWindow, nativeTheme } from 'electron'
import type { Log } from '../src-core/index.ts'
import { QUIT_HASH } from '../src-shared/window-bridge.ts'
import { WINDOW_PAGE } from './addresses.ts'
import { pageOptions } from './page-options.ts'
import { bringToFront, load } from './window.ts'

const SIZE = { width: 560, height: 380, minWidth: 420, minHeight: 260 }

export type QuitWindow = {
  open(): void
  close(): void
}

/**
 * Shows how far each session is while the application quits; it needs no main window. `onClosed`: a person closed it,
 * who does not want to wait any more.
 */
export function createQuitWindow(
  preload: string,
  version: string,
  log: Log,
  onClosed: () => void,
): QuitWindow {
  let window: BrowserWindow | undefined

  function open(): void {
    if (window !== undefined) {
      bringToFront(window)
      return
    }
    const opened = new BrowserWindow({
      ...SIZE,
      title: 'Quitting · Ballet',
      show: false,
      fullscreenable: false,
      maximizable: false,
      autoHideMenuBar: true,
      ...pageOptions(preload, { version, demoRequested: false }, nativeTheme.shouldUseDarkColors),
    })
    opened.removeMenu()
    window = opened
    opened.once('ready-to-show', () => bringToFront(opened))
    opened.on('closed', () => {
      if (window !== opened) return
      window = undefined
      onClosed()
    })
    opened.webContents.on('render-process-gone', (_event, { reason }) => {
      // The quit goes on without it.
      log.error('the process of the quit window ended', { reason })
    })
    load(opened, `${WINDOW_PAGE}${QUIT_HASH}`, log)
  }

  return {
    open,
    close: () => {
      const shown = window
      window = undefined
      shown?.destroy()
    },
  }
}
