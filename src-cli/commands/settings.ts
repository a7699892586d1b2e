import type { Command } from 'commander'
import { commandLine, wordsOf } from '../../src-shared/command-line.ts'
import { type AcpAgent, AcpAgentName, OwnRuntime, RuntimeName } from '../../src-shared/runtimes.ts'
import { type Settings, SettingsChange } from '../../src-shared/settings.ts'
import { describeIssues, UsageError } from '../failures.ts'
import { plainText } from '../plain-text.ts'
import type { CommandRunner } from '../program.ts'
import { fields } from '../table.ts'

const KEYS =
  'agents, theme, passEnv, notify, drainGraceSeconds, answerUndo, planner.<enabled, runtime, model, limitSeconds or costLimitUsd>, runtimePaths.<runtime>, acpAgents.<name> (its command line) or acpAgents.<name>.title'

export function addSettingsCommands(program: Command, run: CommandRunner): void {
  const settings = program.command('settings').description('the settings of the data folder')

  settings
    .command('show')
    .description('all of them')
    .action(
      run.looking(async ({ ask, print }) => {
        const found = await ask((client, limit) => client.settings.show(undefined, limit))
        if (print.isJson) print.json(found)
        else for (const text of describe(found)) print.say(text)
      }),
    )

  settings
    .command('set')
    .description('change one of them')
    .argument('<key>', KEYS)
    .argument(
      '<value>',
      'for passEnv and notify: names with commas between; on or off; empty: none, look for it, or take the agent away',
    )
    .action(
      run.steering(async ({ ask, print, world }, _options, key: string, value: string) => {
        const known = await agentsFor(key, async () => {
          const now = await ask((client, limit) => client.settings.show(undefined, limit))
          return now.acpAgents
        })
        const change = changeOf(key, value, known)
        const next = await ask((client, limit) =>
          client.settings.edit({ ...change, commandId: world.uuid() }, limit),
        )
        if (print.isJson) print.json(next)
        else for (const text of describe(next)) print.say(text)
      }),
    )
}

/** Of the settings as they are, where the key is one of an agent's: what is not named of it stays. */
function agentsFor(
  key: string,
  read: () => Promise<Settings['acpAgents']>,
): Promise<Settings['acpAgents']> {
  return key.startsWith('acpAgents.') ? read() : Promise.resolve({})
}

function changeOf(key: string, value: string, known: Settings['acpAgents']): SettingsChange {
  const parsed = SettingsChange.safeParse(rawChange(key, value, known))
  if (parsed.success) return parsed.data
  throw new UsageError({
    code: 'usage.value',
    message: `${key} cannot be ${JSON.stringify(value)}: ${describeIssues(parsed.error.issues)}.`,
    hint: '`ballet settings --help` says more.',
  })
}

function rawChange(
  key: string,
  value: string,
  known: Settings['acpAgents'],
): Record<string, unknown> {
  const [group, field = ''] = key.split('.')
  if (key === 'agents' || key === 'drainGraceSeconds') return { [key]: numberOf(value) }
  if (key === 'theme') return { theme: value }
  if (key === 'passEnv' || key === 'notify') return { [key]: namesOf(value) }
  if (key === 'answerUndo') return { answerUndo: switchOf(value) }
  if (group === 'planner' && Object.hasOwn(plannerFields, field)) {
    const read = plannerFields[field as keyof typeof plannerFields]
    return { planner: { [field]: read(value) } }
  }
  if (group === 'acpAgents' && AcpAgentName.safeParse(field).success) {
    return {
      acpAgents: {
        [field]: acpAgentOf(key, value, Object.hasOwn(known, field) ? known[field] : undefined),
      },
    }
  }
  const name = RuntimeName.safeParse(field)
  if (group === 'runtimePaths' && name.success) {
    return { runtimePaths: { [name.data]: orNull(value) } }
  }
  throw new UsageError({
    code: 'usage.value',
    message: `There is no setting ${JSON.stringify(key)}.`,
    hint: `Use ${KEYS}.`,
  })
}

/** An agent with another command line or title; null: without it. */
function acpAgentOf(key: string, value: string, before: AcpAgent | undefined): unknown {
  const [, name = '', part] = key.split('.')
  if (part === 'title') {
    if (before !== undefined) return { ...before, title: value }
    throw new UsageError({
      code: 'usage.value',
      message: `There is no runtime acp:${name} that could have a title.`,
      hint: `Give it a command first: ballet settings set acpAgents.${name} "its command"`,
    })
  }
  if (part !== undefined) {
    throw new UsageError({
      code: 'usage.value',
      message: `There is no setting ${JSON.stringify(key)}.`,
      hint: `Use ${KEYS}.`,
    })
  }
  const words = wordsOf(value)
  if (words === null) {
    throw new UsageError({
      code: 'usage.value',
      message: `In ${JSON.stringify(value)} a quote is not closed.`,
      hint: 'Close it; a quote that belongs to a word stands in quotes of the other kind, as in "it\'s".',
    })
  }
  const [command, ...args] = words
  return command === undefined ? null : { title: before?.title ?? name, command, args }
}

const namesOf = (value: string) => value.split(',').flatMap((name) => name.trim() || [])
const orNull = (value: string) => (value === '' ? null : value)
const numberOf = (value: string) => (/^-?\d{1,6}(\.\d{1,4})?$/.test(value) ? Number(value) : value)

function switchOf(value: string): boolean {
  if (value === 'on' || value === 'off') return value === 'on'
  throw new UsageError({
    code: 'usage.value',
    message: `${JSON.stringify(value)} is neither on nor off.`,
    hint: 'Use on or off.',
  })
}

/** How the value of each field of the planner's settings is read; the contract says what fits. */
const plannerFields: Record<keyof Settings['planner'], (value: string) => unknown> = {
  enabled: switchOf,
  runtime: (value) => value,
  model: orNull,
  limitSeconds: numberOf,
  costLimitUsd: numberOf,
}

function describe(settings: Settings): string[] {
  const { agents, theme, passEnv, notify, planner, runtimePaths } = settings
  const { drainGraceSeconds, answerUndo, acpAgents } = settings
  return fields([
    ['agents', String(agents)],
    ['theme', theme],
    ['passEnv', passEnv.join(',')],
    ['notify', notify.join(',') || 'none'],
    ['drainGraceSeconds', String(drainGraceSeconds)],
    ['answerUndo', onOff(answerUndo)],
    ['planner.enabled', onOff(planner.enabled)],
    ['planner.runtime', planner.runtime],
    ['planner.model', plainText(planner.model ?? '')],
    ['planner.limitSeconds', String(planner.limitSeconds)],
    ['planner.costLimitUsd', String(planner.costLimitUsd)],
    ...[...new Set([...OwnRuntime.options, ...Object.keys(runtimePaths)])].map(
      (name): [string, string] => [`runtimePaths.${name}`, plainText(runtimePaths[name] ?? '')],
    ),
    ...Object.entries(acpAgents).flatMap(([name, { title, command, args }]) => [
      [`acpAgents.${name}`, plainText(commandLine([command, ...args]))] as const,
      [`acpAgents.${name}.title`, plainText(title)] as const,
    ]),
  ])
}

const onOff = (is: boolean) => (is ? 'on' : 'off')
