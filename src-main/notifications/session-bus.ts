import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DBusError, Message, MessageType, sessionBus, Variant } from '@jellybrick/dbus-next'
import { BUS, type Bus, type BusListener } from './notification-bus.ts'

/** Connecting and each call. Showing a notification takes milliseconds; starting a service for it may take a moment. */
const LIMIT_MS = 5_000
/** A bus that died without closing its socket is found out by then. */
const LOOK_AFTER_MS = 60_000

/** The session bus of the person who is logged in; nothing is started to get one. */
export async function openSessionBus(listener: BusListener): Promise<Bus> {
  const busAddress = addressOf(process.env)
  if (busAddress === undefined) throw new Error('there is no session bus')
  const connection = sessionBus({ busAddress })
  let lost: Error | undefined
  const waiting = new Set<(error: Error) => void>()

  const lose = (error: Error) => {
    if (lost !== undefined) return
    lost = error
    clearInterval(look)
    for (const give of waiting) give(error)
    close()
    listener.onLost(error)
  }
  const close = () => {
    clearInterval(look)
    try {
      connection.disconnect()
    } catch {
      // Its socket is gone already.
    }
  }
  // Without a listener an error of the socket would end the process.
  connection.on('error' as never, ((error: unknown) => lose(asError(error))) as never)

  const call: Bus['call'] = ({ signature = '', body = [], ...rest }) =>
    new Promise((resolve, reject) => {
      if (lost !== undefined) return reject(lost)
      const end = (act: () => void) => {
        clearTimeout(timer)
        waiting.delete(give)
        act()
      }
      const give = (error: Error) => end(() => reject(error))
      const timer = setTimeout(
        () => give(new Error(`${rest.member} was not answered within ${LIMIT_MS / 1_000} s`)),
        LIMIT_MS,
      )
      waiting.add(give)
      connection.call(new Message({ ...rest, signature, body })).then(
        (reply) => end(() => resolve(reply?.body ?? [])),
        (error: unknown) => {
          give(asError(error))
          // Anything but an answer of the other side means that the connection itself does not work.
          if (!(error instanceof DBusError)) lose(asError(error))
        },
      )
    })

  const look = setInterval(() => {
    call({ ...BUS, member: 'GetId' }).catch((error: unknown) => lose(asError(error)))
  }, LOOK_AFTER_MS)
  look.unref()

  connection.on('message', ({ type, sender, path, interface: of, member, body }) => {
    if (type === MessageType.SIGNAL)
      listener.onSignal({ sender, path, interface: of, member, body })
  })
  try {
    // The library says Hello by itself; an answer to anything tells that the connection works.
    await call({ ...BUS, member: 'GetId' })
  } catch (error) {
    lost ??= asError(error)
    close()
    throw lost
  }
  return {
    call,
    variant: (signature, value) => new Variant(signature, value),
    close: () => {
      lost ??= new Error('the connection to the session bus is closed')
      for (const give of waiting) give(lost)
      close()
    },
  }
}

function addressOf(env: NodeJS.ProcessEnv): string | undefined {
  if (env.DBUS_SESSION_BUS_ADDRESS) return env.DBUS_SESSION_BUS_ADDRESS
  const socket = join(env.XDG_RUNTIME_DIR ?? `/run/user/${process.getuid?.()}`, 'bus')
  return existsSync(socket) ? `unix:path=${socket}` : undefined
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error))
