import { type Command, Option } from 'commander'
import { z } from 'zod'
import type { ProjectChange } from '../../src-shared/contract.ts'
import { Reference } from '../../src-shared/ids.ts'
import { NotificationKind, PermissionMode, ProjectSettings } from '../../src-shared/records.ts'
import { RuntimeName } from '../../src-shared/runtimes.ts'
import { type Context, textOfFile } from '../context.ts'
import type { CommandRunner } from '../program.ts'
import { STAGE_FORM, type StageOption, stageOption, stagesOf } from '../stages.ts'
import {
  assignment,
  collected,
  nothingToChange,
  orNothing,
  parsed,
  parsedNames,
  parsedNumber,
} from '../values.ts'

const RUNTIME = 'the coding agent: claude-code, opencode, codex, or acp:<name of an agent>'

type AddOptions = {
  name: string
  repo: string
  branch?: string
  runtime: ProjectSettings['runtime']
  permission: ProjectSettings['permission']
  model?: string
  arg?: string[]
  setup?: string
  setupLimit?: string
  env?: Record<string, string>
  window?: string
  maxSessions?: number
  source?: string[]
  planner?: boolean
  skill?: string
  notify?: NotificationKind[]
  stage?: StageOption
}

type EditOptions = Partial<AddOptions> & {
  args?: boolean
  unsetEnv?: string[]
  sources?: boolean
  unsetStage?: string[]
}

const { shape } = ProjectSettings

const PERMISSION =
  'what the runtime asks before it does it: full: nothing, it can do whatever you can on this machine; edits: all but reading and editing files in the workspace; ask: edits too. Which commands count as harmless is the decision of the runtime'
const SKILL_LIMIT = 50_000
const SOURCE =
  'what the planner may read: a path or glob in the repository, or an absolute path; repeatable'
const SKILL =
  "the project's own words on when to assume and when to ask; @FILE reads a file, - the standard input"
const NOTIFY = `desktop notifications that it makes: ${NotificationKind.options.join(', ')}, with commas between; empty for none`

export function addProjectCommands(program: Command, run: CommandRunner): void {
  const project = program.command('project').description('the repositories that tickets work on')

  project
    .command('add')
    .description('check the remote and make a project of it')
    .requiredOption('--name <name>', 'its name', parsed(shape.name))
    .requiredOption(
      '--repo <url>',
      'anything that git can fetch: a URL, user@host:path, or a path',
      parsed(shape.repo),
    )
    .option(
      '--branch <branch>',
      "the branch that work starts from (default: the remote's default branch)",
      parsed(shape.branch.unwrap()),
    )
    .addOption(
      new Option('--runtime <runtime>', RUNTIME)
        .argParser(parsed(RuntimeName))
        .default('claude-code'),
    )
    .addOption(
      new Option('--permission <mode>', PERMISSION).choices(PermissionMode.options).default('full'),
    )
    .option('--model <model>', "the runtime's model", parsed(shape.model.unwrap()))
    .option(
      '--arg <text>',
      "one more argument for the runtime's command line, repeatable",
      collected,
    )
    .option(
      '--setup <command>',
      'a shell command that prepares a fresh workspace',
      parsed(shape.setup.unwrap()),
    )
    .option('--setup-limit <duration>', 'how long the set-up may take', parsed(shape.setupLimit))
    .option('--env <name=value>', 'a variable for git, set-up and runtime, repeatable', assignment)
    .option(
      '--window <duration>',
      'how long a session may wait for input before it parks: 90s, 10m, 2h, now, never',
      parsed(shape.window),
    )
    .option(
      '--max-sessions <number>',
      'how many of its sessions may hold an agent at once',
      parsedNumber(shape.maxSessions.unwrap()),
    )
    .option('--source <path>', SOURCE, collected)
    .option('--stage <stage>', STAGE_FORM, stageOption)
    .option('--no-planner', 'its questions go to people at once')
    .option('--skill <text>', SKILL)
    .option('--notify <kinds>', NOTIFY, parsedNames(shape.notify.unwrap()))
    .action(
      run.steering(async (context, options: AddOptions) => {
        const { ask, print, world } = context
        const { arg, source, planner, skill, stage, ...settings } = options
        const words = skill === undefined ? undefined : await skillText(context, skill)
        const stages = await stagesOf(context, stage)
        const made = await ask((client, limit) =>
          client.projects.add(
            {
              ...settings,
              ...(arg === undefined ? {} : { runtimeArgs: arg }),
              ...(source === undefined ? {} : { sources: source }),
              ...(planner === false ? { planner } : {}),
              ...(words ? { skill: words } : {}),
              ...(stages === undefined
                ? {}
                : { stages: ProjectSettings.shape.stages.parse(stages) }),
              commandId: world.uuid(),
            },
            limit,
          ),
        )
        print.made('project', made, `Project ${made.name} (${made.key}) is ready: ${made.id}`)
      }),
    )

  project
    .command('list')
    .description('all projects, oldest first')
    .action(
      run.looking(async ({ ask, print }) => {
        const projects = await ask((client, limit) => client.projects.list(undefined, limit))
        print.list('project', projects, 'There are no projects. `ballet project add` makes one.')
      }),
    )

  project
    .command('show')
    .description('one project')
    .argument('<project>', 'its name, its id or the beginning of it', parsed(Reference))
    .action(
      run.looking(async ({ ask, print }, _options, ref: string) => {
        print.one('project', await ask((client, limit) => client.projects.show({ ref }, limit)))
      }),
    )

  project
    .command('edit')
    .description('change a project; holds for sessions that start or are brought back afterwards')
    .argument('<project>', 'its name, its id or the beginning of it', parsed(Reference))
    .option('--name <name>', 'another name', parsed(shape.name))
    .option('--repo <url>', 'another repository; checked first', parsed(shape.repo))
    .option(
      '--branch <branch>',
      "the branch that work starts from; empty for the remote's default branch",
      orNothing(shape.branch.unwrap()),
    )
    .option('--runtime <runtime>', RUNTIME, parsed(RuntimeName))
    .addOption(new Option('--permission <mode>', PERMISSION).choices(PermissionMode.options))
    .option(
      '--model <model>',
      "the runtime's model; empty for its own choice",
      orNothing(shape.model.unwrap()),
    )
    .option('--arg <text>', 'the whole list of arguments anew, repeatable', collected)
    .option('--no-args', 'no more arguments')
    .option(
      '--setup <command>',
      'prepares a fresh workspace; empty for none',
      orNothing(shape.setup.unwrap()),
    )
    .option('--setup-limit <duration>', 'how long the set-up may take', parsed(shape.setupLimit))
    .option('--env <name=value>', 'sets a variable, repeatable', assignment)
    .option('--unset-env <name>', 'takes a variable away, repeatable', collected)
    .option(
      '--window <duration>',
      'how long a session may wait for input before it parks: 90s, 10m, 2h, now, never',
      parsed(shape.window),
    )
    .option(
      '--max-sessions <number>',
      'how many of its sessions may hold an agent at once; 0 for no limit',
      parsedNumber(shape.maxSessions.unwrap().or(z.literal(0))),
    )
    .option('--source <path>', `the whole list anew: ${SOURCE}`, collected)
    .option('--no-sources', 'the planner reads nothing')
    .option('--stage <stage>', `${STAGE_FORM}; the whole stage anew`, stageOption)
    .option('--unset-stage <name>', 'a stage is as the project is, repeatable', collected)
    .option('--planner', 'the planner tries to answer its questions first')
    .option('--no-planner', 'its questions go to people at once')
    .option('--skill <text>', `${SKILL}; empty for none`)
    .option('--notify <kinds>', NOTIFY, parsedNames(shape.notify.unwrap()))
    .action(
      run.steering(async (context, options: EditOptions, ref: string) => {
        const { ask, print, world } = context
        const { stage, unsetStage, ...others } = options
        const { skill } = others
        const fields = changeOf(
          skill === undefined ? others : { ...others, skill: await skillText(context, skill) },
        )
        const stages = await stagesOf(context, stage, unsetStage)
        const change = { ...fields, ...(stages === undefined ? {} : { stages }) }
        if (Object.keys(change).length === 0) throw nothingToChange('project')
        const edited = await ask((client, limit) =>
          client.projects.edit({ ...change, ref, commandId: world.uuid() }, limit),
        )
        print.made('project', edited, `Project ${edited.name} (${edited.key}) is changed.`)
      }),
    )

  project
    .command('delete')
    .description('forget a project that has no tickets')
    .argument('<project>', 'its name, its id or the beginning of it', parsed(Reference))
    .action(
      run.steering(async ({ ask, print, world }, _options, ref: string) => {
        const gone = await ask((client, limit) =>
          client.projects.delete({ ref, commandId: world.uuid() }, limit),
        )
        print.made('project', gone, `Project ${gone.name} is deleted.`)
      }),
    )
}

function changeOf(options: Omit<EditOptions, 'stage' | 'unsetStage'>): ProjectChange {
  const { arg, args, env, unsetEnv = [], maxSessions, source, sources, ...others } = options
  const { branch, model, setup, skill, ...fields } = others
  const variables = { ...env, ...Object.fromEntries(unsetEnv.map((name) => [name, null])) }
  const emptied = Object.entries({ branch, model, setup, skill }).filter(
    ([, text]) => text !== undefined,
  )
  return {
    ...fields,
    ...Object.fromEntries(emptied.map(([name, text]) => [name, text === '' ? null : text])),
    ...(args === false ? { runtimeArgs: [] } : arg === undefined ? {} : { runtimeArgs: arg }),
    ...(sources === false ? { sources: [] } : source === undefined ? {} : { sources: source }),
    ...(Object.keys(variables).length === 0 ? {} : { env: variables }),
    ...(maxSessions === undefined ? {} : { maxSessions: maxSessions === 0 ? null : maxSessions }),
  }
}

/** The project's own words; empty for none. What does not fit is a usage error. */
async function skillText({ world }: Context, given: string): Promise<string> {
  const text = await textOfFile(given, world, SKILL_LIMIT)
  return text.trim() === '' ? '' : text
}
