import { setTimeout as sleep } from 'node:timers/promises'
import {
  type ClientConnection,
  type ClientRequestHandlersByMethod,
  client,
  RequestError,
} from '@agentclientprotocol/sdk'
import { describeExit, LineProcess, type LineProcessOptions } from '../line-process.ts'
import { MessageStream, type StreamHandlers } from './message-stream.ts'

/** A program that ends at once breaks the pipe a moment before its end is known. */
const EXIT_GRACE_MS = 1_000

/** What an agent may ask its client for, by method. */
export type Services = Pick<
  ClientRequestHandlersByMethod,
  | 'session/request_permission'
  | 'fs/read_text_file'
  | 'fs/write_text_file'
  | 'terminal/create'
  | 'terminal/output'
  | 'terminal/wait_for_exit'
  | 'terminal/kill'
  | 'terminal/release'
>

export type ConnectionOptions = LineProcessOptions & {
  /** What people call the agent. */
  title: string
  services: Services
}

/** An answer that is an error, as JSON-RPC has it. */
export type AgentError = { code: number; message: string; data: unknown }

/** One running agent, and the messages in both directions. */
export class AgentConnection {
  readonly process: LineProcess
  /** How it ended, in words; resolves once, when everything that it wrote was dealt with. */
  readonly ended: Promise<string>
  /** Resolves when one of the two directions is over, also while the agent still runs. */
  readonly cut: Promise<void>
  readonly #connection: ClientConnection
  #handlers: StreamHandlers

  private constructor(
    title: string,
    process: LineProcess,
    stream: MessageStream,
    connection: ClientConnection,
    handlers: StreamHandlers,
  ) {
    this.process = process
    this.#connection = connection
    this.#handlers = handlers
    this.cut = Promise.race([process.outputEnded, connection.closed])
    this.ended = process.exited.then(async (exit) => {
      await stream.end()
      await connection.closed
      return describeExit(title, exit, process.stderr)
    })
  }

  /** Rejects with the system's error when the program cannot be started. */
  static async open(
    options: ConnectionOptions,
    handlers: StreamHandlers,
  ): Promise<AgentConnection> {
    const early: { process?: LineProcess } = {}
    const opened: { connection?: AgentConnection } = {}
    const stream = new MessageStream(
      (message) =>
        early.process?.write(message) ?? Promise.reject(new Error('it does not run yet')),
      {
        onUpdate: (params) => (opened.connection?.handlers ?? handlers).onUpdate(params),
        onStrange: (strange) => (opened.connection?.handlers ?? handlers).onStrange(strange),
      },
    )
    const process = await LineProcess.start(options, (line) => stream.push(line))
    early.process = process
    const { services } = options
    const connection = client({ name: 'Ballet' })
      .onRequest('session/request_permission', services['session/request_permission'])
      .onRequest('fs/read_text_file', services['fs/read_text_file'])
      .onRequest('fs/write_text_file', services['fs/write_text_file'])
      .onRequest('terminal/create', services['terminal/create'])
      .onRequest('terminal/output', services['terminal/output'])
      .onRequest('terminal/wait_for_exit', services['terminal/wait_for_exit'])
      .onRequest('terminal/kill', services['terminal/kill'])
      .onRequest('terminal/release', services['terminal/release'])
      .connect(stream.stream)
    opened.connection = new AgentConnection(options.title, process, stream, connection, handlers)
    return opened.connection
  }

  get gone(): boolean {
    return this.process.gone
  }

  get handlers(): StreamHandlers {
    return this.#handlers
  }

  handleWith(handlers: StreamHandlers): void {
    this.#handlers = handlers
  }

  /**
   * Sends a request and waits for its answer, which is not decoded; without a limit where it is null. Rejects at the
   * limit, at an error answer (see `agentErrorOf`) and at the exit.
   */
  async request(method: string, params: unknown, limitMs: number | null): Promise<unknown> {
    const answer = this.#connection.agent.request<unknown>(method, params)
    if (limitMs === null) return answer
    const timer = new AbortController()
    const late = sleep(limitMs, null, { signal: timer.signal }).then(() => {
      throw new Error(`no answer to ${method} within ${limitMs / 1_000} s`)
    })
    try {
      return await Promise.race([answer, late])
    } finally {
      timer.abort()
      late.catch(() => undefined)
      answer.catch(() => undefined)
    }
  }

  /** Rejects when it was not written. */
  async notify(method: string, params: unknown): Promise<void> {
    await this.#connection.agent.notify(method, params)
  }

  /** How it ended, in words, when it does so within a moment; null while it runs. */
  async endedSoon(): Promise<string | null> {
    return Promise.race([this.ended, sleep(EXIT_GRACE_MS, null)])
  }
}

/** The error that the agent answered with; null for anything else that went wrong. */
export function agentErrorOf(error: unknown): AgentError | null {
  if (!(error instanceof RequestError)) return null
  return { code: error.code, message: error.message, data: error.data }
}
