import type { Delivery, RequestFacts, RuntimeReport } from '../../src-shared/agent-wire.ts'
import type { DeliveryId, RequestId } from '../../src-shared/ids.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import type {
  Driver,
  DriverEvent,
  DriverSignal,
  DriverSpec,
  Fate,
  ReadOnlyAnswer,
  ReadOnlyRun,
  Recovery,
  ResumeFacts,
  SessionStateFiles,
} from '../runtimes/driver.ts'

/** What a resume finds; the fate is that of every open delivery. */
export type Plan = { signals: readonly DriverSignal[]; fate?: Fate }

type Hear = (signal: DriverSignal) => void

const NO_USAGE = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
const now = () => new Date().toISOString()

/** A driver in a test's hand: it records what it is asked, and tells what the test says. */
export class RecordingDriver implements Driver {
  readonly runtime = 'claude-code'
  readonly capabilities = {
    resume: 'proven',
    steer: true,
    permissionRequests: true,
    cost: true,
    images: false,
    ...{ moves: true, mcp: true, usage: true, planner: true },
  } as const
  readonly versions = { minimum: null, tested: ['1.0.0'] }
  /** What was asked, in order: `start`, `resume`, `send <text>`, `interrupt`, `stop`. */
  readonly asked: string[] = []
  readonly specs: DriverSpec[] = []
  readonly facts: ResumeFacts[] = []
  state?: SessionStateFiles
  report: Partial<RuntimeReport> = {}
  conversation = 'conversation-1'
  /** How the next launches go; each is used once. */
  launches: ('hang' | Error | Plan)[] = []
  /** Answers the next sends; each is used once. */
  sends: ('hang' | Error)[] = []
  /** Whether an interrupt ends the turn. */
  obeysInterrupts = true
  /** How a turn ends that is interrupted. */
  interrupted: { cut?: true } = {}
  #hear: Hear = () => undefined
  #isUp = false

  async find(): Promise<RuntimeReport> {
    this.asked.push('find')
    return {
      runtime: 'claude-code',
      path: '/usr/bin/fake',
      version: '1.0.0',
      loggedIn: true,
      login: null,
      versions: this.versions,
      problem: null,
      notice: null,
      ...this.report,
    }
  }

  /** How a read-only run goes. */
  reads: (run: ReadOnlyRun) => Promise<ReadOnlyAnswer> = async () => ({ text: '', costUsd: 0 })

  readOnlyRun(run: ReadOnlyRun): Promise<ReadOnlyAnswer> {
    this.asked.push('read')
    return this.reads(run)
  }

  async start(spec: DriverSpec, hear: Hear) {
    this.asked.push('start')
    return (await this.#launch(spec, null, hear)).session
  }

  async resume(spec: DriverSpec, facts: ResumeFacts, hear: Hear) {
    this.asked.push('resume')
    this.facts.push(facts)
    return this.#launch(spec, facts, hear)
  }

  get isUp(): boolean {
    return this.#isUp
  }

  begin(...deliveries: DeliveryId[]): void {
    this.#hear({ type: 'turn.started', at: now(), deliveries })
  }

  /** Begins the turn of a delivery and keeps it. */
  take(delivery: Delivery): void {
    this.begin(delivery.id)
    this.keep(delivery.id)
  }

  keep(delivery: DeliveryId): void {
    this.#hear({ type: 'delivered', at: now(), deliveries: [delivery] })
  }

  /** The running turn takes a steered delivery and keeps it. */
  join(delivery: DeliveryId): void {
    this.beginJoin(delivery)
    this.keep(delivery)
  }

  beginJoin(delivery: DeliveryId): void {
    this.#hear({ type: 'turn.joined', at: now(), deliveries: [delivery] })
  }

  withdraw(delivery: DeliveryId): void {
    this.#hear({ type: 'withdrawn', at: now(), deliveries: [delivery] })
  }

  tell(event: DriverEvent): void {
    this.#hear({ type: 'event', at: now(), event })
  }

  ask(event: DriverEvent, request: RequestFacts): void {
    this.#hear({ type: 'event', at: now(), event, request })
  }

  unask(request: RequestId): void {
    this.#hear({ type: 'request.withdrawn', at: now(), request })
  }

  live(block: string, offset: number, text: string): void {
    this.#hear({ type: 'live', offset, block: { block, kind: 'assistant.text', text } })
  }

  end(
    reason: 'completed' | 'interrupted' | 'failed' | 'killed' = 'completed',
    more: { cut?: true } = {},
  ): void {
    this.#hear({
      ...more,
      type: 'turn.ended',
      at: now(),
      reason,
      durationMs: 5,
      usage: NO_USAGE,
      costUsd: 0.5,
    })
  }

  die(): void {
    this.#isUp = false
    this.#hear({ type: 'exited', at: now(), expected: false, detail: 'It was killed.' })
  }

  async #launch(spec: DriverSpec, facts: ResumeFacts | null, hear: Hear) {
    this.specs.push(spec)
    const plan = this.launches.shift()
    if (plan === 'hang') await new Promise(() => undefined)
    if (plan instanceof Error) throw plan
    this.#hear = hear
    this.#isUp = true
    const { signals, fate = 'unknown' } = plan === undefined || plan === 'hang' ? NOTHING : plan
    const fates = new Map((facts?.openDeliveries ?? []).map(({ id }) => [id, fate]))
    const recovery: Recovery = { signals, fates }
    return { session: this.#session(), recovery }
  }

  #session() {
    return {
      conversation: this.conversation,
      version: '1.0.0',
      processes: async () => [],
      send: async (delivery: Delivery) => {
        this.asked.push(`send ${delivery.text}`)
        const plan = this.sends.shift()
        if (plan === 'hang') await new Promise(() => undefined)
        if (plan instanceof Error) throw plan
      },
      steer: async (delivery: Delivery) => {
        this.asked.push(`steer ${delivery.text}`)
        const plan = this.sends.shift()
        if (plan === 'hang') await new Promise(() => undefined)
        if (plan instanceof Error) throw plan
      },
      interrupt: async () => {
        this.asked.push('interrupt')
        if (this.obeysInterrupts) this.end('interrupted', this.interrupted)
      },
      answerRequest: async (request: string) => {
        this.asked.push(`answer ${request}`)
        if (!this.#isUp) throw new BalletError({ code: 'runtime.exited', message: 'gone' })
      },
      stop: async () => {
        this.asked.push('stop')
        const wasUp = this.#isUp
        this.#isUp = false
        if (wasUp) this.#hear({ type: 'exited', at: now(), expected: true, detail: 'stopped' })
      },
    }
  }
}

const NOTHING: Plan = { signals: [] }
