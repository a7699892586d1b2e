import { type Command, Option } from 'commander'
import { TEXT_LIMIT } from '../../src-shared/call.ts'
import { Reference } from '../../src-shared/ids.ts'
import { AssumptionState } from '../../src-shared/questions.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { type Context, notEmpty, textOrStdin } from '../context.ts'
import { describeFailure, UsageError } from '../failures.ts'
import { oneLine } from '../plain-text.ts'
import type { CommandRunner } from '../program.ts'
import { parsed } from '../values.ts'

type ListOptions = { ticket?: string; session?: string; state?: AssumptionState }

/** What agents decided themselves, and what people think of it. */
export function addAssumptionCommands(program: Command, run: CommandRunner): void {
  program
    .command('assumptions')
    .description('decisions that agents took themselves, oldest first')
    .option('--ticket <ticket>', 'only of this ticket', parsed(Reference))
    .option('--session <session>', 'only of this session', parsed(Reference))
    .addOption(new Option('--state <state>', 'only in this state').choices(AssumptionState.options))
    .action(
      run.looking(async ({ ask, print }, options: ListOptions) => {
        const found = await ask((client, limit) => client.assumptions.list(options, limit))
        print.list('assumption', found, 'There are no such assumptions.')
      }),
    )

  program
    .command('confirm')
    .description('let an assumption stand')
    .argument('<assumption>', 'its id or the beginning of it', parsed(Reference))
    .action(
      run.steering(async ({ ask, print, world }, _options, ref: string) => {
        const confirmed = await ask((client, limit) =>
          client.assumptions.confirm({ ref, commandId: world.uuid() }, limit),
        )
        print.made(
          'assumption',
          confirmed,
          `${confirmed.ticket}: confirmed ${oneLine(confirmed.assumption)}`,
        )
      }),
    )

  program
    .command('overturn')
    .description("correct an assumption or a planner's answer; the session gets the correction")
    .argument('<id>', "an assumption's id, or a question's key or id", parsed(Reference))
    .argument('<text>', 'what holds instead; - reads the standard input')
    .option('--new-ticket', 'of an assumption whose session is over: a new ticket for it')
    .action(
      run.steering(
        async (context, { newTicket }: { newTicket?: boolean }, ref: string, text: string) => {
          const whole = notEmpty(await textOrStdin(text, context.world, TEXT_LIMIT))
          const given = { ref, text: whole, commandId: context.world.uuid() }
          if ((await kindOf(context, ref)) === 'assumption') {
            await overturnAssumption(context, { ...given, newTicket: newTicket === true })
          } else {
            await overturnAnswer(context, given, newTicket === true)
          }
        },
      ),
    )
}

type Correction = { ref: string; text: string; commandId: string }

async function overturnAssumption(
  { ask, print }: Context,
  given: Correction & { newTicket: boolean },
): Promise<void> {
  const overturned = await ask((client, limit) => client.assumptions.overturn(given, limit))
  const { ticket, newTicket } = overturned
  print.made(
    'assumption',
    overturned,
    newTicket === null
      ? `${ticket}: overturned; the session gets the correction.`
      : `${ticket}: overturned; ${newTicket.key} holds the correction.`,
  )
}

async function overturnAnswer(
  { ask, print }: Context,
  given: Correction,
  newTicket: boolean,
): Promise<void> {
  if (newTicket) {
    throw new UsageError({
      code: 'usage.option',
      message: '--new-ticket is for assumptions only.',
      hint: 'Leave it out, or write the ticket with `ballet ticket add`.',
    })
  }
  const overturned = await ask((client, limit) => client.questions.overturn(given, limit))
  print.made(
    'question',
    overturned,
    `${overturned.key}: overturned; the session gets the correction.`,
  )
}

/** What an id stands for. A question's key or whole id is certain; a prefix may fit both. */
async function kindOf({ ask }: Context, ref: string): Promise<'question' | 'assumption'> {
  const question = await ask((client, limit) => client.questions.show({ ref }, limit)).catch(
    (error: unknown) => {
      if (describeFailure(error).refusal.code === 'question.not-found') return undefined
      throw error
    },
  )
  if (question?.id === ref || question?.key === ref) return 'question'
  const assumptions = await ask((client, limit) => client.assumptions.list({}, limit))
  const fits = assumptions.some(({ id }) => id.startsWith(ref.toLowerCase()))
  if (question === undefined && !fits) {
    throw new BalletError({
      code: 'overturn.not-found',
      message: `There is neither a question nor an assumption ${JSON.stringify(ref)}.`,
      hint: '`ballet question list` and `ballet assumptions` list them.',
    })
  }
  if (question !== undefined && fits) {
    throw new UsageError({
      code: 'overturn.ambiguous',
      message: `${JSON.stringify(ref)} is the beginning of a question's id and of an assumption's.`,
      hint: 'Give more of the id.',
    })
  }
  return fits ? 'assumption' : 'question'
}
