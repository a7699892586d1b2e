import type { StageSettings } from '../../src-shared/records.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import type { RuntimeName } from '../../src-shared/runtimes.ts'
import type { ProjectRow, SessionRow } from '../storage/rows.ts'

type Project = Pick<ProjectRow, 'runtime' | 'model' | 'runtimeArgs' | 'stages'>

/** What the project says of a stage; nothing where it has no words for it. */
export function stageOf({ stages }: Pick<ProjectRow, 'stages'>, stage: string): StageSettings {
  return Object.hasOwn(stages, stage) ? (stages[stage] ?? {}) : {}
}

/** The stage of a ticket whose project says nothing of stages. */
const USUAL_STAGE = 'implement'

/** Refuses a stage that the project does not have, with those that it has. */
export function checkStage(
  { name, stages }: Pick<ProjectRow, 'name' | 'stages'>,
  stage: string,
): Result<undefined> {
  if (stage === USUAL_STAGE || Object.hasOwn(stages, stage)) return accept(undefined)
  const known = [...new Set([USUAL_STAGE, ...Object.keys(stages)])].sort().join(', ')
  return refuse(
    'stage.unknown',
    `The project ${JSON.stringify(name)} has no stage ${stage}.`,
    `Its stages are: ${known}. Another one is added in the project's settings, or with: ballet project edit ${JSON.stringify(name)} --stage '${stage}:model=…'`,
  )
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
