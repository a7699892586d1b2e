import type { FramedLine } from '../line-framing.ts'
import { type Exit, LineProcess, type LineProcessOptions } from '../line-process.ts'
import { Incoming } from './protocol.ts'

export type RpcId = string | number

export type AppServerHandlers = {
  onNotification(method: string, params: unknown): void
  /** The server waits for `respond` with this id. */
  onRequest(id: RpcId, method: string, params: unknown): void
  onGarbage(text: string): void
  onOversized(head: string, bytes: number): void
}

/** The server answered a request with an error. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
}

type Pending = { resolve: (result: unknown) => void; reject: (error: Error) => void }

/** Of what comes before there is a session to tell it, no more than this is kept. */
const EARLY_KEPT = 200

const WRITE_LIMIT_MS = 10_000

/** A running `codex app-server`: requests in both directions, notifications, its end. */
export class AppServer {
  readonly pid: number
  /** Resolves once, after its last line was handled. */
  readonly exited: Promise<Exit>
  readonly #process: LineProcess
  readonly #pending: Map<RpcId, Pending>
  readonly #inbox: Inbox
  #next = 1

  private constructor(process: LineProcess, pending: Map<RpcId, Pending>, inbox: Inbox) {
    this.#process = process
    this.#pending = pending
    this.#inbox = inbox
    this.pid = process.pid
    this.exited = process.exited.then((exit) => {
      for (const { reject } of [...pending.values()]) {
        reject(new Error('it ended before it answered'))
      }
      return exit
    })
  }

  /** Rejects with the system's error when the program cannot be started. */
  static async start(options: LineProcessOptions): Promise<AppServer> {
    const pending = new Map<RpcId, Pending>()
    const inbox = new Inbox(pending)
    const process = await LineProcess.start(options, (line) => inbox.take(line))
    return new AppServer(process, pending, inbox)
  }

  get gone(): boolean {
    return this.#process.gone
  }

  endsSoon(): Promise<boolean> {
    return this.#process.endsSoon()
  }

  get stderr(): string {
    return this.#process.stderr
  }

  /** What came before is told now. */
  handleWith(handlers: AppServerHandlers): void {
    this.#inbox.handleWith(handlers)
  }

  /** Rejects with `RpcError` for an error answer, and with another error at the limit and at the exit. */
  request(method: string, params: unknown, limitMs: number): Promise<unknown> {
    const id = this.#next
    this.#next += 1
    const answer = new Promise<unknown>((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer)
        this.#pending.delete(id)
        act()
      }
      const timer = setTimeout(
        () => settle(() => reject(new Error(`no answer to ${method} in ${limitMs} ms`))),
        limitMs,
      )
      this.#pending.set(id, {
        resolve: (result) => settle(() => resolve(result)),
        reject: (error) => settle(() => reject(error)),
      })
    })
    // Not waited for: a server that does not read never takes a long one, and the limit is for that too.
    this.#process.write({ id, method, params }).catch((error: unknown) => {
      this.#pending.get(id)?.reject(error instanceof Error ? error : new Error(String(error)))
    })
    return answer
  }

  /**
   * Rejects when the server did not take it within the limit; so do the next two. What was not taken in time stays on
   * its way, and may still be read.
   */
  notify(method: string, limitMs = WRITE_LIMIT_MS): Promise<void> {
    return this.#write({ method }, limitMs)
  }

  respond(id: RpcId, result: unknown, limitMs = WRITE_LIMIT_MS): Promise<void> {
    return this.#write({ id, result }, limitMs)
  }

  refuse(id: RpcId, message: string): Promise<void> {
    return this.#write({ id, error: { code: -32_601, message } }, WRITE_LIMIT_MS)
  }

  async #write(message: unknown, limitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const why = `it did not read what was written to it within ${limitMs / 1_000} s`
      timer = setTimeout(() => reject(new Error(why)), limitMs)
    })
    try {
      await Promise.race([this.#process.write(message), late])
    } finally {
      clearTimeout(timer)
    }
  }

  /** No input any more: the server ends, and what it runs with it. */
  closeInput(): void {
    this.#process.closeInput()
  }
}

/** Sorts the lines of the server; keeps what comes before anybody handles it. */
class Inbox {
  readonly #pending: ReadonlyMap<RpcId, Pending>
  #handlers: AppServerHandlers | null = null
  #early: ((handlers: AppServerHandlers) => void)[] = []

  constructor(pending: ReadonlyMap<RpcId, Pending>) {
    this.#pending = pending
  }

  handleWith(handlers: AppServerHandlers): void {
    this.#handlers = handlers
    for (const tell of this.#early.splice(0)) tell(handlers)
  }

  take(framed: FramedLine): void {
    if (framed.kind === 'oversized') {
      this.#tell((handlers) => handlers.onOversized(framed.head, framed.bytes))
      return
    }
    const message = readMessage(framed.text)
    if (message === null) {
      this.#tell((handlers) => handlers.onGarbage(framed.text))
      return
    }
    const { id, method, params } = message
    if (method === undefined) {
      const pending = id === undefined ? undefined : this.#pending.get(id)
      if (message.error !== undefined) pending?.reject(new RpcError(message.error.message))
      else pending?.resolve(message.result)
    } else if (id === undefined) {
      this.#tell((handlers) => handlers.onNotification(method, params))
    } else {
      this.#tell((handlers) => handlers.onRequest(id, method, params))
    }
  }

  #tell(tell: (handlers: AppServerHandlers) => void): void {
    if (this.#handlers !== null) tell(this.#handlers)
    else if (this.#early.length < EARLY_KEPT) this.#early.push(tell)
  }
}

function readMessage(text: string): Incoming | null {
  try {
    const message = Incoming.parse(JSON.parse(text))
    return message.id === undefined && message.method === undefined ? null : message
  } catch {
    return null
  }
}
