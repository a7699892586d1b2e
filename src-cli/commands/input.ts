import type { Command } from 'commander'
import { TEXT_LIMIT } from '../../src-shared/call.ts'
import { Reference } from '../../src-shared/ids.ts'
import { notEmpty, textOrStdin } from '../context.ts'
import { UsageError } from '../failures.ts'
import type { CommandRunner } from '../program.ts'
import { parsed } from '../values.ts'

const REFERENCE = 'its id or the beginning of it'

/** Commands about messages that a session was given and that are not delivered yet. */
export function addInputCommands(program: Command, run: CommandRunner): void {
  const input = program
    .command('input')
    .description('queued messages: see `inputs SESSION`; what is delivered stays as it is')

  input
    .command('edit')
    .description('give a queued message another text')
    .argument('<input>', REFERENCE, parsed(Reference))
    .argument('<text>', 'the whole new text; - reads the standard input')
    .action(
      run.steering(async ({ ask, print, world }, _options, ref: string, text: string) => {
        const whole = notEmpty(await textOrStdin(text, world, TEXT_LIMIT))
        const edited = await ask((client, limit) =>
          client.inputs.edit({ ref, text: whole, commandId: world.uuid() }, limit),
        )
        print.made('input', edited, `${edited.id} is edited.`)
      }),
    )

  input
    .command('cancel')
    .description('take a queued message back')
    .argument('<input>', REFERENCE, parsed(Reference))
    .action(
      run.steering(async ({ ask, print, world }, _options, ref: string) => {
        const cancelled = await ask((client, limit) =>
          client.inputs.cancel({ ref, commandId: world.uuid() }, limit),
        )
        print.made('input', cancelled, `${cancelled.id} is cancelled.`)
      }),
    )

  input
    .command('move')
    .description('give a queued message another place in the queue')
    .argument('<input>', REFERENCE, parsed(Reference))
    .option('--before <input>', 'right before this one', parsed(Reference))
    .option('--last', 'to the end')
    .action(
      run.steering(
        async (
          { ask, print, world },
          { before, last }: { before?: string; last?: boolean },
          ref: string,
        ) => {
          if ((before === undefined) === (last === undefined)) {
            throw new UsageError({
              code: 'usage.missing',
              message: 'Where the message shall go is not clear.',
              hint: 'Give either --before with another queued message, or --last.',
            })
          }
          const moved = await ask((client, limit) =>
            client.inputs.move({ ref, before: before ?? null, commandId: world.uuid() }, limit),
          )
          print.made('input', moved, `${moved.id} is moved.`)
        },
      ),
    )

  input
    .command('steer')
    .description('hand a queued message over now: the running turn takes it after its tool call')
    .argument('<input>', REFERENCE, parsed(Reference))
    .action(
      run.steering(async ({ ask, print, world }, _options, ref: string) => {
        const steered = await ask((client, limit) =>
          client.inputs.steer({ ref, commandId: world.uuid() }, limit),
        )
        print.made('input', steered, `${steered.id}: ${steered.state}`)
      }),
    )
}
