import { BrowserWindow, dialog, nativeTheme } from 'electron'
import type { Log } from '../src-core/index.ts'
import type { WindowFacts } from './channels.ts'
import { pageOptions } from './page-options.ts'
import { keepPlace, readPlace, SMALLEST } from './window-place.ts'

export type WindowOptions = {
  page: string
  preload: string
  /** Where the window's place is kept. */
  placeFile: string
  facts: WindowFacts
  log: Log
  onShown: () => void
}

export function openWindow(options: WindowOptions): BrowserWindow {
  const { page, preload, placeFile, facts, log, onShown } = options
  const { maximized, ...bounds } = readPlace(placeFile)
  const window = new BrowserWindow({
    ...bounds,
    minWidth: SMALLEST.width,
    minHeight: SMALLEST.height,
    title: 'Ballet',
    show: false,
    autoHideMenuBar: true,
    ...pageOptions(preload, facts, nativeTheme.shouldUseDarkColors),
  })
  if (maximized === true) window.maximize()
  window.once('ready-to-show', () => {
    window.show()
    onShown()
  })
  keepPlace(window, placeFile, log)
  watch(window, log)
  load(window, page, log)
  return window
}

export function load(window: BrowserWindow, page: string, log: Log): void {
  window.loadURL(page).catch((error: unknown) => {
    // A page that is replaced while it loads is reported as aborted.
    if (!window.isDestroyed()) log.warn('a page did not load', { page, error })
  })
}

export function bringToFront(window: BrowserWindow): void {
  if (window.isMinimized()) window.restore()
  window.show()
  window.focus()
}

function watch(window: BrowserWindow, log: Log): void {
  const { webContents } = window
  webContents.on('render-process-gone', (_event, { reason, exitCode }) => {
    log.error('the window’s process ended', { reason, exitCode })
    if (reason !== 'clean-exit') void offerReload(window, reason, log)
  })
  window.on('unresponsive', () => log.warn('the window does not respond'))
  window.on('responsive', () => log.info('the window responds again'))
  webContents.on('preload-error', (_event, path, error) => {
    log.error('the preload failed', { path, error })
  })
}

async function offerReload(window: BrowserWindow, reason: string, log: Log): Promise<void> {
  if (window.isDestroyed()) return
  const { response } = await dialog.showMessageBox(window, {
    type: 'error',
    message: 'The window crashed. Sessions go on; nothing is lost.',
    detail: `Reason: ${reason}. The log in the data folder says more.`,
    buttons: ['Reload', 'Close the window'],
    defaultId: 0,
    cancelId: 1,
  })
  if (window.isDestroyed()) return
  log.info(response === 0 ? 'the window is loaded again' : 'the window is closed')
  if (response === 0) window.webContents.reload()
  else window.destroy()
}
