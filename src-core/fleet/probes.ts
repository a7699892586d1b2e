import type { z } from 'zod'
import type { Probe, ProbeFinding } from '../../src-shared/agent-wire.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import type { CorePorts } from '../ports.ts'
import type { AgentMessage } from './agent-life.ts'
import type { AgentSlot } from './agent-slot.ts'

type ProbeOf = z.infer<typeof Probe>
type Finding = z.infer<typeof ProbeFinding>
type FindingOf<P extends ProbeOf> = Extract<Finding, { kind: P['kind'] }>

/** What an agent gets on top of a probe's limit to say that the limit passed. */
const GRACE_MS = 2_000

type Asked = { slot: AgentSlot | null; settle(result: Result<Finding> | 'lost'): void }

/**
 * Questions that any agent can answer, each with a limit; an agent's death hands its questions to another one, but for
 * a run of the planner.
 */
export class Probes {
  readonly #ports: Pick<CorePorts, 'clock' | 'ids'>
  readonly #slots: () => readonly AgentSlot[]
  readonly #asked = new Map<string, Asked>()
  readonly #forAgent = new Set<() => void>()
  #closed = false

  constructor(ports: Pick<CorePorts, 'clock' | 'ids'>, slots: () => readonly AgentSlot[]) {
    this.#ports = ports
    this.#slots = slots
  }

  /** Refused with `fleet.offline` when no agent is up within the limit, `probe.timeout` when none answers. */
  async ask<P extends ProbeOf>(probe: P, limitMs: number): Promise<Result<FindingOf<P>>> {
    const { clock } = this.#ports
    const until = clock.monotonic() + limitMs
    for (;;) {
      const left = until - clock.monotonic()
      if (left <= 0) return tooLate(probe, limitMs)
      const slot = this.#choose()
      if (slot === undefined) {
        if (this.#closed || !(await this.#agentUp(left))) return offline
        continue
      }
      const result = await this.#askSlot(slot, probe, left)
      if (result === 'lost' && probe.kind === 'planner') return lostPlanner(slot)
      if (result === 'lost') continue
      if (result === 'timeout') return tooLate(probe, limitMs)
      if (!result.ok) return result
      if (result.value.kind !== probe.kind) {
        return refuse(
          'probe.mismatch',
          `${slot.id} answered ${probe.kind} with ${result.value.kind}.`,
          'Try again; report it when it repeats.',
        )
      }
      return accept(result.value as FindingOf<P>)
    }
  }

  found(message: Extract<AgentMessage, { type: 'probe.found' }>): void {
    const asked = this.#asked.get(message.id)
    if (asked === undefined) return
    if (message.finding !== null) asked.settle(accept(message.finding))
    else {
      asked.settle({
        ok: false,
        refusal: message.refusal ?? {
          code: 'probe.failed',
          message: 'The agent that looked ended its look without a finding and without a reason.',
          hint: 'Try again.',
        },
      })
    }
  }

  up(): void {
    for (const wake of [...this.#forAgent]) wake()
  }

  lost(slot: AgentSlot): void {
    for (const asked of [...this.#asked.values()]) if (asked.slot === slot) asked.settle('lost')
  }

  close(): void {
    this.#closed = true
    for (const asked of [...this.#asked.values()]) asked.settle(offline)
    this.up()
  }

  /** An idle agent, or a busy one: both answer beside their session. */
  #choose(): AgentSlot | undefined {
    if (this.#closed) return undefined
    const up = this.#slots().filter((slot) => slot.isUp)
    return up.find((slot) => slot.isIdle) ?? up[0]
  }

  #agentUp(limitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const done = (up: boolean) => {
        cancel()
        this.#forAgent.delete(wake)
        resolve(up)
      }
      const wake = () => done(!this.#closed)
      const cancel = this.#ports.clock.after(limitMs, () => done(false))
      this.#forAgent.add(wake)
    })
  }

  #askSlot(
    slot: AgentSlot,
    probe: ProbeOf,
    limitMs: number,
  ): Promise<Result<Finding> | 'lost' | 'timeout'> {
    return new Promise((resolve) => {
      const id = this.#ports.ids.uuid()
      const done = (result: Result<Finding> | 'lost' | 'timeout') => {
        cancel()
        this.#asked.delete(id)
        resolve(result)
      }
      const cancel = this.#ports.clock.after(limitMs + GRACE_MS, () => done('timeout'))
      this.#asked.set(id, { slot, settle: done })
      slot.send({ type: 'probe', id, probe, limitMs: Math.max(1, Math.floor(limitMs)) })
    })
  }
}

const offline: Result<never> = refuse(
  'fleet.offline',
  'No agent is up.',
  'Wait for the fleet to start, or see what keeps it from starting with: ballet agents',
)

/** What it started may still run, in the folder that another try would use. */
const lostPlanner = ({ id }: AgentSlot): Result<never> =>
  refuse('probe.lost', `${id} died while the planner tried.`, 'Answer the question.')

const tooLate = (probe: ProbeOf, limitMs: number): Result<never> =>
  refuse(
    'probe.timeout',
    `No agent answered ${probe.kind} within ${Math.round(limitMs / 1_000)} s.`,
    'Try again.',
  )
