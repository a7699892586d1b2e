import {
  Message,
  type MessageBus,
  MessageType,
  sessionBus,
  type Variant,
} from '@jellybrick/dbus-next'
import { waitFor } from './wait-for.ts'

const NAME = 'org.freedesktop.Notifications'
const PATH = '/org/freedesktop/Notifications'
const ALREADY_GONE = 'org.freedesktop.Notifications.Error'
const CLOSED = { byPerson: 2, byCall: 3 } as const

/** One notification as the service got it. */
export type ShownNotification = {
  readonly id: number
  readonly app: string
  readonly title: string
  readonly body: string
  /** Names and labels by turns become pairs. */
  readonly actions: readonly { readonly name: string; readonly label: string }[]
  readonly hints: Readonly<Record<string, unknown>>
  readonly expiresMs: number
}

/** The notification service of a desktop, in hand. */
export type NotificationDaemon = {
  /** What is on the screen, the oldest first. */
  shown(): readonly ShownNotification[]
  /** Everything that it ever got. */
  readonly history: readonly ShownNotification[]
  /** The one that fits and is on the screen, now or within the limit. */
  waitFor(what: string, fits: (shown: ShownNotification) => boolean): Promise<ShownNotification>
  waitUntilGone(id: number): Promise<void>
  /** A person presses the button of that label, perhaps twice; the notification goes away, as on most desktops. */
  press(id: number, label: string, times?: number): void
  /** A person clicks the notification itself. */
  click(id: number): void
  reply(id: number, text: string): void
  /** Its process ends: its name and everything that it showed are gone. */
  die(): Promise<void>
}

export const ALL_CAPABILITIES = ['body', 'body-markup', 'actions', 'inline-reply', 'persistence']

export async function startNotificationDaemon(
  busAddress: string,
  capabilities: readonly string[] = ALL_CAPABILITIES,
): Promise<NotificationDaemon> {
  const bus = sessionBus({ busAddress })
  const onScreen = new Map<number, ShownNotification>()
  const history: ShownNotification[] = []
  let lastId = 100

  const signal = (member: string, signature: string, body: unknown[]) =>
    bus.send(Message.newSignal(PATH, NAME, member, signature, body))
  const close = (id: number, reason: number): boolean => {
    if (!onScreen.delete(id)) return false
    signal('NotificationClosed', 'uu', [id, reason])
    return true
  }
  const answer = ({
    member,
    body,
  }: Message): { signature: string; body: unknown[] } | undefined => {
    switch (member) {
      case 'GetServerInformation':
        return { signature: 'ssss', body: ['Daemon in hand', 'Ballet’s tests', '1', '1.2'] }
      case 'GetCapabilities':
        return { signature: 'as', body: [[...capabilities]] }
      case 'Notify': {
        lastId += 1
        const shown = readNotify(lastId, body)
        onScreen.set(lastId, shown)
        history.push(shown)
        return { signature: 'u', body: [lastId] }
      }
      case 'CloseNotification':
        return close(Number(body[0]), CLOSED.byCall) ? { signature: '', body: [] } : undefined
      default:
        return undefined
    }
  }
  bus.addMethodHandler((message) => {
    if (message.type !== MessageType.METHOD_CALL || message.interface !== NAME) return false
    const given = answer(message)
    bus.send(
      given === undefined
        ? Message.newError(message, ALREADY_GONE, 'There is no such notification')
        : Message.newMethodReturn(message, given.signature, given.body),
    )
    return true
  })
  await connected(bus)
  await bus.requestName(NAME)

  const press = (id: number, name: string, times = 1) => {
    for (let n = 0; n < times; n += 1) signal('ActionInvoked', 'us', [id, name])
    close(id, CLOSED.byPerson)
  }
  const nameOf = (id: number, label: string): string => {
    const found = onScreen.get(id)?.actions.find((action) => action.label === label)
    if (found === undefined) throw new Error(`Notification ${id} has no button “${label}”.`)
    return found.name
  }
  return {
    shown: () => [...onScreen.values()],
    history,
    waitFor: (what, fits) =>
      waitFor(`a notification: ${what}`, () => [...onScreen.values()].find(fits), {
        state: () => history,
      }),
    waitUntilGone: async (id) => {
      await waitFor(`notification ${id} to go`, () => !onScreen.has(id))
    },
    press: (id, label, times) => press(id, nameOf(id, label), times),
    click: (id) => press(id, 'default'),
    reply: (id, text) => {
      signal('NotificationReplied', 'us', [id, text])
      close(id, CLOSED.byPerson)
    },
    die: async () => {
      await bus.releaseName(NAME)
      onScreen.clear()
      bus.disconnect()
    },
  }
}

function connected(bus: MessageBus): Promise<void> {
  return new Promise((resolve, reject) => {
    bus.once('connect', resolve)
    const fail = (error: unknown) => reject(error)
    bus.on('error' as 'connect', fail as () => void)
  })
}

function readNotify(id: number, body: readonly unknown[]): ShownNotification {
  const [app, , , title, text, actions, hints, expiresMs] = body
  const names = actions as string[]
  return {
    id,
    app: String(app),
    title: String(title),
    body: String(text),
    actions: names.flatMap((name, at) =>
      at % 2 === 0 ? [{ name, label: names[at + 1] ?? '' }] : [],
    ),
    hints: Object.fromEntries(
      Object.entries(hints as Record<string, Variant>).map(([name, { value }]) => [name, value]),
    ),
    expiresMs: Number(expiresMs),
  }
}
