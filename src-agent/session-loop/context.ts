import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentItem, SessionSpec } from '../../src-shared/agent-wire.ts'
import type { AgentEventBody } from '../../src-shared/timeline.ts'
import { createGit, type Git } from '../git/run.ts'
import { withPushed } from '../parking/kept-work.ts'
import type { Clock } from '../port/clock.ts'
import type { Outgoing } from '../port/outgoing.ts'
import type { Marker } from '../process-tree/index.ts'
import type { DriverSpec } from '../runtimes/driver.ts'
import { refusalOf } from '../workspace/failure.ts'
import type { Report, WorkspacePlan } from '../workspace/report.ts'

export type Log = (
  level: 'debug' | 'info' | 'warn' | 'error',
  message: string,
  fields?: Record<string, unknown>,
) => void

/** What every part of one session's loop works with. */
export type LoopContext = {
  readonly spec: SessionSpec
  /** What is kept of the session; also where its workspace is there, in which it went on since. */
  readonly kept: SessionSpec['parked']
  /** What was pushed under this lease, last. */
  readonly pushed: { last: string | null }
  /** Names of kept files without which this lease restored the workspace: they stay where they are. */
  readonly leftOut: Set<string>
  readonly dataDir: string
  /** The whole environment of git, the setup command and the runtime. */
  readonly env: Readonly<Record<string, string>>
  readonly git: Git
  readonly plan: WorkspacePlan
  readonly marker: Marker
  readonly report: Report
  readonly scratchDir: string
  readonly outgoing: Outgoing
  readonly clock: Clock
  readonly log: Log
}

export type ContextOptions = Pick<
  LoopContext,
  'spec' | 'dataDir' | 'outgoing' | 'clock' | 'log'
> & {
  /** The environment that the host gave, before the project's own. */
  env: Readonly<Record<string, string>>
}

export function createContext(options: ContextOptions): LoopContext {
  const { dataDir, outgoing, clock } = options
  const spec = withoutOutdated(options.spec)
  const env = sessionEnvironment(options.env, spec.env)
  const marker = { session: spec.session, nonce: spec.nonce }
  return {
    ...options,
    spec,
    kept: options.spec.parked,
    pushed: { last: null },
    leftOut: new Set(),
    env,
    git: createGit({ env, marker }),
    plan: {
      dataDir,
      session: spec.session,
      ticket: spec.ticket,
      repo: spec.repo,
      baseBranch: spec.baseBranch,
      branch: spec.branch,
      pushedCommit: spec.pushedCommit,
      mirrorDir: spec.mirrorDir,
      workspaceDir: spec.workspaceDir,
    },
    marker,
    report: timelineReport(outgoing, clock, kindOfSteps(spec)),
    scratchDir: scratchDirOf(dataDir, spec.nonce),
  }
}

/** What was kept is behind what an earlier lease restored and went on with, as long as that is there. */
function withoutOutdated(spec: SessionSpec): SessionSpec {
  const isThere = spec.parked?.restored === true && existsSync(spec.workspaceDir)
  return isThere ? { ...spec, parked: null } : spec
}

/** What the session pushed after it was parked last; null where that is nothing. */
export function pushedSince({
  kept,
  pushed,
  plan,
}: Pick<LoopContext, 'kept' | 'pushed' | 'plan'>): string | null {
  return pushed.last ?? (kept?.behind === true ? plan.pushedCommit : null)
}

/** What is kept of the session and of use by now, with what it pushed since; null when nothing is. */
export function keptNow({ kept, pushed, plan }: LoopContext): SessionSpec['parked'] {
  if (kept === null || kept.work.snapshot === null) return null
  const since = pushedSince({ kept, pushed, plan })
  return since === null ? kept : { ...kept, work: withPushed(kept.work, since), behind: true }
}

/** The project's variables come over the host's; what is Ballet's own reaches nobody. */
export function sessionEnvironment(
  ...parts: readonly Readonly<Record<string, string>>[]
): Record<string, string> {
  const merged: Record<string, string> = Object.assign({}, ...parts)
  return Object.fromEntries(Object.entries(merged).filter(([name]) => !name.startsWith('BALLET_')))
}

/** Each lease has a nonce of its own, so who knows a lease's marker knows its folder. */
export function scratchDirOf(dataDir: string, nonce: Marker['nonce']): string {
  return join(dataDir, 'scratch', nonce)
}

export function driverSpecOf(
  context: LoopContext,
  executable: string,
  { grants, mcpServers }: Pick<DriverSpec, 'grants' | 'mcpServers'>,
): DriverSpec {
  const { spec } = context
  return {
    cwd: spec.workspaceDir,
    executable,
    model: spec.model,
    args: spec.runtimeArgs,
    env: context.env,
    marker: context.marker,
    permission: spec.permission,
    grants,
    prompt: spec.prompt,
    mcpServers,
    scratchDir: context.scratchDir,
  }
}

/** How the steps of a report stand in the timeline; `notice`: only what there is to say of one. */
type StepKind = 'park.step' | 'resume.step' | 'resume.step, when it is over' | 'notice'

function kindOfSteps({ resume, parked }: SessionSpec): StepKind {
  if (parked !== null) return 'resume.step'
  // One entry a step is enough where they are short.
  return resume === null ? 'notice' : 'resume.step, when it is over'
}

/** A report to the session's timeline. */
export function timelineReport(outgoing: Outgoing, clock: Clock, stepKind: StepKind): Report {
  const startedAt = new Map<string, number>()
  const put = (event: AgentEventBody) => outgoing.item({ type: 'event', at: clock.now(), event })
  const kind = stepKind === 'park.step' ? 'park.step' : 'resume.step'
  return {
    step(step, status, detail) {
      const now = clock.monotonic()
      const begin = startedAt.get(step) ?? now
      const words = detail === undefined ? {} : { detail }
      if (status === 'started') startedAt.set(step, now)
      if (stepKind === 'notice') {
        if (status !== 'started' || detail === undefined) return
        put({ kind: 'notice', level: 'info', code: `workspace.${step}`, text: detail })
      } else if (status !== 'started') {
        put({ kind, step, status, durationMs: Math.round(now - begin), ...words })
      } else if (stepKind !== 'resume.step, when it is over') {
        put({ kind, step, status, ...words })
      }
    },
    notice: (level, code, text) => put({ kind: 'notice', level, code, text }),
  }
}

/** Does a part of the work as a step that is told; one that fails says why. `inWords` says what came of it. */
export async function asStep<T>(
  report: Report,
  step: string,
  work: () => Promise<T>,
  inWords?: (value: T) => string,
): Promise<T> {
  report.step(step, 'started')
  try {
    const value = await work()
    report.step(step, 'done', inWords?.(value))
    return value
  } catch (error) {
    report.step(step, 'failed', refusalOf(error, `the step ${step}`).message)
    throw error
  }
}

type WithoutTime<T> = T extends unknown ? Omit<T, 'at'> : never

/** Tells an item of now. */
export function timed({ outgoing, clock }: LoopContext, item: WithoutTime<AgentItem>): void {
  outgoing.item({ ...item, at: clock.now() })
}
