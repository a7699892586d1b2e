import { InvalidArgumentError } from 'commander'
import type { z } from 'zod'
import { Stage, StageSettings } from '../src-shared/records.ts'
import { type Context, textOfFile } from './context.ts'
import { describeIssues, UsageError } from './failures.ts'
import { plainText } from './plain-text.ts'

export const STAGE_FORM =
  'what is different in a stage, repeatable: NAME:KEY=VALUE,KEY=VALUE with runtime, model, arg (repeatable) and skill (@FILE reads a file)'

/** As given, before a file is read. */
export type StageOption = Record<string, z.input<typeof StageSettings>>

const KEYS = ['runtime', 'model', 'arg', 'skill'] as const
type Key = (typeof KEYS)[number]

const SKILL_LIMIT = 50_000

/**
 * Collects `NAME:KEY=VALUE,…` of a repeated option; each names the whole stage. A comma is one of the value where no
 * key follows it.
 */
export function stageOption(text: string, before: StageOption | undefined): StageOption {
  const at = text.indexOf(':')
  const name = Stage.safeParse(text.slice(0, Math.max(0, at)))
  if (at < 1 || !name.success) {
    throw new InvalidArgumentError('It must read NAME:KEY=VALUE, such as review:runtime=codex.')
  }
  const settings: { runtime?: string; model?: string; skill?: string; runtimeArgs?: string[] } = {}
  const parts = text.slice(at + 1).split(new RegExp(`,(?=(?:${KEYS.join('|')})=)`))
  for (const part of parts) {
    const [key, ...rest] = part.split('=')
    if (rest.length === 0 || !KEYS.some((each) => each === key)) {
      throw new InvalidArgumentError(`"${part}" is none of ${KEYS.join('=, ')}=.`)
    }
    const value = rest.join('=')
    if (key === 'arg') settings.runtimeArgs = [...(settings.runtimeArgs ?? []), value]
    else settings[key as Exclude<Key, 'arg'>] = value
  }
  const fits = StageSettings.safeParse(settings)
  if (!fits.success) throw new InvalidArgumentError(`${describeIssues(fits.error.issues)}.`)
  return { ...before, [name.data]: fits.data }
}

/** With the words of files; a stage to be taken away is null. */
export async function stagesOf(
  context: Pick<Context, 'world'>,
  given: StageOption | undefined,
  taken: readonly string[] = [],
): Promise<Record<string, StageSettings | null> | undefined> {
  const stages: Record<string, StageSettings | null> = {}
  for (const [stage, { skill, ...settings }] of Object.entries(given ?? {})) {
    const words = skill === undefined ? '' : await textOfFile(skill, context.world, SKILL_LIMIT)
    const whole = { ...settings, ...(words.trim() === '' ? {} : { skill: words }) }
    stages[stage] = StageSettings.parse(whole)
  }
  for (const stage of taken) {
    if (Object.hasOwn(stages, stage)) {
      throw new UsageError({
        code: 'usage.value',
        message: `The stage ${stage} cannot be set and taken away at once.`,
        hint: 'Use one of --stage and --unset-stage for it.',
      })
    }
    stages[stage] = null
  }
  return Object.keys(stages).length === 0 ? undefined : stages
}

/** A line for each stage, in the form in which it is set; its own words are named and not shown. */
export function stageFields(stages: Readonly<Record<string, StageSettings>>): [string, string][] {
  return Object.entries(stages).map(([name, { runtime, model, runtimeArgs, skill }]) => [
    `stage ${name}`,
    plainText(
      [
        ...(runtime === undefined ? [] : [`runtime=${runtime}`]),
        ...(model === undefined ? [] : [`model=${model}`]),
        ...(runtimeArgs ?? []).map((arg) => `arg=${arg}`),
        ...(skill === undefined ? [] : [`skill of ${skill.length} characters`]),
      ].join(', '),
    ),
  ])
}
