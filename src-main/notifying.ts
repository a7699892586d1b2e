import { setTimeout as pause } from 'node:timers/promises'
import { ipcMain } from 'electron'
import type { Log, Router } from '../src-core/index.ts'
import type { SessionId } from '../src-shared/ids.ts'
import type { NotificationReport } from '../src-shared/window-bridge.ts'
import { createAnswerWindows } from './answer-window.ts'
import { NOTIFICATIONS } from './channels.ts'
import { isOwnPage } from './guard.ts'
import { watchLookedAt } from './looked-at.ts'
import type { Notifications } from './notifications/start.ts'

export type NotifyingOptions = {
  version: string
  preload: string
  dataDir: string
  log: Log
  /** Shows the main window, at a session where one is named. */
  show(session?: SessionId): void
}

export type Notifying = {
  /** The main window painted; nothing of notifications is loaded before, since nothing of it may delay that. */
  painted(): void
  /** Begins on a host that runs. */
  begin(router: Router): void
  /** Takes everything off the screen, within a limit. Never rejects. */
  end(): Promise<void>
}

/** So that the first view has the main process to itself. */
const START_AFTER_MS = 1_000

const STARTING: NotificationReport = {
  state: 'starting',
  service: '',
  buttons: false,
  reply: false,
  problem: null,
}

/** Notifications, the count on the icon and the answer windows, as long as a host runs. */
export function createNotifying(options: NotifyingOptions): Notifying {
  const { version, preload, dataDir, log, show } = options
  let running: Promise<Notifications | undefined> | undefined
  let current: Notifications | undefined
  let paint: () => void = () => undefined
  const painted = new Promise<void>((resolve) => {
    paint = resolve
  })
  const lookedAt = watchLookedAt(() => current?.looked())
  const answers = createAnswerWindows(preload, version, log, () => current?.looked())

  ipcMain.handle(NOTIFICATIONS, (event): NotificationReport => {
    return isOwnPage(event.senderFrame) ? (current?.report() ?? STARTING) : STARTING
  })

  async function start(router: Router, isEnded: () => boolean): Promise<Notifications | undefined> {
    try {
      await painted
      await pause(START_AFTER_MS)
      const { startNotifications } = await import('./notifications/start.ts')
      if (isEnded()) return undefined
      current = startNotifications({
        router,
        dataDir,
        log,
        lookedAt: lookedAt.now,
        opened: answers.opened,
        openAnswer: answers.open,
        show,
      })
      return current
    } catch (error) {
      // The application works without them.
      log.error('notifications could not be started', { error })
      return undefined
    }
  }

  return {
    painted: () => paint(),
    begin: (router) => {
      const mine = start(router, () => running !== mine)
      running = mine
    },
    end: async () => {
      running = undefined
      const ending = current
      current = undefined
      answers.closeAll()
      await ending?.end()
    },
  }
}
