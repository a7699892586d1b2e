import type { Command } from 'commander'
import { TEXT_LIMIT } from '../../src-shared/call.ts'
import { Reference } from '../../src-shared/ids.ts'
import { notEmpty, textOrStdin } from '../context.ts'
import { oneLine } from '../plain-text.ts'
import type { CommandRunner } from '../program.ts'
import { parsed } from '../values.ts'

const REFERENCE = 'its id or the beginning of it'

/** Permission requests: what runtimes ask before they do it. */
export function addRequestCommands(program: Command, run: CommandRunner): void {
  program
    .command('requests')
    .description('what waits for permission, oldest first')
    .option(
      '--session <session>',
      "only of this session: its id or the beginning of it, or its ticket's key",
      parsed(Reference),
    )
    .option('--all', 'also those that were answered or withdrawn')
    .action(
      run.looking(async ({ ask, print }, { session, all }: { session?: string; all?: boolean }) => {
        const requests = await ask((client, limit) =>
          client.requests.list(
            {
              ...(session === undefined ? {} : { session }),
              ...(all === true ? {} : { state: 'open' }),
            },
            limit,
          ),
        )
        const none = all === true ? 'Nothing was asked yet.' : 'Nothing waits for permission.'
        print.list('request', requests, none)
      }),
    )

  program
    .command('allow')
    .description('allow what a request asks, once')
    .argument('<request>', REFERENCE, parsed(Reference))
    .option('--session', 'and what is like it, for the rest of the session')
    .action(
      run.steering(
        async ({ ask, print, world }, { session }: { session?: boolean }, ref: string) => {
          const request = await ask((client, limit) =>
            client.requests.allow(
              { ref, forSession: session === true, commandId: world.uuid() },
              limit,
            ),
          )
          print.made(
            'request',
            request,
            `${request.ticket}: ${request.state} ${oneLine(request.title)}`,
          )
        },
      ),
    )

  program
    .command('deny')
    .description('deny what a request asks; the text reaches the model as the reason')
    .argument('<request>', REFERENCE, parsed(Reference))
    .argument('[text]', 'why, or what to do instead; - reads the standard input')
    .action(
      run.steering(
        async ({ ask, print, world }, _options, ref: string, text: string | undefined) => {
          const whole =
            text === undefined ? undefined : notEmpty(await textOrStdin(text, world, TEXT_LIMIT))
          const request = await ask((client, limit) =>
            client.requests.deny(
              { ref, commandId: world.uuid(), ...(whole === undefined ? {} : { text: whole }) },
              limit,
            ),
          )
          print.made(
            'request',
            request,
            `${request.ticket}: ${request.state} ${oneLine(request.title)}`,
          )
        },
      ),
    )
}
