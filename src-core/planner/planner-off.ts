import type { RuntimeCapabilities } from '../../src-shared/runtimes.ts'
import type { Settings } from '../../src-shared/settings.ts'
import { noPlanner } from '../decide/known-runtimes.ts'
import type { ProjectRow } from '../storage/rows.ts'

/** Why the planner does not try the questions of a project, for people; null where it does. */
export function plannerOff(
  project: Pick<ProjectRow, 'planner' | 'sources'> | undefined,
  { planner, acpAgents }: Pick<Settings, 'planner' | 'acpAgents'>,
  /** Of its runtime; undefined while no agent has told them. */
  capabilities: RuntimeCapabilities | undefined,
): string | null {
  if (!planner.enabled) return 'the planner is switched off'
  if (project?.planner !== true) return 'the planner is switched off for this project'
  if (project.sources.length === 0) return 'the project names no sources for the planner'
  return capabilities?.planner === false ? noPlanner(planner.runtime, acpAgents) : null
}
