import type { Notice } from './notice.ts'
import { BUS, type Bus } from './notification-bus.ts'
import { bodyFor } from './text.ts'

/** The freedesktop notification service (Desktop Notifications Specification 1.2 and later). */
export const SERVICE = {
  destination: 'org.freedesktop.Notifications',
  path: '/org/freedesktop/Notifications',
  interface: 'org.freedesktop.Notifications',
} as const

export const CLICK = 'default'
export const REPLY = 'inline-reply'

const APPLICATION = 'Ballet'
/** Lets the service find the application's name and icon, where it is installed. */
const DESKTOP_ENTRY = 'ballet'
const URGENCY = { low: 0, normal: 1 } as const
/** As long as the service thinks right; for ever. */
const EXPIRES = { byItself: -1, never: 0 } as const

export type Service = {
  /** Its own name on the bus, which no other process ever has. */
  owner: string
  bus: string
  /** As it names itself, with its version. */
  name: string
  can: ReadonlySet<string>
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Finds the service, which the bus may start for it. Rejects when there is none. */
export async function findService(bus: Bus): Promise<Service> {
  // This call and no other one may start it; its owner is asked for afterwards.
  const [name, , version] = await bus.call({ ...SERVICE, member: 'GetServerInformation' })
  const [[can], [owner], [id]] = await Promise.all([
    bus.call({ ...SERVICE, member: 'GetCapabilities' }),
    bus.call({
      ...BUS,
      member: 'GetNameOwner',
      signature: 's',
      body: [SERVICE.destination],
    }),
    bus.call({ ...BUS, member: 'GetId' }),
  ])
  return {
    owner: text(owner),
    bus: text(id),
    name: `${text(name)} ${text(version)}`.trim(),
    can: new Set(Array.isArray(can) ? can.map(text) : []),
  }
}

/** Hears of the service's signals, and of its coming and going. */
export async function watchService(bus: Bus): Promise<void> {
  const rules = [
    `type='signal',sender='${SERVICE.destination}',interface='${SERVICE.interface}'`,
    `type='signal',sender='${BUS.destination}',interface='${BUS.interface}',member='NameOwnerChanged',arg0='${SERVICE.destination}'`,
  ]
  for (const rule of rules) {
    await bus.call({ ...BUS, member: 'AddMatch', signature: 's', body: [rule] })
  }
}

/** Shows a notice; its number at this service. */
export async function notify(bus: Bus, { can }: Service, notice: Notice): Promise<number> {
  const { title, body, buttons, reply, urgency, waits, kind } = notice
  const isAlone = !can.has('body')
  const actions = can.has('actions')
    ? [
        ...[CLICK, waits ? 'Answer' : 'Show'],
        ...buttons.flatMap(({ name, label }) => [name, label]),
        ...(reply && can.has(REPLY) ? [REPLY, 'Reply'] : []),
      ]
    : []
  const [id] = await bus.call({
    ...SERVICE,
    member: 'Notify',
    signature: 'susssasa{sv}i',
    body: [
      APPLICATION,
      0,
      DESKTOP_ENTRY,
      isAlone ? `${title}: ${body}` : title,
      isAlone ? '' : bodyFor(body, can.has('body-markup')),
      actions,
      {
        urgency: bus.variant('y', URGENCY[urgency]),
        category: bus.variant('s', `x-ballet.${kind}`),
        'desktop-entry': bus.variant('s', DESKTOP_ENTRY),
        'x-kde-reply-placeholder-text': bus.variant('s', 'Answer in your own words'),
        'x-kde-reply-submit-button-text': bus.variant('s', 'Send'),
      },
      waits ? EXPIRES.never : EXPIRES.byItself,
    ],
  })
  if (typeof id !== 'number') throw new Error('the notification service gave no number')
  return id
}

export async function closeNotification(bus: Bus, id: number): Promise<void> {
  await bus.call({ ...SERVICE, member: 'CloseNotification', signature: 'u', body: [id] })
}
