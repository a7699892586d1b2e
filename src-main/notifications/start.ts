import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { Notification } from 'electron'
import { type Log, type Router, systemClock } from '../../src-core/index.ts'
import type { SessionId } from '../../src-shared/ids.ts'
import type { NotificationReport } from '../../src-shared/window-bridge.ts'
import { createCountIcon } from '../tray/count-icon.ts'
import { waitingOf } from '../tray/waiting.ts'
import { createFreedesktopPresenter } from './freedesktop-presenter.ts'
import type { Askable } from './notice.ts'
import type { OpenBus } from './notification-bus.ts'
import { createNotifier } from './notifier.ts'
import type { Presenter, Told } from './presenter.ts'
import { openShownFile } from './shown-file.ts'
import { createSystemPresenter } from './system-presenter.ts'

export type NotificationsOptions = {
  router: Router
  dataDir: string
  log: Log
  lookedAt(): ReadonlySet<SessionId>
  opened(): readonly Askable[]
  openAnswer(asks: Askable): void
  show(session?: SessionId): void
}

export type Notifications = {
  report(): NotificationReport
  /** A person looks at something else, or a window was opened or closed. */
  looked(): void
  end(): Promise<void>
}

/** Notifications by this system's means, and the count on the icon, from one client that follows the records. */
export function startNotifications(options: NotificationsOptions): Notifications {
  const { router, dataDir, log, lookedAt, opened, openAnswer, show } = options
  const { platform } = process
  const icon = createCountIcon({ platform, log, openAnswer, open: show })
  const notifier = createNotifier(
    {
      client: createRouterClient(router),
      clock: systemClock,
      log,
      lookedAt,
      opened,
      openAnswer,
      openSession: show,
      onRecords: (followed) => icon.show(waitingOf(followed)),
    },
    (told) =>
      platform === 'darwin' || platform === 'win32'
        ? systemPresenter(platform, log, told)
        : createFreedesktopPresenter(
            {
              openBus,
              clock: systemClock,
              log,
              file: openShownFile(join(dataDir, 'notifications.json'), log),
            },
            told,
          ),
  )
  return {
    report: () => notifier.presenter.report(),
    looked: notifier.looked,
    end: async () => {
      icon.end()
      await notifier.end()
    },
  }
}

/** The library for the bus is loaded where there is a bus to talk to. */
const openBus: OpenBus = async (listener) => {
  const { openSessionBus } = await import('./session-bus.ts')
  return openSessionBus(listener)
}

function systemPresenter(platform: NodeJS.Platform, log: Log, told: Told): Presenter {
  const electronMajor = Number.parseInt(process.versions.electron ?? '0', 10)
  return createSystemPresenter(
    {
      platform,
      electronMajor,
      isSupported: () => Notification.isSupported(),
      create: (given) => new Notification(given),
      // Older versions of Electron have none.
      removeAll: 'removeAll' in Notification ? () => Notification.removeAll() : undefined,
      log,
    },
    told,
  )
}
