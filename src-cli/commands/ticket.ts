import { type Command, Option } from 'commander'
import { TEXT_LIMIT } from '../../src-shared/call.ts'
import { GivenStatus } from '../../src-shared/contract.ts'
import { Reference } from '../../src-shared/ids.ts'
import type { DeletionReport } from '../../src-shared/moving.ts'
import { Priority, Stage, TicketStatus } from '../../src-shared/records.ts'
import { textOrStdin } from '../context.ts'
import { TicketTitle } from '../inputs.ts'
import type { CommandRunner } from '../program.ts'
import { bytesText, counted } from '../quantities.ts'
import { nothingToChange, parsed, parsedNumber } from '../values.ts'

type AddOptions = {
  project: string
  title: string
  body?: string
  priority?: number
  stage?: string
  start?: boolean
}

type EditOptions = {
  title?: string
  body?: string
  priority?: number
  status?: GivenStatus
  stage?: string
}

export function addTicketCommands(program: Command, run: CommandRunner): void {
  const ticket = program.command('ticket').description('pieces of work')

  ticket
    .command('add')
    .description('write a ticket')
    .requiredOption('--project <project>', 'name, id or the beginning of it', parsed(Reference))
    .requiredOption('--title <title>', 'one line', parsed(TicketTitle))
    .option('--body <text>', 'what is to be done; - reads the standard input')
    .option('--priority <number>', '1 (urgent) to 5 (some day), default 3', parsedNumber(Priority))
    .option('--stage <stage>', 'default implement', parsed(Stage))
    .option('--start', 'give it to an agent at once')
    .action(
      run.steering(async ({ ask, print, world }, options: AddOptions) => {
        const { body, ...rest } = options
        const text = body === undefined ? undefined : await textOrStdin(body, world, TEXT_LIMIT)
        const made = await ask((client, limit) =>
          client.tickets.add(
            { ...rest, ...(text === undefined ? {} : { body: text }), commandId: world.uuid() },
            limit,
          ),
        )
        print.made('ticket', made, `${made.key} ${made.title}: ${made.status}`)
      }),
    )

  ticket
    .command('list')
    .description('all tickets, oldest first')
    .option('--project <project>', 'only of this project', parsed(Reference))
    .addOption(
      new Option('--status <status>', 'only with this status').choices(TicketStatus.options),
    )
    .action(
      run.looking(async ({ ask, print }, options: { project?: string; status?: TicketStatus }) => {
        const tickets = await ask((client, limit) => client.tickets.list(options, limit))
        print.list('ticket', tickets, 'There are no tickets. `ballet ticket add` makes one.')
      }),
    )

  ticket
    .command('show')
    .description('one ticket')
    .argument('<ticket>', 'its key, its id or the beginning of it', parsed(Reference))
    .action(
      run.looking(async ({ ask, print }, _options, ref: string) => {
        print.one('ticket', await ask((client, limit) => client.tickets.show({ ref }, limit)))
      }),
    )

  ticket
    .command('edit')
    .description('change a ticket; status and stage only while no session of it is live')
    .argument('<ticket>', 'its key, its id or the beginning of it', parsed(Reference))
    .option('--title <title>', 'one line', parsed(TicketTitle))
    .option('--body <text>', 'what is to be done; - reads the standard input')
    .option('--priority <number>', '1 (urgent) to 5 (some day)', parsedNumber(Priority))
    .addOption(new Option('--status <status>', 'another status').choices(GivenStatus.options))
    .option('--stage <stage>', 'another stage; its next session is of it', parsed(Stage))
    .action(
      run.steering(async ({ ask, print, world }, options: EditOptions, ref: string) => {
        if (Object.keys(options).length === 0) throw nothingToChange('ticket')
        const { body, ...rest } = options
        const text = body === undefined ? undefined : await textOrStdin(body, world, TEXT_LIMIT)
        const edited = await ask((client, limit) =>
          client.tickets.edit(
            {
              ...rest,
              ref,
              ...(text === undefined ? {} : { body: text }),
              commandId: world.uuid(),
            },
            limit,
          ),
        )
        print.made('ticket', edited, `${edited.key} ${edited.title}: ${edited.status}`)
      }),
    )

  ticket
    .command('start')
    .description('give a ticket to an agent; a stopped or failed session goes on')
    .argument('<ticket>', 'its key, its id or the beginning of it', parsed(Reference))
    .action(
      run.steering(async ({ ask, print, world }, _options, ref: string) => {
        const session = await ask((client, limit) =>
          client.tickets.start({ ref, commandId: world.uuid() }, limit),
        )
        print.made(
          'session',
          session,
          `${session.ticket} has session ${session.id}: ${session.state}`,
        )
      }),
    )

  ticket
    .command('delete')
    .description('remove a ticket with all that it left; refused while work in it is not pushed')
    .argument('<ticket>', 'its key, its id or the beginning of it', parsed(Reference))
    .option(
      '--remote-branch',
      'its branch on the remote too; refused where that holds what no other branch has',
    )
    .option(
      '--force-branch <name>',
      'the name of its branch: remove also work that is nowhere else',
    )
    .action(
      run.steering(async ({ ask, print, world }, options: DeleteOptions, ref: string) => {
        const { remoteBranch = false, forceBranch } = options
        const gone = await ask((client, limit) =>
          client.tickets.delete(
            {
              ref,
              commandId: world.uuid(),
              remoteBranch,
              ...(forceBranch === undefined ? {} : { forceBranch }),
            },
            limit,
          ),
        )
        print.made('ticket', gone, `${gone.key} is deleted: ${goneText(gone.removed)}.`)
      }),
    )
}

type DeleteOptions = { remoteBranch?: boolean; forceBranch?: string }

function goneText(removed: DeletionReport): string {
  const { sessions, events, workspaces, keptFiles, keptBytes, runtimeFiles, remoteBranch } = removed
  const kept =
    keptFiles === 0 ? [] : [`${counted(keptFiles, 'kept file')} (${bytesText(keptBytes)})`]
  return [
    `${counted(sessions, 'session')} with ${counted(events, 'event')}`,
    ...(workspaces === 0 ? [] : [counted(workspaces, 'workspace')]),
    ...kept,
    ...(runtimeFiles === 0 ? [] : [`${counted(runtimeFiles, 'file')} of its runtime`]),
    ...(remoteBranch === 'removed' ? ['its branch on the remote'] : []),
    ...(remoteBranch === 'left' ? ['its branch stays on the remote'] : []),
  ].join(', ')
}
