import { setTimeout as sleep } from 'node:timers/promises'
import { LineFramer } from '../line-framing.ts'
import { type OpencodeClient, whyOf } from './client.ts'
import { type DecodedEvent, decodeEvent } from './wire.ts'

/** The server beats every 10 seconds: a stream that is silent for longer is dead. */
const SILENCE_MS = 35_000
const AGAIN_AFTER_MS = [50, 250, 1_000, 2_000, 4_000]
const OPEN_LIMIT_MS = 20_000

export type EventHandlers = {
  onEvent(decoded: Exclude<DecodedEvent, { kind: 'silent' }>, text: string): void
  onOversized(head: string, bytes: number): void
  /** The stream was cut and is there again: what happened meanwhile must be read. */
  onAgain(): Promise<void>
  /** It does not come back. */
  onLost(why: string): void
}

/** Reads the data of server-sent events: opencode writes each event as one line, `data: {…}`, and an empty one. */
export class EventReader {
  readonly #framer: LineFramer

  constructor(handlers: Pick<EventHandlers, 'onEvent' | 'onOversized'>, capBytes?: number) {
    this.#framer = new LineFramer(
      (line) => {
        if (line.kind === 'oversized') handlers.onOversized(line.head, line.bytes)
        else if (line.text.startsWith('data:')) {
          const text = line.text.slice('data:'.length).trim()
          const decoded = decodeEvent(text)
          if (decoded.kind !== 'silent') handlers.onEvent(decoded, text)
        }
      },
      capBytes === undefined ? {} : { capBytes },
    )
  }

  /** What is half a line when the stream ends was never an event. */
  push(bytes: Uint8Array): void {
    this.#framer.push(Buffer.from(bytes))
  }
}

/** Follows the events of a server, and connects again when the stream is cut. */
export class EventStream {
  readonly #client: OpencodeClient
  readonly #handlers: EventHandlers
  readonly #openLimitMs: number
  readonly #stop = new AbortController()

  /** `openLimitMs`: how long the server may take to begin a stream, the first one and each after that. */
  constructor(client: OpencodeClient, handlers: EventHandlers, openLimitMs = OPEN_LIMIT_MS) {
    this.#client = client
    this.#handlers = handlers
    this.#openLimitMs = openLimitMs
  }

  /** Resolves when the first stream is open: nothing that happens afterwards is missed. */
  async open(): Promise<void> {
    void this.#follow(await this.#connect())
  }

  close(): void {
    this.#stop.abort()
  }

  async #connect(): Promise<Connection> {
    const cut = new AbortController()
    this.#stop.signal.addEventListener('abort', () => cut.abort(), { once: true })
    const timer = setTimeout(() => cut.abort(noEvents(this.#openLimitMs)), this.#openLimitMs)
    try {
      return { body: await this.#client.events(cut.signal), cut }
    } finally {
      clearTimeout(timer)
    }
  }

  async #follow(first: Connection): Promise<void> {
    let connection: Connection | null = first
    let why = 'it ended'
    while (connection !== null && !this.#stop.signal.aborted) {
      try {
        await this.#read(connection)
      } catch (error) {
        why = whyOf(error)
      }
      if (this.#stop.signal.aborted) return
      connection = await this.#again()
    }
    if (!this.#stop.signal.aborted) this.#handlers.onLost(why)
  }

  async #read({ body, cut }: Connection): Promise<void> {
    const reader = new EventReader(this.#handlers)
    let timer = setTimeout(() => cut.abort(), SILENCE_MS)
    try {
      for await (const chunk of body) {
        clearTimeout(timer)
        timer = setTimeout(() => cut.abort(), SILENCE_MS)
        reader.push(chunk)
      }
    } finally {
      clearTimeout(timer)
    }
  }

  async #again(): Promise<Connection | null> {
    for (const ms of AGAIN_AFTER_MS) {
      await sleep(ms)
      if (this.#stop.signal.aborted) return null
      let connection: Connection | null = null
      try {
        connection = await this.#connect()
        await this.#handlers.onAgain()
        return connection
      } catch {
        // Tried again; when it stays, `onLost` says so.
        connection?.cut.abort()
      }
    }
    return null
  }
}

type Connection = { body: ReadableStream<Uint8Array>; cut: AbortController }

const noEvents = (limitMs: number) => new Error(`it sent no events within ${limitMs / 1_000} s`)
