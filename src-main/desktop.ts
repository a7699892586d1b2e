import { join } from 'node:path'
import { RPCHandler } from '@orpc/server/message-port'
import { app, type BrowserWindow, safeStorage, shell } from 'electron'
import { createHostLog, type Host, openHost } from '../src-core/index.ts'
import type { SessionId } from '../src-shared/ids.ts'
import { BalletError, type Refusal } from '../src-shared/refusal.ts'
import type { MenuCommand } from '../src-shared/window-bridge.ts'
import { PAGE_ACTIONS, REFUSAL_PAGE, WINDOW_PAGE } from './addresses.ts'
import { BUILT } from './built-files.ts'
import { MENU, OPEN_SESSION } from './channels.ts'
import { desktopDataKey } from './data-key.ts'
import { guardContents, refusePermissions } from './guard.ts'
import { openKeptTexts } from './kept-texts.ts'
import { createLeaving } from './leaving.ts'
import { setMenu } from './menu.ts'
import { createNotifying } from './notifying.ts'
import { servePages } from './own-pages.ts'
import { describeRefusal } from './refusal-page.ts'
import { createUtilityLauncher } from './utility-launcher.ts'
import { bringToFront, load, openWindow } from './window.ts'
import { createWindowPorts } from './window-ports.ts'

/** Over what agents get to hand over what they have; the shorter one where a system waits no longer than ten seconds. */
const CLOSE_LIMIT_MS = { gently: 15_000, fast: 2_000 }

export type DesktopOptions = { dataDir: string; version: string; demo: boolean }

/** From the window's first paint until what the host tells it first is drawn, about. */
const FIRST_DRAWING_MS = 250
/** Agents wait for the window no longer than this: it may have no page to show. */
const WINDOW_LIMIT_MS = 2_000

/** The application: one window and the host behind it, until it quits. */
export function runDesktop({ dataDir, version, demo }: DesktopOptions): void {
  const log = createHostLog(dataDir)
  let window: BrowserWindow | undefined
  let host: Host | undefined
  let refusal: Refusal | undefined
  let hasRun = false
  let opening: Promise<void> = Promise.resolve()
  let closing: Promise<void> | undefined
  let signals = 0
  /** Agents that start at the same time as the window's page take the processor from it. */
  let startAgents: () => void = () => undefined
  const mayStart = new Promise<void>((resolve) => {
    startAgents = resolve
  })

  process.on('uncaughtException', (error) => {
    log.error('the main process failed', { error })
    process.stderr.write(`Ballet failed: ${error.stack ?? error.message}\n`)
    host?.kill()
    app.exit(1)
  })
  process.on('unhandledRejection', (error) => log.error('a failure was seen by nobody', { error }))
  // Whoever started it may be gone and read no more.
  process.stdout.on('error', () => undefined)
  const onSignal = () => {
    if (signals === 0) leaving.quitFast()
    else endNow()
    signals += 1
  }
  const takeSignals = () => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.removeListener(signal, onSignal)
      process.on(signal, onSignal)
    }
  }
  takeSignals()

  guardContents(log, doPageAction)
  const kept = openKeptTexts(join(dataDir, 'drafts.json'), log)
  const ports = createWindowPorts(
    log,
    (contents) => (window?.webContents === contents ? window : undefined),
    showFolder,
    kept,
  )
  const notifying = createNotifying({
    version,
    preload: BUILT.preload,
    dataDir,
    log,
    show: (session) => {
      show()
      if (session !== undefined) openSession(session)
    },
  })

  const leaving = createLeaving({
    version,
    preload: BUILT.preload,
    log,
    host: async () => {
      startAgents()
      await opening
      return host
    },
    close: (how) => {
      closing ??= close(how)
    },
    goOn: () => show(),
  })

  app.on('second-instance', (_event, _argv, _cwd, given) => {
    show()
    if (wantsDemo(given)) send('demo.run')
  })
  app.on('activate', () => show())
  app.on('window-all-closed', () => {
    if (process.platform !== 'darwin') app.quit()
  })
  app.on('before-quit', (event) => {
    event.preventDefault()
    leaving.quit()
  })

  app.whenReady().then(ready, (error: unknown) => {
    log.error('the application did not become ready', { error })
    app.exit(1)
  })

  function ready(): void {
    // Until then Chromium has put its own answer to them in place, which is a gentle quit.
    takeSignals()
    refusePermissions()
    servePages(BUILT.window, () =>
      describeRefusal(refusal ?? { code: 'host.ready', message: 'Ballet runs.' }, dataDir, hasRun),
    )
    setMenu(
      () => window,
      () => void showFolder(),
    )
    setTimeout(startAgents, WINDOW_LIMIT_MS)
    show()
    open()
  }

  function show(): void {
    if (!app.isReady() || closing !== undefined) return
    if (window !== undefined) {
      bringToFront(window)
      return
    }
    window = openWindow({
      page: refusal === undefined ? WINDOW_PAGE : REFUSAL_PAGE,
      preload: BUILT.preload,
      placeFile: join(dataDir, 'window.json'),
      facts: { version, demoRequested: demo },
      log,
      onShown: () => {
        process.stdout.write(`The window is open. Data folder: ${dataDir}\n`)
        notifying.painted()
        setTimeout(startAgents, FIRST_DRAWING_MS)
      },
    })
    window.on('closed', () => {
      window = undefined
    })
    // Of Windows: the person logs out, or the system goes down.
    window.on('session-end', () => leaving.quitFast())
  }

  function open(): void {
    const wasRefused = refusal !== undefined
    refusal = undefined
    hasRun = false
    opening = openHost({
      kind: 'desktop',
      version,
      dataDir,
      log,
      key: desktopDataKey(safeStorage),
      launcher: createUtilityLauncher(BUILT.agent, log, mayStart),
      programs: BUILT,
    }).then(
      (opened) => {
        host = opened
        hasRun = true
        const handler = new RPCHandler(opened.router)
        ports.serve((port) => {
          handler.upgrade(port)
          port.start()
        })
        notifying.begin(opened.router)
        opened.failed.then(
          (error) => {
            host = undefined
            opening = giveUp(opened, error)
          },
          (error: unknown) => log.error('the host’s end is not known', { error }),
        )
        if (wasRefused && window !== undefined) load(window, WINDOW_PAGE, log)
      },
      (error: unknown) => refuse(error),
    )
  }

  /** Lets agents end what they run, and lets go of the data folder, so that it can be tried again. */
  async function giveUp(broken: Host, error: Error): Promise<void> {
    await notifying.end()
    await broken.close()
    refuse(error)
  }

  function refuse(error: unknown): void {
    refusal = asRefusal(error)
    log.error('the host cannot run', { error })
    process.stderr.write(`Ballet cannot start: ${refusal.message}\n`)
    if (window !== undefined) load(window, REFUSAL_PAGE, log)
  }

  function doPageAction(address: string): boolean {
    switch (address) {
      case PAGE_ACTIONS.retry:
        opening = opening.then(() => {
          if (refusal !== undefined && closing === undefined) open()
        })
        return true
      case PAGE_ACTIONS.folder:
        void showFolder()
        return true
      case PAGE_ACTIONS.quit:
        app.quit()
        return true
      default:
        return false
    }
  }

  /** False when the system could not show it. */
  async function showFolder(): Promise<boolean> {
    try {
      const problem = await shell.openPath(dataDir)
      if (problem === '') return true
      log.warn('the data folder could not be shown', { problem })
    } catch (error) {
      log.warn('the data folder could not be shown', { error })
    }
    return false
  }

  function openSession(session: SessionId): void {
    const contents = window?.webContents
    if (contents === undefined) return
    const tell = () => contents.send(OPEN_SESSION, session)
    if (contents.isLoading()) contents.once('did-finish-load', tell)
    else tell()
  }

  function send(command: MenuCommand): void {
    window?.webContents.send(MENU, command)
  }

  /** Lets the host end in order, within a limit, then ends the process. */
  async function close(how: 'gently' | 'fast'): Promise<void> {
    window?.setTitle('Ballet is stopping …')
    startAgents()
    const timer = setTimeout(endNow, CLOSE_LIMIT_MS[how])
    try {
      await opening
      await notifying.end()
      await host?.close()
      await kept.settled()
    } catch (error) {
      log.error('the host did not end in order', { error })
    } finally {
      clearTimeout(timer)
    }
    leave()
  }

  function endNow(): void {
    log.warn('the host is ended at once')
    host?.kill()
    leave()
  }

  function leave(): void {
    app.exit(refusal === undefined ? 0 : 1)
  }
}

function asRefusal(error: unknown): Refusal {
  if (error instanceof BalletError) return error.toRefusal()
  const message = error instanceof Error ? error.message : String(error)
  return {
    code: 'host.failed',
    message: `The host could not start: ${message}`,
    hint: 'The log, in the folder logs of the data folder, says more.',
  }
}

function wantsDemo(given: unknown): boolean {
  return typeof given === 'object' && given !== null && 'demo' in given && given.demo === true
}
