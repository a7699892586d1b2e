import type { z } from 'zod'
import {
  AGENT_WIRE_VERSION,
  type AgentItem,
  type BlobText,
  type FromAgent,
  type Probe,
  type ProbeFinding,
  type RequestFacts,
  type SessionSpec,
  ToAgent,
} from '../../src-shared/agent-wire.ts'
import type { Channel } from '../../src-shared/channel.ts'
import type { AgentId, RequestId } from '../../src-shared/ids.ts'
import type { ParkedWork } from '../../src-shared/parking.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import type { Runtime, RuntimeCapabilities } from '../../src-shared/runtimes.ts'
import type { AgentProcess, Clock, Launcher } from '../ports.ts'
import { linkedChannel } from './linked-channel.ts'
import { until } from './until.ts'

type Told = z.infer<typeof ToAgent>
type Item = z.infer<typeof AgentItem>
type WithoutTime<T> = T extends unknown ? Omit<T, 'at'> : never
export type UntimedItem = WithoutTime<Item>

/** Answers a probe; undefined leaves it unanswered. */
export type ProbeAnswer = (
  probe: z.infer<typeof Probe>,
) => z.infer<typeof ProbeFinding> | Refusal | undefined

const USAGE = { inputTokens: 10, outputTokens: 20, cacheReadTokens: 5, cacheWriteTokens: 1 }

/** An agent that records what it is told, decoded, and says what a test makes it say. */
export class FakeAgent {
  readonly told: Told[] = []
  readonly spec: () => z.infer<typeof SessionSpec>
  /** Ends in order when it is told to. */
  obedient = true
  readonly capabilities: RuntimeCapabilities
  /** Goes on when it is killed, as a process that waits for a disk does. */
  survives = false
  #next = 1
  readonly #more: () => readonly Runtime[]
  #lease: string | null = null
  readonly #channel: Channel
  readonly #clock: Clock
  readonly #exit: (exit: { code: number | null; reason: string }) => void

  constructor(
    channel: Channel,
    clock: Clock,
    answer: () => ProbeAnswer,
    capabilities: RuntimeCapabilities,
    more: () => readonly Runtime[],
    exit: (exit: { code: number | null; reason: string }) => void,
  ) {
    this.#channel = channel
    this.#clock = clock
    this.#exit = exit
    this.capabilities = capabilities
    this.#more = more
    this.spec = () => {
      const start = this.told.filter((message) => message.type === 'session.start').at(-1)
      if (start === undefined) throw new Error('the agent was told of no session')
      return start.spec
    }
    channel.onMessage((raw) => {
      const message = ToAgent.parse(raw)
      this.told.push(message)
      if (message.type === 'session.start') {
        this.#lease = message.spec.lease
        this.#next = 1
      }
      if (message.type === 'shutdown' && this.obedient) this.die('ended in order', 0)
      if (message.type !== 'probe') return
      const found = answer()(message.probe)
      if (found === undefined) return
      const refusal = 'code' in found ? found : null
      const finding = 'code' in found ? null : found
      this.say({ type: 'probe.found', id: message.id, finding, refusal })
    })
  }

  /** What it was told of one type. */
  heard<T extends Told['type']>(type: T): Extract<Told, { type: T }>[] {
    return this.told.filter(
      (message): message is Extract<Told, { type: T }> => message.type === type,
    )
  }

  say(message: z.input<typeof FromAgent>): void {
    this.#channel.send(message)
  }

  sayAnything(message: unknown): void {
    this.#channel.send(message)
  }

  hello(): void {
    this.say({
      type: 'hello',
      wire: AGENT_WIRE_VERSION,
      process: { pid: 4_000, startTime: '1' },
      runtimes: [
        { runtime: 'claude-code', capabilities: this.capabilities, versions: SAMPLE_VERSIONS },
        ...this.#more(),
      ],
    })
  }

  heartbeat(lease: string | null = this.#lease): void {
    this.sayAnything({
      type: 'heartbeat',
      lease,
      runtime: [{ pid: 5_000, startTime: '2' }],
      memoryBytes: 30_000_000,
      runtimeMemoryBytes: 200_000_000,
      cpuPercent: 3.5,
    })
  }

  /** Says items as one batch; gives the batch, so that it can be said again. */
  items(items: readonly UntimedItem[], blobs: z.infer<typeof BlobText>[] = []): unknown {
    const at = this.#clock.now()
    const batch = {
      type: 'items' as const,
      lease: this.#lease,
      from: this.#next,
      items: items.map((item) => ({ ...item, at })),
      blobs,
    }
    this.#next += items.length
    this.sayAnything(batch)
    return batch
  }

  item(item: UntimedItem): unknown {
    return this.items([item])
  }

  event(event: Extract<Item, { type: 'event' }>['event']): unknown {
    return this.item({ type: 'event', event })
  }

  /** Asks for permission to run a command in the first turn. */
  ask(request: RequestId, command = 'npm test', facts?: RequestFacts): unknown {
    const input = JSON.stringify({ command })
    return this.item({
      type: 'event',
      event: {
        kind: 'request.opened',
        turn: 1,
        request,
        callId: `call of ${command}`,
        name: 'Bash',
        toolKind: 'execute',
        title: command,
        input,
      },
      ...(facts === undefined ? {} : { request: facts }),
    })
  }

  live(block: string, offset: number, text: string, turn = 1): void {
    this.sayAnything({
      type: 'live',
      lease: this.#lease,
      block,
      kind: 'assistant.text',
      turn,
      offset,
      text,
    })
  }

  ready(conversation = 'conversation-1'): void {
    this.items([
      { type: 'workspace', baseCommit: 'b'.repeat(40) },
      { type: 'ready', conversation, runtimeVersion: '2.1.332' },
    ])
  }

  /** The latest delivery that it was told of. */
  delivery() {
    const delivery = this.heard('input.deliver').at(-1)?.delivery
    if (delivery === undefined) throw new Error('the agent was given no delivery')
    return delivery
  }

  /** Takes the latest delivery and begins a turn with it. */
  beginTurn(turn: number): void {
    const { id, inputs } = this.delivery()
    this.items([
      { type: 'delivered', delivery: id },
      { type: 'event', event: { kind: 'turn.started', turn, inputs } },
    ])
  }

  endTurn(
    turn: number,
    reason: 'completed' | 'interrupted' | 'failed' | 'limit' | 'killed' = 'completed',
    more: { cut?: true } = {},
  ): void {
    this.event({
      ...more,
      kind: 'turn.ended',
      turn,
      reason,
      durationMs: 1_000,
      usage: USAGE,
      costUsd: 0.5,
    })
  }

  end(
    outcome: 'finished' | 'stopped' | 'parked' | 'failed' | 'released',
    kept = true,
    refusal?: Refusal,
  ): void {
    this.item({ type: 'ended', outcome, kept, ...(refusal === undefined ? {} : { refusal }) })
  }

  /** Has kept everything that it was told to keep; `end('parked', false)` follows when that is stored. */
  park(work: Partial<ParkedWork> = {}): void {
    const order = this.heard('session.park').at(-1)
    if (order === undefined) throw new Error('the agent was not told to park')
    const whole: ParkedWork = {
      commit: 'e'.repeat(40),
      pushed: true,
      notPushed: null,
      files: [],
      state: { conversation: 'conversation-1', runtimeVersion: '2.1.332', bytes: 5 },
      aside: [],
      snapshot: { manifest: 1 },
      ...work,
    }
    const { pushed, commit } = whole
    this.items([
      ...(pushed && commit !== null ? [{ type: 'pushed' as const, commit }] : []),
      { type: 'parked', saga: order.saga, work: whole },
    ])
  }

  /** The process is gone. */
  die(reason = 'SIGKILL', code: number | null = null): void {
    this.#channel.close()
    setImmediate(() => this.#exit({ code, reason }))
  }
}

/** Launches fake agents; the latest of each place is at hand. */
export class FakeLauncher implements Launcher {
  readonly launched: { agent: AgentId; fake: FakeAgent }[] = []
  /** Whether agents say hello by themselves. */
  greets = true
  answer: ProbeAnswer = answerProbe
  /** Of the agents that are launched from now on. */
  capabilities: RuntimeCapabilities = {
    resume: 'proven',
    steer: true,
    permissionRequests: true,
    cost: true,
    images: true,
    ...{ moves: true, mcp: true, usage: true, planner: true },
  }
  /** Runtimes that agents drive besides Claude Code, from their next hello on. */
  more: readonly Runtime[] = []
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  launch(agent: AgentId): AgentProcess {
    const [core, own] = linkedChannel()
    const listeners: ((exit: { code: number | null; reason: string }) => void)[] = []
    let over = false
    const exit = (how: { code: number | null; reason: string }) => {
      if (over) return
      over = true
      for (const listener of listeners) listener(how)
    }
    const fake = new FakeAgent(
      own,
      this.#clock,
      () => this.answer,
      this.capabilities,
      () => this.more,
      exit,
    )
    this.launched.push({ agent, fake })
    if (this.greets) fake.hello()
    return {
      channel: core,
      pid: () => 4_000 + this.launched.length,
      onExit: (listener) => listeners.push(listener),
      kill: () => {
        if (!fake.survives) fake.die('SIGKILL')
      },
    }
  }

  agent(id: string): FakeAgent {
    const found = this.launched.filter(({ agent }) => agent === id).at(-1)
    if (found === undefined) throw new Error(`${id} was never launched`)
    return found.fake
  }

  /** The agent that was told last to begin a session of the ticket. */
  holder(ticket: string): Promise<FakeAgent> {
    return until(`an agent that holds ${ticket}`, () => this.holders(ticket).at(-1))
  }

  holders(ticket: string): FakeAgent[] {
    return this.launched
      .map(({ fake }) => fake)
      .filter((fake) => fake.heard('session.start').some(({ spec }) => spec.ticket === ticket))
  }
}

export const SAMPLE_VERSIONS = { minimum: '2.1.197', tested: ['2.1.332'] }

export const answerProbe: ProbeAnswer = (probe) => {
  switch (probe.kind) {
    case 'remote':
      return { kind: 'remote', branch: probe.branch ?? 'main', commit: 'c'.repeat(40) }
    case 'runtimes':
      return {
        kind: 'runtimes',
        git: { path: '/usr/bin/git', version: '2.39.5' },
        runtimes: [
          {
            runtime: 'claude-code',
            path: '/usr/bin/claude',
            version: '2.1.332',
            loggedIn: true,
            login: 'api_key',
            versions: SAMPLE_VERSIONS,
            problem: null,
            notice: null,
          },
        ],
      }
    case 'reap':
      return { kind: 'reap', ended: [] }
    case 'workspace.remove':
      return { kind: 'workspace.remove', removed: true }
    case 'planner':
      return undefined
    case 'session.pack':
      return { kind: 'session.pack', bytes: 1_000 }
    case 'session.unpack':
      return undefined
    case 'branch.remove':
      return { kind: 'branch.remove', commit: null }
    case 'state.remove':
      return { kind: 'state.remove', files: probe.conversations.length }
    case 'things.find':
      return { kind: 'things.find', things: [] }
    case 'things.remove':
      return { kind: 'things.remove', refusals: probe.things.map(() => null) }
    case 'park.push':
      return { kind: 'park.push', commit: probe.work.commit ?? 'd'.repeat(40) }
    case 'park.keep':
      return { kind: 'park.keep', replaced: null }
    case 'workspace.push':
    case 'park.finish':
      return { kind: probe.kind, commit: 'd'.repeat(40), notices: [] }
  }
}
