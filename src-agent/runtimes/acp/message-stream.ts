import { setImmediate as nextTask } from 'node:timers/promises'
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import { z } from 'zod'
import type { FramedLine } from '../line-framing.ts'

/** What an agent sent that is no message which Ballet can use. */
export type Strange =
  | { kind: 'garbage'; text: string }
  | { kind: 'oversized'; head: string; bytes: number }
  | { kind: 'unknown'; what: string }

export type StreamHandlers = {
  /** The `params` of a `session/update`, not decoded. */
  onUpdate(params: unknown): void
  onStrange(strange: Strange): void
}

const Message = z.looseObject({
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string().optional(),
  params: z.unknown().optional(),
})

/** Requests that the connection serves; the others are answered with "method not found". */
const SERVED = new Set([
  'session/request_permission',
  'fs/read_text_file',
  'fs/write_text_file',
  'terminal/create',
  'terminal/output',
  'terminal/wait_for_exit',
  'terminal/kill',
  'terminal/release',
])

/**
 * The messages of an agent in exactly the order in which it wrote them: updates are handed over here, everything else
 * goes through the library's connection, and nothing is read on before that has dealt with it.
 */
export class MessageStream {
  /** For the library. */
  readonly stream: Stream
  readonly #handlers: StreamHandlers
  /** Requests to the agent without an answer. */
  readonly #asked = new Set<unknown>()
  #queue: FramedLine[] = []
  #isReading = false
  #reading: Promise<void> = Promise.resolve()
  #controller: ReadableStreamDefaultController<AnyMessage> | null = null

  constructor(write: (message: unknown) => Promise<void>, handlers: StreamHandlers) {
    this.#handlers = handlers
    this.stream = {
      readable: new ReadableStream<AnyMessage>({
        start: (controller) => {
          this.#controller = controller
        },
      }),
      writable: new WritableStream<AnyMessage>({
        write: (message) => {
          if ('method' in message && 'id' in message) this.#asked.add(message.id)
          return write(message)
        },
      }),
    }
  }

  push(line: FramedLine): void {
    this.#queue.push(line)
    if (!this.#isReading) this.#reading = this.#read()
  }

  /** Resolves when everything that was pushed is dealt with; the connection is over then. */
  async end(): Promise<void> {
    await this.#reading
    try {
      this.#controller?.close()
    } catch {
      // The connection was closed from the other side.
    }
  }

  async #read(): Promise<void> {
    this.#isReading = true
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const message = this.#take(next)
      if (message === null) continue
      try {
        this.#controller?.enqueue(message)
      } catch {
        // The connection was closed from the other side; what comes beside it still counts.
        continue
      }
      await nextTask()
    }
    this.#isReading = false
  }

  /** A message for the library; null for what is dealt with. */
  #take(line: FramedLine): AnyMessage | null {
    if (line.kind === 'oversized') {
      this.#handlers.onStrange(line)
      return null
    }
    let value: unknown
    try {
      value = JSON.parse(line.text)
    } catch {
      this.#handlers.onStrange({ kind: 'garbage', text: line.text })
      return null
    }
    const message = Message.safeParse(value).data
    if (message === undefined) return this.#unknown(`a message that is ${typeof value}`)
    const { id, method, params } = message
    if (method === undefined) {
      if (!this.#asked.delete(id)) return this.#unknown('an answer to nothing that was asked')
    } else if (id === undefined) {
      if (method === 'session/update') this.#handlers.onUpdate(params)
      // Extensions of one agent begin so, and may be left alone.
      else if (!/^[_$]/.test(method)) return this.#unknown(method)
      if (method !== '$/cancel_request') return null
    } else if (!SERVED.has(method)) {
      this.#unknown(method)
    }
    return { ...message, jsonrpc: '2.0' } as unknown as AnyMessage
  }

  #unknown(what: string): null {
    this.#handlers.onStrange({ kind: 'unknown', what })
    return null
  }
}
