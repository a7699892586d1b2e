import type { Command } from 'commander'
import { TEXT_LIMIT } from '../../src-shared/call.ts'
import { InputId, Reference } from '../../src-shared/ids.ts'
import { notEmpty, textOrStdin } from '../context.ts'
import { readImages } from '../images.ts'
import type { CommandRunner } from '../program.ts'
import { collected, parsed } from '../values.ts'

const REFERENCE = "its id or the beginning of it, or its ticket's key"
const ID_OPTION = "the input's own id, a UUID: repeating it does nothing twice"

export function addSteeringCommands(program: Command, run: CommandRunner): void {
  program
    .command('send')
    .description('give a session a message; it is delivered when the running turn ends')
    .argument('<session>', REFERENCE, parsed(Reference))
    .argument('<text>', 'the message; - reads the standard input')
    .option('--steer', 'for the running turn: it takes the message after its current tool call')
    .option('--image <file>', 'an image with it (PNG, JPEG, GIF, WebP), repeatable', collected)
    .option('--id <id>', ID_OPTION, parsed(InputId))
    .action(
      run.steering(
        async (
          { ask, print, world },
          options: { id?: InputId; steer?: boolean; image?: string[] },
          ref: string,
          text: string,
        ) => {
          const given = await textOrStdin(text, world, TEXT_LIMIT)
          const images = await readImages(world, options.image ?? [])
          const whole = images.length === 0 ? notEmpty(given) : given
          const input = await ask((client, limit) =>
            client.sessions.send(
              {
                ref,
                text: whole,
                input: options.id ?? InputId.parse(world.uuid()),
                ...(options.steer === true ? { steer: true } : {}),
                ...(images.length === 0 ? {} : { images }),
              },
              limit,
            ),
          )
          const { notSteered } = input
          const why = notSteered === undefined ? '' : `: not steered. ${notSteered.message}`
          print.made('input', input, `${input.id}: ${input.state}${why}`)
        },
      ),
    )

  program
    .command('inputs')
    .description('what a session was given, oldest first')
    .argument('<session>', REFERENCE, parsed(Reference))
    .action(
      run.looking(async ({ ask, print }, _options, ref: string) => {
        const inputs = await ask((client, limit) => client.sessions.inputs({ ref }, limit))
        print.list('input', inputs, 'It was given nothing yet.')
      }),
    )

  program
    .command('interrupt')
    .description('stop the running turn; what is queued, and the text, is delivered next')
    .argument('<session>', REFERENCE, parsed(Reference))
    .argument('[text]', 'a message to deliver next; - reads the standard input')
    .option('--id <id>', ID_OPTION, parsed(InputId))
    .action(
      run.steering(
        async (
          { ask, print, world },
          options: { id?: InputId },
          ref: string,
          text: string | undefined,
        ) => {
          const whole =
            text === undefined ? undefined : notEmpty(await textOrStdin(text, world, TEXT_LIMIT))
          const id = options.id ?? InputId.parse(world.uuid())
          const session = await ask((client, limit) =>
            client.sessions.interrupt(
              {
                ref,
                commandId: id,
                ...(whole === undefined ? {} : { text: whole, input: id }),
              },
              limit,
            ),
          )
          print.made('session', session, `${session.ticket}: ${session.state}`)
        },
      ),
    )
}
