import type { Command } from 'commander'
import { RuntimeName } from '../../src-shared/records.ts'
import { type Settings, SettingsChange } from '../../src-shared/settings.ts'
import { describeIssues, UsageError } from '../failures.ts'
import { plainText } from '../plain-text.ts'
import type { CommandRunner } from '../program.ts'
import { fields } from '../table.ts'

const KEYS = 'agents, theme, passEnv, or runtimePaths.<runtime>'

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
    .argument('<value>', 'for passEnv: names with commas between; empty: none, or look for it')
    .action(
      run.steering(async ({ ask, print, world }, _options, key: string, value: string) => {
        const change = changeOf(key, value)
        const next = await ask((client, limit) =>
          client.settings.edit({ ...change, commandId: world.uuid() }, limit),
        )
        if (print.isJson) print.json(next)
        else for (const text of describe(next)) print.say(text)
      }),
    )
}

function changeOf(key: string, value: string): SettingsChange {
  const parsed = SettingsChange.safeParse(rawChange(key, value))
  if (parsed.success) return parsed.data
  throw new UsageError({
    code: 'usage.value',
    message: `${key} cannot be ${JSON.stringify(value)}: ${describeIssues(parsed.error.issues)}.`,
    hint: '`ballet settings --help` says more.',
  })
}

function rawChange(key: string, value: string): Record<string, unknown> {
  const [group, runtime] = key.split('.')
  if (key === 'agents') return { agents: /^\d{1,3}$/.test(value) ? Number(value) : value }
  if (key === 'theme') return { theme: value }
  if (key === 'passEnv') {
    return { passEnv: value.split(',').flatMap((name) => name.trim() || []) }
  }
  const name = RuntimeName.safeParse(runtime)
  if (group === 'runtimePaths' && name.success) {
    return { runtimePaths: { [name.data]: value === '' ? null : value } }
  }
  throw new UsageError({
    code: 'usage.value',
    message: `There is no setting ${JSON.stringify(key)}.`,
    hint: `Use ${KEYS}.`,
  })
}

function describe({ agents, theme, passEnv, runtimePaths }: Settings): string[] {
  return fields([
    ['agents', String(agents)],
    ['theme', theme],
    ['passEnv', passEnv.join(',')],
    ...RuntimeName.options.map((name): [string, string] => [
      `runtimePaths.${name}`,
      plainText(runtimePaths[name] ?? ''),
    ]),
  ])
}
