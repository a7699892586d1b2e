import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, buildAnswer, encodeEvent } from './answer.ts'
import { type Choice, chooseStep } from './choose-step.ts'
import { Gates } from './gates.ts'
import type { MessagesRequest } from './messages.ts'
import {
  maskHeaders,
  type RecordedRequest,
  type RequestPredicate,
  RequestRecord,
} from './record.ts'
import type { Failure, ScriptBook, Step } from './script.ts'
import { type RequestBody, readBody, sendJson, sideAnswer } from './wire.ts'
import { messagesError, WIRES, type Wire } from './wires.ts'

export interface ModelServerOptions {
  /** 0 (the default) takes a free port. */
  readonly port?: number | undefined
  /** JSON lines; an existing file is read and continued. */
  readonly recordFile?: string | undefined
  /** How many requests stay in memory; by default all. */
  readonly keep?: number | undefined
  readonly book?: ScriptBook | undefined
}

export interface ModelServer {
  /** For ANTHROPIC_BASE_URL; with `/v1` behind it the base of the Responses API. */
  readonly url: string
  readonly port: number
  requests(): RecordedRequest[]
  requestsFor(predicate: RequestPredicate): RecordedRequest[]
  /** Rejects after the limit (default 20 s) with the requests that there were. */
  waitFor(
    predicate: RequestPredicate,
    options?: { readonly timeoutMs?: number },
  ): Promise<RecordedRequest>
  /** Lets the streams that stop at this gate go on, also those that reach it later. */
  release(gate: string): void
  reset(): void
  /** Cuts what is open. */
  close(): Promise<void>
}

/** A gate that nobody releases cuts its stream after this time. */
const GATE_LIMIT_MS = 120_000

/** Starts a model that answers by scripts in the prompts, on the loopback interface. */
export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  const model = new ScriptedModel(options)
  // Like those of the real providers it closes no connection that is idle: a request could come at that very moment.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    model.handle(request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)))
    })
  })
  const port = await listen(server, options.port ?? 0)
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests: () => model.record.list(),
    requestsFor: (predicate) => model.record.list().filter(predicate),
    waitFor: (predicate, { timeoutMs = 20_000 } = {}) => model.record.waitFor(predicate, timeoutMs),
    release: (gate) => model.gates.release(gate),
    reset: () => model.reset(),
    close: () =>
      new Promise<void>((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()))
        server.closeAllConnections()
      }),
  }
}

interface Asked {
  readonly wire: Wire
  /** Its number in the record. */
  readonly n: number
  readonly request: MessagesRequest
  readonly response: ServerResponse
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal
}

class ScriptedModel {
  readonly record: RequestRecord
  readonly gates = new Gates()
  readonly #book: ScriptBook
  /** Attempts of a step by session and place, since a retry looks like the first try. */
  readonly #attempts = new Map<string, number>()

  constructor(options: ModelServerOptions) {
    this.record = new RequestRecord({ file: options.recordFile, keep: options.keep })
    this.#book = options.book ?? {}
  }

  reset(): void {
    this.record.reset()
    this.gates.reset()
    this.#attempts.clear()
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    const body = await readBody(request)
    if (url.pathname.startsWith('/__')) return this.#control(request, url, response)
    const wire = request.method === 'POST' ? WIRES[url.pathname] : undefined
    if (wire !== undefined) return this.#asked(wire, request, body, response)
    const n = this.record.add(this.#facts(request, undefined, undefined))
    const answer = sideAnswer(request.method ?? 'GET', url.pathname, body)
    sendJson(response, answer.status, answer.body)
    this.record.settle(n, { status: answer.status, endedAt: new Date().toISOString() })
  }

  #control(request: IncomingMessage, url: URL, response: ServerResponse): void {
    if (request.method === 'GET' && url.pathname === '/__requests') {
      sendJson(response, 200, this.record.list(Number(url.searchParams.get('since') ?? 0)))
      return
    }
    if (request.method === 'POST' && url.pathname === '/__release') {
      this.gates.release(url.searchParams.get('gate') ?? '')
      sendJson(response, 200, { released: url.searchParams.get('gate') })
      return
    }
    sendJson(response, 404, messagesError('not_found_error', 'Not found'))
  }

  async #asked(
    wire: Wire,
    request: IncomingMessage,
    body: RequestBody,
    response: ServerResponse,
  ): Promise<void> {
    const asked = body.kind === 'json' ? wire.read(body.value) : undefined
    const valid = typeof asked === 'object' ? asked : undefined
    const choice = valid && chooseStep(valid, this.#book)
    const session = wire.sessionOf(request.headers, body.kind === 'json' ? body.value : undefined)
    const attempt = valid && choice?.kind === 'step' ? this.#attempt(session, valid, choice) : 0
    const n = this.record.add({
      ...this.#facts(request, session, valid),
      userText: choice?.kind === 'step' ? choice.userText : undefined,
      step: choice?.kind === 'step' ? choice.chosen : undefined,
      attempt: choice?.kind === 'step' ? attempt : undefined,
    })
    const end = new AbortController()
    response.on('close', () => {
      const at = new Date().toISOString()
      const status = response.headersSent ? response.statusCode : undefined
      const outcome = response.writableFinished ? { endedAt: at } : { abortedAt: at }
      this.record.settle(n, status === undefined ? outcome : { status, ...outcome })
      end.abort()
    })
    if (body.kind === 'too-large') return sendError(wire, response, 413)
    if (!valid) {
      const message = typeof asked === 'string' ? asked : 'The body is not JSON.'
      return sendError(wire, response, 400, { message })
    }
    if (choice?.kind !== 'step') {
      return sendError(wire, response, 400, { message: choice?.message ?? '' })
    }
    await this.#play(
      { wire, n, request: valid, response, signal: end.signal },
      choice.step,
      attempt,
    )
  }

  #facts(
    request: IncomingMessage,
    session: string | undefined,
    valid: MessagesRequest | undefined,
  ): Omit<RecordedRequest, 'n' | 'at' | 'status' | 'endedAt' | 'abortedAt'> {
    return {
      method: request.method ?? 'GET',
      path: request.url ?? '/',
      session,
      headers: maskHeaders(request.headers),
      model: valid?.model,
      system: valid?.system,
      messages: valid?.messages ?? [],
      tools: valid?.tools ?? [],
      maxTokens: valid?.maxTokens,
      stream: valid?.stream ?? false,
      userText: undefined,
      step: undefined,
      attempt: undefined,
    }
  }

  #attempt(
    session: string | undefined,
    valid: MessagesRequest,
    choice: Extract<Choice, { kind: 'step' }>,
  ): number {
    const { fail, cut, headThenHang } = choice.step
    if (!fail && !cut && !headThenHang) return 0
    const users = valid.messages.filter((message) => message.role === 'user').length
    const key = createHash('sha256')
      .update([session, users, choice.chosen.index, choice.userText].join('\n'))
      .digest('hex')
    const attempt = this.#attempts.get(key) ?? 0
    this.#attempts.set(key, attempt + 1)
    return attempt
  }

  async #play(asked: Asked, step: Step, attempt: number): Promise<void> {
    const { wire, n, request, response, signal } = asked
    if (step.wait !== undefined) await pause(step.wait, signal)
    if (signal.aborted) return
    const failure = failureOf(step.fail ?? [], attempt)
    if (failure?.status === 0) {
      response.destroy()
      return
    }
    if (failure) return sendError(wire, response, failure.status, failure)
    const id = randomUUID().replaceAll('-', '').slice(0, 24)
    const answer = buildAnswer(request, step, makeIds(id))
    const headers = { 'request-id': `req_${id}`, ...step.headers }
    const hangs = happens(step.headThenHang, attempt)
    if (!request.stream && !hangs && !happens(step.cut, attempt)) {
      return sendJson(response, 200, wire.whole(answer), headers)
    }
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      ...headers,
    })
    response.flushHeaders()
    this.record.settle(n, { status: 200 })
    if (hangs) return
    await this.#stream(asked, answer, step, happens(step.cut, attempt))
  }

  async #stream(
    { wire, response, signal }: Asked,
    answer: Answer,
    step: Step,
    cut: boolean,
  ): Promise<void> {
    const events = [...wire.events(answer, step.chunks)]
    const lastPause = events.reduce((last, event, index) => (event.pause ? index : last), -1)
    const stopAt = cut ? Math.ceil(events.length / 2) : events.length
    let gate = step.gate
    // Events without a pause between them go out in one write, as from a real server in a hurry.
    let batch = ''
    for (const [index, event] of events.entries()) {
      if (index === stopAt) break
      batch += encodeEvent(event)
      const waits = event.pause === true && (gate !== undefined || (step.delay ?? 0) > 0)
      if (!waits) continue
      response.write(batch)
      batch = ''
      if (gate !== undefined) {
        const released = await this.gates.wait(gate, GATE_LIMIT_MS, signal)
        if (!released) return void response.destroy()
        gate = undefined
      }
      if (index < lastPause) await pause(step.delay ?? 0, signal)
      if (signal.aborted) return
    }
    if (!cut) {
      response.end(batch)
      return
    }
    response.write(batch, () => response.destroy())
  }
}

function sendError(
  wire: Wire,
  response: ServerResponse,
  status: number,
  failure: Partial<Omit<Failure, 'status'>> = {},
): void {
  const isPassing = status === 408 || status === 409 || status === 429 || status >= 500
  sendJson(response, status, wire.error(status, failure), {
    'x-should-retry': String(isPassing),
    ...failure.headers,
  })
}

function failureOf(failures: readonly Failure[], attempt: number): Failure | undefined {
  let past = attempt
  for (const failure of failures) {
    if (failure.times === undefined || past < failure.times) return failure
    past -= failure.times
  }
  return undefined
}

function happens(when: boolean | number | undefined, attempt: number): boolean {
  return typeof when === 'number' ? attempt < when : when === true
}

function makeIds(base: string): () => string {
  let next = 0
  return () => {
    next += 1
    return `${base}${next}`
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return
  try {
    await sleep(ms, undefined, { signal })
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      const address = server.address()
      if (typeof address === 'object' && address !== null) resolve(address.port)
      else reject(new Error('The model server has no port.'))
    })
  })
}
