import { app, ipcMain, powerMonitor } from 'electron'
import {
  createQuitting,
  type Host,
  hostDrain,
  type Log,
  type Quitting,
  systemClock,
  systemIds,
} from '../src-core/index.ts'
import { CANCEL_QUIT } from './channels.ts'
import { isOwnPage } from './guard.ts'
import { createQuitWindow } from './quit-window.ts'

/** A quit that is over by then needs no window. */
const SHOW_AFTER_MS = 400

export type LeavingOptions = {
  version: string
  preload: string
  log: Log
  /** Resolves with the host that runs; undefined where none does. */
  host(): Promise<Host | undefined>
  /** No session holds an agent any more, or there is no time left: the end of the application. */
  close(how: 'gently' | 'fast'): void
  /** The application goes on: its window is shown again. */
  goOn(): void
}

export type Leaving = {
  /** Whether the application is about to end. */
  readonly isLeaving: boolean
  /** A person quits: gently, and when they say it again fast. */
  quit(): void
  /** The system or a signal ends the application: everything is kept here within seconds, and pushed later. */
  quitFast(): void
}

/** The way out: every session is parked before the application ends, and nothing is cut off silently. */
export function createLeaving(options: LeavingOptions): Leaving {
  const { version, preload, log, host, close, goOn } = options
  let how: 'gently' | 'fast' | undefined
  let quitting: Promise<Quitting | undefined> | undefined
  let timer: NodeJS.Timeout | undefined
  const window = createQuitWindow(preload, version, log, quitFast)

  ipcMain.on(CANCEL_QUIT, (event) => {
    if (isOwnPage(event.senderFrame)) void quitting?.then((running) => running?.cancel())
  })

  function begin(): Promise<Quitting | undefined> {
    timer = setTimeout(() => {
      if (how === 'gently') window.open()
    }, SHOW_AFTER_MS)
    return host().then((running) =>
      running === undefined
        ? undefined
        : createQuitting({ host: hostDrain(running.router, systemIds), clock: systemClock, log }),
    )
  }

  function leave(next: 'gently' | 'fast'): void {
    const isFirst = how === undefined
    how = next
    quitting ??= begin()
    void quitting.then(async (running) => {
      const left = (await running?.leave(next)) ?? 'drained'
      if (isFirst) end(left)
    })
  }

  function end(left: 'drained' | 'late' | 'cancelled'): void {
    clearTimeout(timer)
    const last = how ?? 'fast'
    log.info('the quit is over', { left, how: last })
    if (left === 'cancelled') {
      how = undefined
      quitting = undefined
      // Before the other window goes: without any the application would quit again.
      goOn()
      window.close()
    } else {
      window.close()
      close(last)
    }
  }

  function quitFast(): void {
    if (how !== 'fast') leave('fast')
  }

  void app.whenReady().then(() => {
    // Held up by this, the system waits some seconds.
    powerMonitor.on('shutdown', ((event?: { preventDefault(): void }) => {
      event?.preventDefault()
      quitFast()
    }) as () => void)
  })

  return {
    get isLeaving() {
      return how !== undefined
    },
    quit: () => {
      if (how === undefined) leave('gently')
      else quitFast()
    },
    quitFast,
  }
}
