import { type Command, Option } from 'commander'
import { z } from 'zod'
import { Duration } from '../../src-shared/duration.ts'
import { Reference } from '../../src-shared/ids.ts'
import { SessionState } from '../../src-shared/records.ts'
import { awaitEnd, whyNotPushed } from '../await-end.ts'
import type { Context } from '../context.ts'
import { followTimeline, readTimeline } from '../follow.ts'
import type { CommandRunner } from '../program.ts'
import { counted } from '../quantities.ts'
import { jsonTimeline, textTimeline } from '../timeline-printer.ts'
import { countUndelivered } from '../undelivered.ts'
import { parsed, parsedNumber } from '../values.ts'
import { addMovingCommands } from './moving.ts'

const REFERENCE = "its id or the beginning of it, or its ticket's key"

/** Takes a session's own online window away. */
const PROJECTS = 'project'

type ListOptions = { project?: string; ticket?: string; state?: SessionState }

export function addSessionCommands(program: Command, run: CommandRunner): void {
  const session = program.command('session').description('conversations of runtimes on tickets')

  session
    .command('list')
    .description('all sessions, oldest first')
    .option('--project <project>', 'only of this project', parsed(Reference))
    .option('--ticket <ticket>', 'only of this ticket', parsed(Reference))
    .addOption(new Option('--state <state>', 'only in this state').choices(SessionState.options))
    .action(
      run.looking(async ({ ask, print }, options: ListOptions) => {
        const sessions = await ask((client, limit) => client.sessions.list(options, limit))
        print.list('session', sessions, 'There are no sessions. `ballet ticket start` makes one.')
      }),
    )

  session
    .command('show')
    .description('one session')
    .argument('<session>', REFERENCE, parsed(Reference))
    .action(
      run.looking(async ({ ask, print }, _options, ref: string) => {
        print.one('session', await ask((client, limit) => client.sessions.show({ ref }, limit)))
      }),
    )

  session
    .command('stop')
    .description(
      'stop it: its work is pushed, conversation and workspace stay, the ticket is Ready; said again: without waiting for the push',
    )
    .argument('<session>', REFERENCE, parsed(Reference))
    .action(
      run.steering(async (context, _options, ref: string) => {
        const { ask, print, world } = context
        const told = await ask((client, limit) =>
          client.sessions.stop({ ref, commandId: world.uuid() }, limit),
        )
        const stopped = await awaitEnd(context, told, 'stop')
        print.made(
          'session',
          stopped,
          sentence(`${stopped.ticket} is ${stopped.state}`, stopped.reason),
        )
        const notPushed = await whyNotPushed(context, told, stopped)
        if (notPushed !== undefined) throw notPushed
      }),
    )

  session
    .command('finish')
    .description('commit and push its work, then remove its workspace')
    .argument('<session>', REFERENCE, parsed(Reference))
    .action(
      run.steering(async (context, _options, ref: string) => {
        const { ask, print, world } = context
        const before = await ask((client, limit) => client.sessions.show({ ref }, limit))
        const told = await ask((client, limit) =>
          client.sessions.finish({ ref, commandId: world.uuid() }, limit),
        )
        const finished = await awaitEnd(context, told, 'finish')
        print.made(
          'session',
          finished,
          finished.pushedCommit === undefined
            ? sentence(`${finished.ticket} is finished`, finished.reason)
            : `${finished.ticket} is finished: its work is on ${finished.branch}.`,
        )
        const lost = await countUndelivered(context, before)
        if (lost > 0) print.say(`Not delivered: ${counted(lost, 'queued message')}.`)
      }),
    )

  session
    .command('edit')
    .description('change how long it waits for a person before it parks')
    .argument('<session>', REFERENCE, parsed(Reference))
    .requiredOption(
      '--window <time>',
      'its own online window, such as 30s, 10m, now or never; project: the project’s',
      (text: string) => (text === PROJECTS ? text : parsed(Duration)(text)),
    )
    .action(
      run.steering(async ({ ask, print, world }, options: { window: string }, ref: string) => {
        const window = options.window === PROJECTS ? null : options.window
        const session = await ask((client, limit) =>
          client.sessions.edit({ ref, commandId: world.uuid(), window }, limit),
        )
        const now = session.window ?? 'the project’s'
        print.made('session', session, `${session.ticket}: online window ${now}`)
      }),
    )

  addMovingCommands(session, run)

  session
    .command('events')
    .description('its timeline')
    .argument('<session>', REFERENCE, parsed(Reference))
    .option(
      '--from <seq>',
      'begin with the event of this number, the seq of --json',
      parsedNumber(z.int().min(1)),
    )
    .option('--follow', 'go on until it is finished, failed, cancelled or parked')
    .action(
      run.looking(async (context, options: { from?: number; follow?: boolean }, ref: string) => {
        const after = (options.from ?? 1) - 1
        if (options.follow === true) await follow(context, ref, after)
        else await print(context, ref, after)
      }),
    )
}

/** Ends with one full stop, whatever the reason ends with. */
function sentence(beginning: string, reason: string): string {
  return `${reason === '' ? beginning : `${beginning}: ${reason.replace(/\.$/, '')}`}.`
}

async function print(context: Context, ref: string, after: number): Promise<void> {
  const printer = timelineOf(context)
  await context.ask((client) =>
    readTimeline(client, ref, after, (events) => printer.events(events)),
  )
  printer.end()
}

async function follow(context: Context, ref: string, after: number): Promise<void> {
  const { world, dataDir } = context
  const stop = new AbortController()
  const unlisten = world.onStop(() => stop.abort())
  try {
    const session = await context.ask((client, limit) => client.sessions.show({ ref }, limit))
    await followTimeline({
      world,
      dataDir,
      connection: await context.connect(),
      session,
      after,
      printer: timelineOf(context),
      showsLive: !context.print.isJson && world.stdout.columns !== undefined,
      signal: stop.signal,
      onHost: (is) => {
        if (context.print.isJson) return
        world.stderr.write(is === 'gone' ? 'The host is gone; waiting for it.\n' : 'It is back.\n')
      },
    })
  } finally {
    unlisten()
  }
}

function timelineOf({ print: { isJson }, world: { stdout } }: Context) {
  return isJson ? jsonTimeline(stdout) : textTimeline(stdout)
}
