import type { Log } from '../../src-core/index.ts'
import type { NotificationReport } from '../../src-shared/window-bridge.ts'
import type { Notice } from './notice.ts'
import type { Presenter, Told } from './presenter.ts'

/** What is used of Electron's `Notification`. */
export type SystemNotification = {
  on(event: 'click' | 'show', listener: () => void): unknown
  on(event: 'close', listener: () => void): unknown
  on(event: 'reply', listener: (details: { reply?: string }, reply?: string) => void): unknown
  on(
    event: 'action',
    listener: (details: { actionIndex?: number }, index?: number) => void,
  ): unknown
  on(event: 'failed', listener: (event: unknown, error: string) => void): unknown
  show(): void
  close(): void
}

export type NotificationOptions = {
  id: string
  groupId: string
  title: string
  body: string
  hasReply: boolean
  replyPlaceholder: string
  actions: { type: 'button'; text: string }[]
  timeoutType: 'default' | 'never'
}

export type SystemPorts = {
  platform: NodeJS.Platform
  electronMajor: number
  isSupported(): boolean
  create(options: NotificationOptions): SystemNotification
  /** Takes off the screen what an earlier run left; absent where Electron cannot. */
  removeAll: (() => void) | undefined
  log: Log
}

/** Since this version Electron gives Windows buttons and a reply field. */
const WINDOWS_ACTIONS_SINCE = 42

/** macOS and Windows: the system's own notifications, through Electron. */
export function createSystemPresenter(ports: SystemPorts, told: Told): Presenter {
  const { platform, electronMajor, isSupported, create, removeAll, log } = ports
  const shown = new Map<string, SystemNotification>()
  const isMac = platform === 'darwin'
  const canAnswer = isMac || electronMajor >= WINDOWS_ACTIONS_SINCE
  const report = describe(isSupported(), isMac ? 'macOS' : 'Windows', canAnswer)
  removeAll?.()

  function show(notice: Notice): void {
    close(notice.key)
    const { key, session, title, body, buttons, reply, waits } = notice
    const notification = create({
      id: key,
      groupId: session,
      title,
      body,
      hasReply: canAnswer && reply,
      replyPlaceholder: 'Answer in your own words',
      actions: canAnswer ? buttons.map(({ label }) => ({ type: 'button', text: label })) : [],
      timeoutType: waits ? 'never' : 'default',
    })
    shown.set(key, notification)
    notification.on('click', () => told.onClick(key))
    notification.on('reply', (details, text) => told.onReply(key, text ?? details.reply ?? ''))
    notification.on('action', (details, index) => {
      const name = buttons[index ?? details.actionIndex ?? -1]?.name
      if (name !== undefined) told.onButton(key, name)
    })
    notification.on('close', () => {
      if (shown.get(key) !== notification) return
      shown.delete(key)
      told.onPutAway(key)
    })
    notification.on('failed', (_event, error) => {
      shown.delete(key)
      log.warn('the system did not show a notification', { key, error })
    })
    notification.show()
  }

  function close(key: string): void {
    const notification = shown.get(key)
    shown.delete(key)
    notification?.close()
  }

  return {
    report: () => report,
    show,
    close,
    end: async () => {
      for (const key of [...shown.keys()]) close(key)
    },
  }
}

function describe(isSupported: boolean, system: string, canAnswer: boolean): NotificationReport {
  if (isSupported) {
    return { state: 'ready', service: system, buttons: canAnswer, reply: canAnswer, problem: null }
  }
  return {
    state: 'missing',
    service: '',
    buttons: false,
    reply: false,
    problem: {
      code: 'notifications.missing',
      message: 'This system shows no desktop notifications.',
      hint: 'The inbox shows everything.',
    },
  }
}
