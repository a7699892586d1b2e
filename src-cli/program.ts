import { Command, type CommanderError } from 'commander'
import { addAssumptionCommands } from './commands/assumption.ts'
import { addContinueCommand } from './commands/continue.ts'
import { addDemoCommand } from './commands/demo.ts'
import { addHostCommands } from './commands/host.ts'
import { addInboxCommands } from './commands/inbox.ts'
import { addInputCommands } from './commands/input.ts'
import { addHousekeepingCommands } from './commands/moving.ts'
import { addParkingCommands } from './commands/parking.ts'
import { addProjectCommands } from './commands/project.ts'
import { addQuestionCommands } from './commands/question.ts'
import { addRequestCommands } from './commands/request.ts'
import { addServeCommand } from './commands/serve.ts'
import { addSessionCommands } from './commands/session.ts'
import { addSettingsCommands } from './commands/settings.ts'
import { addSteeringCommands } from './commands/steering.ts'
import { addStopCommand } from './commands/stop.ts'
import { addTicketCommands } from './commands/ticket.ts'
import { type Context, createContext, type GlobalOptions, refuseInsideSession } from './context.ts'
import { describeFailure, EXIT_DONE, UsageError } from './failures.ts'
import { complain } from './output.ts'
import type { World } from './world.ts'

/** What a command does once its options and arguments are read. It rejects when it is refused or fails. */
type Action<O, A extends unknown[]> = (context: Context, options: O, ...args: A) => Promise<void>

/** As commander calls it: the arguments, the options, the command. */
type CommanderAction = (...given: unknown[]) => Promise<void>

export type CommandRunner = {
  /** A command that only looks. */
  looking<O, A extends unknown[]>(action: Action<O, A>): CommanderAction
  /** A command that changes something: refused to what a session started. */
  steering<O, A extends unknown[]>(action: Action<O, A>): CommanderAction
}

/** Runs one command line (without node and script) and gives its exit code. Never rejects. */
export async function runCommandLine(argv: readonly string[], world: World): Promise<number> {
  const isJson = asksForJson(argv)
  try {
    await createProgram(world, isJson).parseAsync([...argv], { from: 'user' })
    return EXIT_DONE
  } catch (error) {
    if (error instanceof HelpWasShown) return EXIT_DONE
    const { refusal, exitCode } = describeFailure(error)
    complain(world.stderr, isJson, refusal)
    return exitCode
  }
}

/** Asked before anything is read, since also a command line that is not understood is answered in JSON. */
function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return argv.slice(0, end === -1 ? undefined : end).includes('--json')
}

/** Help or the version was asked for and printed. */
class HelpWasShown extends Error {}

function createProgram(world: World, isJson: boolean): Command {
  const program = new Command('ballet')
    .description('Runs a fleet of coding agents: projects, tickets, sessions.')
    .option('--data <folder>', 'the data folder (default: BALLET_DATA, else the application’s own)')
    .option('--json', 'print one JSON object a line')
    .version(world.version, '--version', 'print the version')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => world.stdout.write(text),
      writeErr: (text) => {
        if (!isJson) world.stderr.write(text)
      },
      getOutHelpWidth: () => world.stdout.columns ?? 100,
      getErrHelpWidth: () => world.stderr.columns ?? 100,
      // Told by whoever runs the command line, for people or as JSON.
      outputError: () => undefined,
    })
  const run = createRunner(world)
  addServeCommand(program, run)
  addStopCommand(program, run)
  addProjectCommands(program, run)
  addTicketCommands(program, run)
  addSessionCommands(program, run)
  addSteeringCommands(program, run)
  addParkingCommands(program, run)
  addContinueCommand(program, run)
  addInputCommands(program, run)
  addInboxCommands(program, run)
  addQuestionCommands(program, run)
  addAssumptionCommands(program, run)
  addRequestCommands(program, run)
  addHostCommands(program, run)
  addHousekeepingCommands(program, run)
  addSettingsCommands(program, run)
  addDemoCommand(program, run)
  throwInsteadOfExit(program, 'ballet')
  return program
}

function createRunner(world: World): CommandRunner {
  const within = async <O, A extends unknown[]>(action: Action<O, A>, given: unknown[]) => {
    const command = given.at(-1)
    if (!(command instanceof Command)) throw new Error('commander gave no command to its action')
    const context = createContext(world, command.optsWithGlobals<GlobalOptions>())
    try {
      await action(context, command.opts() as O, ...(given.slice(0, -2) as A))
    } finally {
      context.close()
    }
  }
  return {
    looking:
      (action) =>
      (...given) =>
        within(action, given),
    steering:
      (action) =>
      async (...given) => {
        refuseInsideSession(world)
        await within(action, given)
      },
  }
}

/** Of what is said of a wrong argument, which holds the whole argument; in UTF-16 code units. */
const USAGE_LENGTH = 600

/** Both ends say what matters: which argument, and what is wrong with it. */
function shortened(message: string): string {
  if (message.length <= USAGE_LENGTH) return message
  const half = USAGE_LENGTH / 2
  return `${message.slice(0, half)} … ${message.slice(-half)}`
}

function throwInsteadOfExit(command: Command, path: string): void {
  command.exitOverride((error: CommanderError) => {
    if (error.exitCode === 0) throw new HelpWasShown()
    throw new UsageError({
      code: usageCodes.get(error.code) ?? 'usage',
      message:
        error.code === 'commander.help'
          ? `\`${path}\` needs a command.`
          : shortened(error.message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ')),
      hint: `\`${path} --help\` says more.`,
    })
  })
  command.showHelpAfterError(false)
  for (const child of command.commands) throwInsteadOfExit(child, `${path} ${child.name()}`)
}

const usageCodes = new Map([
  ['commander.unknownCommand', 'usage.command'],
  ['commander.help', 'usage.command'],
  ['commander.unknownOption', 'usage.option'],
  ['commander.missingMandatoryOptionValue', 'usage.missing'],
  ['commander.missingArgument', 'usage.missing'],
  ['commander.optionMissingArgument', 'usage.missing'],
  ['commander.excessArguments', 'usage.argument'],
  ['commander.invalidArgument', 'usage.value'],
])
