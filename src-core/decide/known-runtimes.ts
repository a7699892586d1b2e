import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import {
  ACP_PRESETS,
  type AcpAgent,
  acpAgentOf,
  OwnRuntime,
  type RuntimeName,
  titleOfRuntime,
} from '../../src-shared/runtimes.ts'
import type { Settings } from '../../src-shared/settings.ts'
import type { ProjectRow } from '../storage/rows.ts'

type Agents = Readonly<Record<string, AcpAgent>>

/** Refuses an agent of the Agent Client Protocol that neither Ballet nor the settings know, with those there are. */
export function checkRuntimeName(runtime: RuntimeName, agents: Agents): Result<undefined> {
  if (OwnRuntime.safeParse(runtime).success || acpAgentOf(runtime, agents) !== null) {
    return accept(undefined)
  }
  const names = [...new Set([...Object.keys(ACP_PRESETS), ...Object.keys(agents)])].sort()
  return refuse(
    'runtime.unknown',
    `There is no runtime ${runtime}.`,
    `There are ${names.map((name) => `acp:${name}`).join(', ')}. Add another with: ballet settings set acpAgents.${runtime.slice('acp:'.length)} "its command"`,
  )
}

/** The runtimes that a project names, with what names each: the project itself or a stage of it. */
export function runtimesOf({
  name,
  runtime,
  stages,
}: Pick<ProjectRow, 'name' | 'runtime' | 'stages'>): Map<RuntimeName, string> {
  const project = `the project ${JSON.stringify(name)}`
  const used = new Map<RuntimeName, string>([[runtime, project]])
  for (const [stage, { runtime: other }] of Object.entries(stages)) {
    if (other !== undefined && !used.has(other)) used.set(other, `the stage ${stage} of ${project}`)
  }
  return used
}

/** The runtimes that are meant to work here: those of the projects, and the planner's; without a project the default. */
export function runtimesInUse(
  projects: readonly Pick<ProjectRow, 'name' | 'runtime' | 'stages' | 'planner'>[],
  { planner }: Pick<Settings, 'planner'>,
): ReadonlySet<RuntimeName> {
  const used = new Set(projects.flatMap((project) => [...runtimesOf(project).keys()]))
  if (projects.length === 0) used.add('claude-code')
  const isPlanned = planner.enabled && projects.some((project) => project.planner)
  return isPlanned ? used.add(planner.runtime) : used
}

/**
 * Refuses to take away an agent that a project, the planner or a session that is not over runs with, where no preset
 * of the same name takes its place.
 */
export function checkAgentsLeave(
  names: readonly string[],
  users: { projects: readonly ProjectRow[]; sessions: ReadonlyMap<RuntimeName, string> },
  { planner }: Pick<Settings, 'planner'>,
): Result<undefined> {
  for (const name of names) {
    if (Object.hasOwn(ACP_PRESETS, name)) continue
    const runtime: RuntimeName = `acp:${name}`
    const project = users.projects.find((each) => runtimesOf(each).has(runtime))
    const session = users.sessions.get(runtime)
    const user =
      (project && runtimesOf(project).get(runtime)) ??
      (session === undefined ? undefined : `the session of ${session}`) ??
      (planner.runtime === runtime ? 'the planner' : undefined)
    if (user === undefined) continue
    return refuse(
      'runtime.in-use',
      `The agent ${runtime} is used by ${user}.`,
      `Give ${user} another runtime first.`,
    )
  }
  return accept(undefined)
}

/** Why a runtime cannot answer as the planner, for people. */
export const noPlanner = (runtime: RuntimeName, agents: Agents = {}) =>
  `${titleOfRuntime(runtime, agents)} cannot answer as the planner: it has no run that only reads`
