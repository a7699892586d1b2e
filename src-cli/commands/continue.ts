import type { Command } from 'commander'
import { Reference } from '../../src-shared/ids.ts'
import { ProjectSettings } from '../../src-shared/records.ts'
import { RuntimeName, titleOfRuntime } from '../../src-shared/runtimes.ts'
import type { CommandRunner } from '../program.ts'
import { parsed } from '../values.ts'

type ContinueOptions = { with: RuntimeName; model?: string }

export function addContinueCommand(program: Command, run: CommandRunner): void {
  program
    .command('continue')
    .description(
      'let another runtime or model go on with a session: a new conversation in the same workspace, told of the ticket and of what was; a turn that runs is interrupted',
    )
    .argument('<session>', "its id or the beginning of it, or its ticket's key", parsed(Reference))
    .requiredOption(
      '--with <runtime>',
      'claude-code, opencode, codex, or acp:<name of an agent>',
      parsed(RuntimeName),
    )
    .option(
      '--model <model>',
      "its model (default: the stage's or the project's where the runtime is theirs, else its own choice)",
      parsed(ProjectSettings.shape.model.unwrap()),
    )
    .action(
      run.steering(async ({ ask, print, world }, options: ContinueOptions, ref: string) => {
        const { with: runtime, model } = options
        const session = await ask((client, limit) =>
          client.sessions.continueWith(
            { ref, runtime, commandId: world.uuid(), ...(model === undefined ? {} : { model }) },
            limit,
          ),
        )
        const first =
          session.pending === 'continue' && session.state === 'working'
            ? ' Its turn is interrupted first.'
            : ''
        print.made(
          'session',
          session,
          `${session.ticket}: ${titleOfRuntime(runtime)} goes on with it, in a new conversation.${first}`,
        )
      }),
    )
}
