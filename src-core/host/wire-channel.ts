import type { Channel } from '../../src-shared/channel.ts'

/** How a launcher reaches a process that it started. */
export type Wire = { send(message: unknown): void; close(): void }

export type WireChannel = {
  channel: Channel
  /** For what arrives. */
  receive(message: unknown): void
  /** When nothing can arrive any more. */
  closed(): void
}

/** A channel over a launcher's own way to send; what arrives before somebody listens is kept in order. */
export function createWireChannel(wire: Wire): WireChannel {
  let listener: ((message: unknown) => void) | undefined
  let early: unknown[] = []
  let isOpen = true
  const onClosed: (() => void)[] = []
  return {
    channel: {
      send: (message) => {
        if (isOpen) wire.send(message)
      },
      onMessage: (next) => {
        if (listener !== undefined) throw new Error('a channel has one listener')
        listener = next
        const kept = early
        early = []
        for (const message of kept) next(message)
      },
      onClose: (next) => {
        if (isOpen) onClosed.push(next)
        else queueMicrotask(next)
      },
      close: () => wire.close(),
    },
    receive: (message) => {
      if (listener === undefined) early.push(message)
      else listener(message)
    },
    closed: () => {
      if (!isOpen) return
      isOpen = false
      for (const next of onClosed) next()
    },
  }
}
