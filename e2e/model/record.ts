import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type { ChosenStep } from './choose-step.ts'
import type { Message } from './messages.ts'

/** One request as the server got it, and what became of it. Times are ISO 8601 in UTC. */
export interface RecordedRequest {
  /** Starts at 1, has no gap, goes on over a restart on the same file. */
  readonly n: number
  readonly at: string
  readonly method: string
  readonly path: string
  /** The runtime's own conversation id, where it says it. */
  readonly session: string | undefined
  /** Values of keys are masked; that they were there is kept. */
  readonly headers: Readonly<Record<string, string>>
  readonly model: string | undefined
  readonly system: unknown
  readonly messages: readonly Message[]
  readonly tools: readonly string[]
  readonly maxTokens: number | undefined
  readonly stream: boolean
  /** The newest text of the user, where a step was chosen. */
  readonly userText: string | undefined
  readonly step: ChosenStep | undefined
  /** How many attempts of this step there were before. */
  readonly attempt: number | undefined
  readonly status: number | undefined
  /** When the whole answer was sent. */
  readonly endedAt: string | undefined
  /** When the client went away before the end, or the server cut the answer. */
  readonly abortedAt: string | undefined
}

export type RequestFacts = Omit<RecordedRequest, 'n' | 'at' | 'status' | 'endedAt' | 'abortedAt'>
export type Outcome = Partial<Pick<RecordedRequest, 'status' | 'endedAt' | 'abortedAt'>>
export type RequestPredicate = (request: RecordedRequest) => boolean

type Line =
  | { readonly line: 'request'; readonly request: RecordedRequest }
  | { readonly line: 'outcome'; readonly n: number; readonly outcome: Outcome }

interface Waiter {
  readonly check: () => boolean
}

/** Keeps every request; with a file, each is appended there before it is answered. */
export class RequestRecord {
  readonly #file: string | undefined
  #requests: RecordedRequest[] = []
  #last = 0
  readonly #keep: number
  readonly #waiters = new Set<Waiter>()

  constructor(options: { readonly file?: string | undefined; readonly keep?: number | undefined }) {
    this.#file = options.file
    this.#keep = options.keep ?? Number.POSITIVE_INFINITY
    if (this.#file !== undefined && existsSync(this.#file)) this.#load(this.#file)
  }

  list(since = 0): RecordedRequest[] {
    return this.#requests.filter((request) => request.n > since)
  }

  add(facts: RequestFacts): number {
    this.#last += 1
    const request: RecordedRequest = {
      ...facts,
      n: this.#last,
      at: new Date().toISOString(),
      status: undefined,
      endedAt: undefined,
      abortedAt: undefined,
    }
    this.#apply({ line: 'request', request })
    return request.n
  }

  settle(n: number, outcome: Outcome): void {
    this.#apply({ line: 'outcome', n, outcome })
  }

  /** Forgets what is in memory; the file and the numbering go on. */
  reset(): void {
    this.#requests = []
  }

  /**
   * The first request that fits, now or later (a request is looked at again when its outcome is
   * known). Rejects after the limit with the requests that there were.
   */
  waitFor(predicate: RequestPredicate, timeoutMs: number): Promise<RecordedRequest> {
    return new Promise((resolve, reject) => {
      const check = (): boolean => {
        const found = this.#requests.find(predicate)
        if (!found) return false
        this.#waiters.delete(waiter)
        clearTimeout(timer)
        resolve(found)
        return true
      }
      const waiter: Waiter = { check }
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter)
        reject(new Error(`No fitting request within ${timeoutMs} ms. Requests:\n${this.summary()}`))
      }, timeoutMs)
      if (!check()) this.#waiters.add(waiter)
    })
  }

  summary(): string {
    const lines = this.#requests.slice(-30).map((request) => {
      const step = request.step ? `${request.step.script}[${request.step.index}]` : '-'
      const end = request.abortedAt ? 'aborted' : request.endedAt ? 'ended' : 'open'
      return `${request.n} ${request.method} ${request.path} session=${request.session ?? '-'} messages=${request.messages.length} step=${step} status=${request.status ?? '-'} ${end} user=${JSON.stringify((request.userText ?? '').slice(0, 60))}`
    })
    return lines.join('\n') || '(none)'
  }

  #apply(line: Line): void {
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(line)}\n`)
    this.#remember(line)
    for (const waiter of [...this.#waiters]) waiter.check()
  }

  #remember(line: Line): void {
    if (line.line === 'request') {
      this.#requests.push(line.request)
      if (this.#requests.length > this.#keep) this.#requests.shift()
      return
    }
    // Outcomes belong to young requests: looking from the end keeps a long record quick.
    for (let index = this.#requests.length - 1; index >= 0; index -= 1) {
      const request = this.#requests[index]
      if (request?.n !== line.n) continue
      this.#requests[index] = { ...request, ...line.outcome }
      return
    }
  }

  #load(file: string): void {
    const content = readFileSync(file, 'utf8')
    if (content !== '' && !content.endsWith('\n')) appendFileSync(file, '\n')
    for (const text of content.split('\n')) {
      const line = parseLine(text)
      if (!line) continue
      if (line.line === 'request') this.#last = Math.max(this.#last, line.request.n)
      this.#remember(line)
    }
  }
}

function parseLine(text: string): Line | undefined {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text) as Line
  } catch {
    // The last line of a server that was killed may be half written; the rest of the file counts.
    return undefined
  }
}

/** Headers for the record: what could be a key keeps only its length. */
export function maskHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string> {
  const masked: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue
    const text = typeof value === 'string' ? value : value.join(', ')
    masked[name] = /key|auth|token|cookie|secret/iu.test(name)
      ? `(${text.length} characters)`
      : text
  }
  return masked
}
