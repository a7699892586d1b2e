import '../../sync/without-jit.ts'
import { Stage, type StageSettings } from '../../../src-shared/records.ts'
import type { RuntimeName } from '../../../src-shared/runtimes.ts'

/** A stage as it is typed; empty means: as the project is. */
export type StageDraft = {
  stage: string
  runtime: RuntimeName | ''
  model: string
  skill: string
  /** One a line. */
  args: string
  /** With no lines: it has no arguments, also where the project has some. */
  hasNone?: true
}

/** One argument a line. */
export const argumentsOf = (text: string): string[] =>
  text.split('\n').filter((line) => line.trim() !== '')

type Stages = Readonly<Record<string, StageSettings>>

/** The rows of a form's text, which keeps them as JSON. */
export const stageDrafts = (text: string): StageDraft[] => (text === '' ? [] : JSON.parse(text))

export const stagesText = (drafts: readonly StageDraft[]): string =>
  drafts.length === 0 ? '' : JSON.stringify(drafts)

export function textOfStages(stages: Stages): string {
  return stagesText(
    Object.entries(stages).map(([stage, { runtime, model, skill, runtimeArgs }]) => ({
      stage,
      runtime: runtime ?? '',
      model: model ?? '',
      skill: skill ?? '',
      args: runtimeArgs?.join('\n') ?? '',
      ...(runtimeArgs?.length === 0 ? { hasNone: true } : {}),
    })),
  )
}

/** What is wrong with the rows; undefined when nothing is. */
export function wrongStages(text: string): string | undefined {
  const seen = new Set<string>()
  for (const { stage } of stageDrafts(text)) {
    const name = stage.trim()
    if (!Stage.safeParse(name).success) {
      return name === ''
        ? 'Each stage needs a name, such as plan or review.'
        : `“${name.slice(0, 40)}” is no name of a stage: small letters, digits and -, beginning with a letter.`
    }
    if (seen.has(name)) return `There are two stages ${name}.`
    seen.add(name)
  }
  return undefined
}

export function stagesOf(text: string): Record<string, StageSettings> {
  return Object.fromEntries(
    stageDrafts(text).map(({ stage, runtime, model, skill, args, hasNone }) => [
      stage.trim(),
      {
        ...(runtime === '' ? {} : { runtime }),
        ...(model.trim() === '' ? {} : { model: model.trim() }),
        ...(skill.trim() === '' ? {} : { skill: skill.trim() }),
        ...(argumentsOf(args).length > 0 || hasNone === true
          ? { runtimeArgs: argumentsOf(args) }
          : {}),
      },
    ]),
  )
}

/** What changed, each stage whole, and null for one that is gone; undefined when nothing did. */
export function stagesChange(
  before: string,
  after: string,
): Record<string, StageSettings | null> | undefined {
  const [was, is] = [stagesOf(before), stagesOf(after)]
  const change: Record<string, StageSettings | null> = {}
  for (const name of Object.keys(was)) if (!(name in is)) change[name] = null
  for (const [name, settings] of Object.entries(is)) {
    if (JSON.stringify(was[name]) !== JSON.stringify(settings)) change[name] = settings
  }
  return Object.keys(change).length === 0 ? undefined : change
}
