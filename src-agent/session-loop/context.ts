import { join } from 'node:path'
import type { AgentItem, SessionSpec } from '../../src-shared/agent-wire.ts'
import type { AgentEventBody } from '../../src-shared/timeline.ts'
import { createGit, type Git } from '../git/run.ts'
import type { Clock } from '../port/clock.ts'
import type { Outgoing } from '../port/outgoing.ts'
import type { Marker } from '../process-tree/index.ts'
import type { DriverSpec } from '../runtimes/driver.ts'
import type { Report, WorkspacePlan } from '../workspace/report.ts'

export type Log = (
  level: 'debug' | 'info' | 'warn' | 'error',
  message: string,
  fields?: Record<string, unknown>,
) => void

/** What every part of one session's loop works with. */
export type LoopContext = {
  readonly spec: SessionSpec
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
  const { spec, dataDir, outgoing, clock } = options
  const env = sessionEnvironment(options.env, spec.env)
  return {
    ...options,
    env,
    git: createGit({ env }),
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
    marker: { session: spec.session, nonce: spec.nonce },
    report: timelineReport(outgoing, clock, spec.resume !== null),
    scratchDir: scratchDirOf(dataDir, spec.nonce),
  }
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

/** Tells the steps of a resume as such, and those of a first start as notices. */
function timelineReport(outgoing: Outgoing, clock: Clock, isResume: boolean): Report {
  const startedAt = new Map<string, number>()
  const put = (event: AgentEventBody) => outgoing.item({ type: 'event', at: clock.now(), event })
  return {
    step(step, status, detail) {
      const now = clock.monotonic()
      if (status === 'started') startedAt.set(step, now)
      if (!isResume) {
        if (status !== 'started' || detail === undefined) return
        put({ kind: 'notice', level: 'info', code: `workspace.${step}`, text: detail })
        return
      }
      // One entry a step is enough: when it is over.
      if (status === 'started') return
      put({
        kind: 'resume.step',
        step,
        status,
        durationMs: Math.round(now - (startedAt.get(step) ?? now)),
        ...(detail === undefined ? {} : { detail }),
      })
    },
    notice: (level, code, text) => put({ kind: 'notice', level, code, text }),
  }
}

type WithoutTime<T> = T extends unknown ? Omit<T, 'at'> : never

/** Tells an item of now. */
export function timed({ outgoing, clock }: LoopContext, item: WithoutTime<AgentItem>): void {
  outgoing.item({ ...item, at: clock.now() })
}
