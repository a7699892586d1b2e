import type { Channel } from '../../src-shared/channel.ts'

/** The port that Electron gives to a utility process. */
type ParentPort = {
  postMessage(message: unknown): void
  on(event: 'message', listener: (event: { data: unknown }) => void): void
  on(event: 'close', listener: () => void): void
}

/** How often to look whether the host is still the parent, where the port does not tell. */
const PARENT_LOOK_MS = 1_000

/** The channel to the host that started this process; null when nobody did. */
export function hostChannel(): Channel | null {
  const port = (process as { parentPort?: ParentPort }).parentPort
  if (port !== undefined) return utilityChannel(port)
  return process.send === undefined ? null : childChannel()
}

function utilityChannel(port: ParentPort): Channel {
  const closed = new Latch()
  const parent = process.ppid
  port.on('close', () => closed.set())
  const look = setInterval(() => {
    if (process.ppid !== parent) closed.set()
  }, PARENT_LOOK_MS)
  look.unref()
  return {
    send: (message) => {
      if (!closed.isSet) port.postMessage(message)
    },
    onMessage: (listener) => port.on('message', (event) => listener(event.data)),
    onClose: (listener) => closed.whenSet(listener),
    close: () => {
      clearInterval(look)
      closed.set()
    },
  }
}

function childChannel(): Channel {
  const closed = new Latch()
  process.once('disconnect', () => closed.set())
  return {
    send: (message) => {
      if (closed.isSet || !process.connected) return
      // A failed write is a host that is gone: `disconnect` follows.
      process.send?.(message, undefined, undefined, (error) => {
        if (error !== null && !process.connected) closed.set()
      })
    },
    onMessage: (listener) => process.on('message', listener),
    onClose: (listener) => closed.whenSet(listener),
    close: () => {
      if (process.connected) process.disconnect()
      closed.set()
    },
  }
}

/** Calls its listeners once, also those that come late. */
class Latch {
  isSet = false
  #listeners: (() => void)[] = []

  set(): void {
    if (this.isSet) return
    this.isSet = true
    for (const listener of this.#listeners.splice(0)) listener()
  }

  whenSet(listener: () => void): void {
    if (this.isSet) queueMicrotask(listener)
    else this.#listeners.push(listener)
  }
}
