import type { Channel } from '../../src-shared/channel.ts'

class End implements Channel {
  peer: End | undefined
  #listener: ((message: unknown) => void) | undefined
  readonly #early: unknown[] = []
  readonly #closeListeners: (() => void)[] = []
  #closed = false

  send(message: unknown): void {
    if (this.#closed) return
    const copy = structuredClone(message)
    setImmediate(() => this.peer?.take(copy))
  }

  take(message: unknown): void {
    if (this.#closed) return
    if (this.#listener === undefined) this.#early.push(message)
    else this.#listener(message)
  }

  onMessage(listener: (message: unknown) => void): void {
    this.#listener = listener
    for (const message of this.#early.splice(0)) listener(message)
  }

  onClose(listener: () => void): void {
    if (this.#closed) setImmediate(listener)
    else this.#closeListeners.push(listener)
  }

  close(): void {
    if (this.#closed) return
    // What was sent before arrives before.
    setImmediate(() => {
      this.shut()
      this.peer?.shut()
    })
  }

  shut(): void {
    if (this.#closed) return
    this.#closed = true
    for (const listener of this.#closeListeners.splice(0)) listener()
  }
}

/** Two ends in one process that carry copies, in order, never at once. */
export function linkedChannel(): [Channel, Channel] {
  const a = new End()
  const b = new End()
  a.peer = b
  b.peer = a
  return [a, b]
}
