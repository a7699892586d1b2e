import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type AgentItem,
  type Delivery,
  type FromAgent,
  SessionSpec,
} from '../../src-shared/agent-wire.ts'
import { type DeliveryId, InputId, LeaseId } from '../../src-shared/ids.ts'
import type { AgentEventBody } from '../../src-shared/timeline.ts'
import { type Clock, systemClock } from '../port/clock.ts'
import { Outgoing } from '../port/outgoing.ts'
import type { Sample } from '../workspace/sample-repository.ts'
import { RecordingDriver } from './recording-driver.ts'
import { SessionLoop } from './session-loop.ts'

// A session loop over real git and a driver in the test's hand, with a host that stores everything at once.

export function makeSpec(sample: Sample, changes: Record<string, unknown> = {}): SessionSpec {
  const plan = sample.plan()
  return SessionSpec.parse({
    session: plan.session,
    lease: randomUUID(),
    nonce: randomBytes(8).toString('hex'),
    ticket: plan.ticket,
    ticketTitle: 'Title',
    projectName: 'Shop',
    repo: plan.repo,
    baseBranch: plan.baseBranch,
    branch: plan.branch,
    pushedCommit: null,
    mirrorDir: plan.mirrorDir,
    workspaceDir: plan.workspaceDir,
    setup: null,
    runtime: 'claude-code',
    runtimePath: null,
    acp: null,
    model: null,
    runtimeArgs: [],
    env: {},
    permission: 'full',
    grants: [],
    prompt: 'Be kind.',
    task: 'run',
    parked: null,
    kept: [],
    resume: null,
    ...changes,
  })
}

export function makeDelivery(text: string): Delivery {
  return {
    id: randomUUID() as DeliveryId,
    inputs: [InputId.parse(randomUUID())],
    text,
  }
}

export async function until<T>(
  what: string,
  look: () => T | undefined | false | null | Promise<T | undefined | false | null>,
  limitMs = 10_000,
): Promise<T> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const value = await look()
    if (value !== undefined && value !== false && value !== null) return value
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`)
    await sleep(5)
  }
}

export class LoopHarness {
  readonly driver: RecordingDriver
  readonly items: AgentItem[] = []
  readonly live: FromAgent[] = []
  readonly loop: SessionLoop
  readonly outgoing: Outgoing
  ended = false

  constructor(sample: Sample, options: HarnessOptions) {
    const { spec, driver = new RecordingDriver(), stores = true, clock = systemClock } = options
    this.driver = driver
    this.outgoing = new Outgoing({
      lease: LeaseId.parse(spec.lease),
      clock,
      send: (message) => {
        if (message.type !== 'items') {
          this.live.push(message)
          return
        }
        this.items.push(...message.items)
        const { from, items } = message
        if (stores) queueMicrotask(() => this.outgoing.ack(from + items.length - 1))
      },
    })
    this.loop = new SessionLoop({
      spec,
      dataDir: options.dataDir ?? sample.dataDir,
      env: { ...sample.env, BALLET_AGENT: 'agent-1' },
      driver,
      outgoing: this.outgoing,
      clock,
      log: () => undefined,
      onRuntime: () => undefined,
      onEnded: () => {
        this.ended = true
      },
    })
  }

  start(): this {
    this.loop.start()
    return this
  }

  async ready(): Promise<this> {
    this.start()
    await this.untilItem('ready')
    return this
  }

  async untilItem<K extends AgentItem['type']>(type: K): Promise<AgentItem & { type: K }> {
    return until(
      `the item ${type}`,
      () => this.items.find((item): item is AgentItem & { type: K } => item.type === type),
      15_000,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.story().join('\n')}`)
    })
  }

  untilAsked(what: string, times = 1): Promise<true> {
    return until(
      `the runtime to be asked: ${what}`,
      () => this.driver.asked.filter((asked) => asked === what).length >= times,
    )
  }

  events<K extends AgentEventBody['kind']>(kind: K): (AgentEventBody & { kind: K })[] {
    return this.items.flatMap((item) =>
      item.type === 'event' && item.event.kind === kind
        ? [item.event as AgentEventBody & { kind: K }]
        : [],
    )
  }

  /** What was told, one word an item. */
  story(): string[] {
    return this.items.map((item) => (item.type === 'event' ? item.event.kind : item.type))
  }
}

type HarnessOptions = {
  spec: SessionSpec
  driver?: RecordingDriver
  stores?: boolean
  clock?: Clock
  dataDir?: string
}
