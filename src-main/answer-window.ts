import { BrowserWindow, nativeTheme, screen } from 'electron'
import type { Log } from '../src-core/index.ts'
import { ANSWER_HASH } from '../src-shared/window-bridge.ts'
import { WINDOW_PAGE } from './addresses.ts'
import type { Askable } from './notifications/notice.ts'
import { pageOptions } from './page-options.ts'
import { bringToFront, load } from './window.ts'

const SIZE = { width: 520, height: 420, minWidth: 360, minHeight: 260 }

export type AnswerWindows = {
  /** Shows the window of a question or a request, or brings the one that is open to the front. */
  open(asks: Askable): void
  /** What has its window open. */
  opened(): Askable[]
  closeAll(): void
}

/** Small windows above the others, one for each question or request, that need no main window. `onChange`: one came or went. */
export function createAnswerWindows(
  preload: string,
  version: string,
  log: Log,
  onChange: () => void,
): AnswerWindows {
  const windows = new Map<Askable, BrowserWindow>()

  function open(asks: Askable): void {
    const known = windows.get(asks)
    if (known !== undefined) {
      bringToFront(known)
      return
    }
    const window = new BrowserWindow({
      ...SIZE,
      ...place(windows.size),
      title: 'Answer · Ballet',
      show: false,
      alwaysOnTop: true,
      fullscreenable: false,
      maximizable: false,
      minimizable: false,
      autoHideMenuBar: true,
      ...pageOptions(preload, { version, demoRequested: false }, nativeTheme.shouldUseDarkColors),
    })
    // What the application's menu does, it does in the main window.
    window.removeMenu()
    windows.set(asks, window)
    window.once('ready-to-show', () => bringToFront(window))
    window.on('closed', () => {
      windows.delete(asks)
      onChange()
    })
    window.webContents.on('render-process-gone', (_event, { reason }) => {
      log.error('the process of an answer window ended', { asks, reason })
      if (!window.isDestroyed()) window.destroy()
    })
    load(window, `${WINDOW_PAGE}${ANSWER_HASH}${asks}`, log)
    onChange()
  }

  return {
    open,
    opened: () => [...windows.keys()],
    closeAll: () => {
      for (const window of [...windows.values()]) window.destroy()
    },
  }
}

/** In the middle of the screen that the pointer is on, each a little aside of the one before. */
function place(count: number): { x: number; y: number } {
  const { workArea } = screen.getDisplayNearestPoint(screen.getCursorScreenPoint())
  const aside = (count % 8) * 28
  return {
    x: Math.round(workArea.x + Math.max(0, (workArea.width - SIZE.width) / 2) + aside),
    y: Math.round(workArea.y + Math.max(0, (workArea.height - SIZE.height) / 3) + aside),
  }
}
