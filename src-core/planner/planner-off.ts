import type { Settings } from '../../src-shared/settings.ts'
import type { ProjectRow } from '../storage/rows.ts'

/** Why the planner does not try the questions of a project, for people; null where it does. */
export function plannerOff(
  project: Pick<ProjectRow, 'planner' | 'sources'> | undefined,
  { planner }: Pick<Settings, 'planner'>,
): string | null {
  if (!planner.enabled) return 'the planner is switched off'
  if (project?.planner !== true) return 'the planner is switched off for this project'
  return project.sources.length === 0 ? 'the project names no sources for the planner' : null
}
