import type { Clock, Log } from '../../src-core/index.ts'
import type { NotificationReport } from '../../src-shared/window-bridge.ts'
import {
  CLICK,
  closeNotification,
  findService,
  notify,
  SERVICE,
  type Service,
  watchService,
} from './freedesktop-service.ts'
import type { Notice } from './notice.ts'
import { BUS, type Bus, type BusSignal, type OpenBus } from './notification-bus.ts'
import type { Presenter, Told } from './presenter.ts'
import type { ShownFile } from './shown-file.ts'

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
/** Over what the service has at the end to take everything off the screen. */
const END_LIMIT_MS = 1_000
/** Of NotificationClosed: by a call of ours. */
const CLOSED_BY_US = 3

export type FreedesktopPorts = {
  openBus: OpenBus
  clock: Clock
  log: Log
  file: ShownFile
}

type Link = { bus: Bus; service: Service | undefined }

/**
 * Linux and the like: the freedesktop notification service, over the session bus. A service or a bus that goes away is
 * looked for again with growing pauses, and at once when the bus tells that one has come.
 */
export function createFreedesktopPresenter(ports: FreedesktopPorts, told: Told): Presenter {
  const { openBus, clock, log, file } = ports
  /** What is shown or is being shown; no number yet: the service has not answered. */
  const shown = new Map<string, { id: number | undefined }>()
  /** Signals of numbers that the answer which tells them may not have come for yet. */
  let early: BusSignal[] = []
  let link: Link | undefined
  let failures = 0
  let cancelRetry: (() => void) | undefined
  let ended = false
  let trying = false
  let report: NotificationReport = {
    state: 'starting',
    service: '',
    buttons: false,
    reply: false,
    problem: null,
  }
  void attempt()

  function become(next: NotificationReport): void {
    const changed = JSON.stringify(next) !== JSON.stringify(report)
    report = next
    if (changed) told.onReport()
  }

  /** Connects to what is missing: the bus, then the service. */
  async function attempt(): Promise<void> {
    cancelRetry?.()
    cancelRetry = undefined
    if (trying || ended) return
    trying = true
    try {
      link ??= await connect()
      const at = link
      const service = await findService(at.bus)
      await takeOldOff(at.bus, service)
      // What was lost meanwhile is looked for already.
      if (ended || link !== at) return
      at.service = service
      failures = 0
      log.info('notifications are shown', { service: service.name, can: [...service.can] })
      become({
        state: 'ready',
        service: service.name,
        buttons: service.can.has('actions'),
        reply: service.can.has('inline-reply'),
        problem: null,
      })
    } catch (error) {
      miss(error)
    } finally {
      trying = false
    }
  }

  async function connect(): Promise<Link> {
    const bus = await openBus({ onSignal, onLost: lose })
    try {
      await watchService(bus)
    } catch (error) {
      bus.close()
      throw error
    }
    return { bus, service: undefined }
  }

  function miss(error: unknown): void {
    if (ended) return
    const why = reasonOf(error)
    if (failures === 0) log.warn('no notification can be shown', { error })
    failures += 1
    become({
      state: 'missing',
      service: '',
      buttons: false,
      reply: false,
      problem: {
        code: 'notifications.missing',
        message: `No desktop notification can be shown: ${why}.`,
        hint: 'Start a notification service of the desktop; Ballet looks for it by itself. The inbox shows everything.',
      },
    })
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS)
    cancelRetry?.()
    cancelRetry = clock.after(pause, () => void attempt())
  }

  function lose(error: Error): void {
    link = undefined
    dropAll()
    miss(error)
  }

  /** The service is gone, or does not do what it should; the bus may be well. */
  function loseService(error: unknown): void {
    if (link === undefined) return
    link.service = undefined
    dropAll()
    miss(error)
  }

  function dropAll(): void {
    early = []
    if (shown.size === 0) return
    shown.clear()
    told.onLost()
  }

  async function takeOldOff(bus: Bus, service: Service): Promise<void> {
    const old = await file.read()
    if (old?.bus !== service.bus || old.service !== service.owner) return
    const ours = new Set([...shown.values()].map(({ id }) => id))
    for (const id of old.ids) {
      if (!ours.has(id)) await closeNotification(bus, id).catch(() => undefined)
    }
  }

  function keep(): Promise<void> {
    const service = link?.service
    if (service === undefined) return Promise.resolve()
    const ids = [...shown.values()].flatMap(({ id }) => id ?? [])
    return file.write({ bus: service.bus, service: service.owner, ids })
  }

  function onSignal(signal: BusSignal): void {
    const { sender, member, body } = signal
    if (sender === BUS.destination && member === 'NameOwnerChanged') {
      if (body[0] === SERVICE.destination) ownerChanged(String(body[2]))
    } else if (sender === link?.service?.owner && signal.interface === SERVICE.interface) {
      const [key] = [...shown].find(([, { id }]) => id === body[0]) ?? []
      if (key !== undefined) act(key, member, body[1])
      else if ([...shown.values()].some(({ id }) => id === undefined)) early.push(signal)
    }
  }

  function ownerChanged(owner: string): void {
    if (owner === '') loseService(new Error('the notification service ended'))
    else if (owner !== link?.service?.owner) {
      if (link?.service !== undefined) loseService(new Error('another service took over'))
      void attempt()
    }
  }

  function act(key: string, member: string, value: unknown): void {
    if (member === 'ActionInvoked' && typeof value === 'string') {
      if (value === CLICK) told.onClick(key)
      else told.onButton(key, value)
    } else if (member === 'NotificationReplied' && typeof value === 'string') {
      told.onReply(key, value)
    } else if (member === 'NotificationClosed') {
      shown.delete(key)
      void keep()
      if (value !== CLOSED_BY_US) told.onPutAway(key)
    }
  }

  async function show(notice: Notice): Promise<void> {
    close(notice.key)
    const at = link
    if (at?.service === undefined) return
    const entry: { id: number | undefined } = { id: undefined }
    shown.set(notice.key, entry)
    try {
      const id = await notify(at.bus, at.service, notice)
      if (shown.get(notice.key) !== entry) {
        // It was taken back while the service was busy with it.
        if (link === at) await closeNotification(at.bus, id)
        return
      }
      entry.id = id
      await keep()
      const waited = early
      early = []
      for (const signal of waited) onSignal(signal)
    } catch (error) {
      if (link === at && at.service !== undefined) loseService(error)
    }
  }

  function close(key: string): void {
    const entry = shown.get(key)
    const bus = link?.bus
    shown.delete(key)
    if (entry?.id === undefined || bus === undefined) return
    void keep()
    closeNotification(bus, entry.id).catch((error: unknown) => {
      log.debug('a notification was gone already', { key, error })
    })
  }

  async function end(): Promise<void> {
    ended = true
    cancelRetry?.()
    const bus = link?.bus
    if (bus === undefined) return
    const ids = [...shown.values()].flatMap(({ id }) => id ?? [])
    shown.clear()
    const closing = Promise.all([
      keep(),
      ...ids.map((id) => closeNotification(bus, id).catch(() => undefined)),
    ])
    let cancel: (() => void) | undefined
    const limit = new Promise<void>((resolve) => {
      cancel = clock.after(END_LIMIT_MS, resolve)
    })
    await Promise.race([closing, limit])
    cancel?.()
    bus.close()
    link = undefined
  }

  return { report: () => report, show: (notice) => void show(notice), close, end }
}

/** What the bus says when nobody has the service's name, and nobody can be started to have it. */
const NOBODY = ['ServiceUnknown', 'NameHasNoOwner'].map(
  (name) => `org.freedesktop.DBus.Error.${name}`,
)

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isNobody = 'type' in error && NOBODY.includes(String(error.type))
  return isNobody ? 'no notification service runs on this desktop' : error.message
}
