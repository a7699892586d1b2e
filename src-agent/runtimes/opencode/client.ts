import type { z } from 'zod'
import { BalletError } from '../../../src-shared/refusal.ts'

const LIMIT_MS = 20_000
/** An answer of the server that is longer is not read: a conversation of this size cannot be moved either. */
const ANSWER_CAP_BYTES = 512 * 1024 * 1024

export type ServerAddress = { url: string; password: string }

/** The server said something else than what was asked for. */
export class ServerRefusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export type Call = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  body?: unknown
  limitMs?: number
}

/** Speaks to one server of opencode. */
export class OpencodeClient {
  readonly #address: ServerAddress

  constructor(address: ServerAddress) {
    this.#address = address
  }

  /**
   * Rejects with `ServerRefusal` for what the server refuses, with `BalletError` `runtime.unauthorized` when it does not
   * take the password, and with the system's error.
   */
  async ask<T>(call: Call, schema: z.ZodType<T>): Promise<T> {
    const response = await this.#fetch(call)
    const text = await response.text()
    return schema.parse(text === '' ? null : JSON.parse(text))
  }

  /** Like `ask`, for calls whose answer says nothing. */
  async tell(call: Call): Promise<void> {
    const response = await this.#fetch(call)
    await response.arrayBuffer()
  }

  /** The answer of a call as it comes. */
  async text(call: Call): Promise<string> {
    const response = await this.#fetch(call)
    const length = Number(response.headers.get('content-length') ?? 0)
    if (length > ANSWER_CAP_BYTES) throw new Error(`an answer of ${length} bytes is too long`)
    return response.text()
  }

  /** The events of the server's folder, until the signal. Rejects like `ask`. */
  async events(signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const response = await fetch(`${this.#address.url}/event`, { headers: this.#headers(), signal })
    await refuse(response)
    if (response.body === null) throw new Error('the server sends no events')
    return response.body
  }

  async #fetch({ method, path, body, limitMs = LIMIT_MS }: Call): Promise<Response> {
    const response = await fetch(`${this.#address.url}${path}`, {
      method,
      headers: {
        ...this.#headers(),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      signal: AbortSignal.timeout(limitMs),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    await refuse(response)
    return response
  }

  #headers(): Record<string, string> {
    const account = Buffer.from(`opencode:${this.#address.password}`).toString('base64')
    return { authorization: `Basic ${account}` }
  }
}

async function refuse(response: Response): Promise<void> {
  if (response.ok) return
  const text = (await response.text()).slice(0, 1_000)
  if (response.status === 401) {
    throw new BalletError({
      code: 'runtime.unauthorized',
      message: 'The server of opencode does not take the password that Ballet gave it.',
      hint: 'Remove OPENCODE_SERVER_USERNAME from the environment of the project, then try again.',
    })
  }
  throw new ServerRefusal(response.status, `${response.status}: ${messageOf(text)}`)
}

function messageOf(text: string): string {
  try {
    const { data } = JSON.parse(text) as { data?: { message?: unknown } }
    return typeof data?.message === 'string' ? data.message : text
  } catch {
    return text
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ServerRefusal && error.status === 404
}

/** Why a call failed, in words; the system's reason is behind the one that fetch gives. */
export function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error ? `${error.message} (${cause.message})` : error.message
}

/** The server certainly has not taken the message. */
export function isCertainlyNotTaken(error: unknown): boolean {
  if (error instanceof BalletError) return true
  if (error instanceof ServerRefusal) return error.status < 500
  const cause = error instanceof Error ? error.cause : undefined
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return code === 'ECONNREFUSED'
}
