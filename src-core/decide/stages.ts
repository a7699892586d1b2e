import type { StageSettings } from '../../src-shared/records.ts'
import type { RuntimeName } from '../../src-shared/runtimes.ts'
import type { ProjectRow, SessionRow } from '../storage/rows.ts'

type Project = Pick<ProjectRow, 'runtime' | 'model' | 'runtimeArgs' | 'stages'>

/** What the project says of a stage; nothing where it has no words for it. */
export function stageOf({ stages }: Pick<ProjectRow, 'stages'>, stage: string): StageSettings {
  return Object.hasOwn(stages, stage) ? (stages[stage] ?? {}) : {}
}

/** The runtime of a stage's new sessions. */
export function runtimeOfStage(project: Project, stage: string): RuntimeName {
  return stageOf(project, stage).runtime ?? project.runtime
}

/**
 * What a session's runtime is given: the person's choice, the stage's where the runtime is the stage's, the project's
 * where it is the project's; null: its own choice.
 */
export function modelFor(
  project: Project,
  { stage, runtime, chosenModel }: Pick<SessionRow, 'stage' | 'runtime' | 'chosenModel'>,
): string | null {
  if (chosenModel !== null) return chosenModel
  const own = runtimeOfStage(project, stage) === runtime ? stageOf(project, stage).model : undefined
  return own ?? (runtime === project.runtime ? project.model : null)
}

/** More arguments for the command line of a session's runtime; those of another runtime are none of its. */
export function argsFor(
  project: Project,
  { stage, runtime }: Pick<SessionRow, 'stage' | 'runtime'>,
): readonly string[] {
  const { runtimeArgs } = stageOf(project, stage)
  if (runtimeArgs !== undefined && runtimeOfStage(project, stage) === runtime) return runtimeArgs
  return runtime === project.runtime ? project.runtimeArgs : []
}
