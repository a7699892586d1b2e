import { type Command, Option } from 'commander'
import { z } from 'zod'
import { TEXT_LIMIT } from '../../src-shared/call.ts'
import { Reference } from '../../src-shared/ids.ts'
import { type Question, QuestionState } from '../../src-shared/questions.ts'
import type { SessionState } from '../../src-shared/records.ts'
import { type Context, notEmpty, textOrStdin } from '../context.ts'
import { UsageError } from '../failures.ts'
import { reloadText } from '../parking-fields.ts'
import { oneLine } from '../plain-text.ts'
import type { CommandRunner } from '../program.ts'
import { parsed, parsedNumber } from '../values.ts'

const REFERENCE = 'its key, its id or the beginning of it'
const SEND_NOW = 'deliver it now, though other questions of its turn are open'
const NO_RESUME = 'leave a stopped session as it is; the answer waits there'

type Delivered = { sendNow?: boolean; resume: boolean }
type ListOptions = {
  project?: string
  ticket?: string
  session?: string
  state?: QuestionState
  search?: string
  limit?: number
}

const OptionNumber = z.int().min(1, 'options count from 1').max(10, 'there are 10 options at most')

/** What agents ask, and the answers. */
export function addQuestionCommands(program: Command, run: CommandRunner): void {
  const question = program.command('question').description('what agents ask')

  question
    .command('list')
    .description('questions, oldest first, with what was answered and by whom')
    .option('--project <project>', 'only of this project', parsed(Reference))
    .option('--ticket <ticket>', 'only of this ticket', parsed(Reference))
    .option('--session <session>', 'only of this session', parsed(Reference))
    .addOption(new Option('--state <state>', 'only in this state').choices(QuestionState.options))
    .option('--search <text>', 'in question, answer and key')
    .option(
      '--limit <number>',
      'the newest ones, when there are more (default: 200)',
      parsedNumber(z.int().min(1).max(1_000)),
    )
    .action(
      run.looking(async ({ ask, print }, options: ListOptions) => {
        const found = await ask((client, limit) => client.questions.list(options, limit))
        print.list('question', found, 'There are no such questions.')
      }),
    )

  question
    .command('show')
    .description('one question, with everything to decide it by')
    .argument('<question>', REFERENCE, parsed(Reference))
    .action(
      run.looking(async ({ ask, print }, _options, ref: string) => {
        print.one('question', await ask((client, limit) => client.questions.show({ ref }, limit)))
      }),
    )

  question
    .command('undo')
    .description('take back an answer that its session does not have yet')
    .argument('<question>', REFERENCE, parsed(Reference))
    .action(
      run.steering(async ({ ask, print, world }, _options, ref: string) => {
        const open = await ask((client, limit) =>
          client.questions.undo({ ref, commandId: world.uuid() }, limit),
        )
        print.made('question', open, `${open.key} is open again.`)
      }),
    )

  question
    .command('send-now')
    .description('deliver what is answered of its turn, though others of it are open')
    .argument('<question>', REFERENCE, parsed(Reference))
    .action(
      run.steering(async ({ ask, print, world }, _options, ref: string) => {
        const sent = await ask((client, limit) =>
          client.questions.sendNow({ ref, commandId: world.uuid() }, limit),
        )
        print.made('question', sent, `What is answered of the turn of ${sent.key} is on its way.`)
      }),
    )

  addAnswerCommands(program, run)
}

function addAnswerCommands(program: Command, run: CommandRunner): void {
  program
    .command('answer')
    .description('answer a question; the answer is the next message of its session')
    .argument('<question>', REFERENCE, parsed(Reference))
    .argument('[text...]', 'the answer, or what goes with the options; - reads the standard input')
    .option('--option <number>', 'the number of an option, from 1; repeatable', optionNumbers)
    .option('--send-now', SEND_NOW)
    .option('--no-resume', NO_RESUME)
    .action(
      run.steering(
        async (
          { ask, print, world },
          given: Delivered & { option?: number[] },
          ref: string,
          words: string[],
        ) => {
          const { options, text } = answerOf(given.option ?? [], words)
          const whole =
            text === undefined ? undefined : notEmpty(await textOrStdin(text, world, TEXT_LIMIT))
          const answered = await ask((client, limit) =>
            client.questions.answer(
              {
                ref,
                ...(options.length === 0 ? {} : { options }),
                ...(whole === undefined ? {} : { text: whole }),
                ...deliveredAs(given),
                commandId: world.uuid(),
              },
              limit,
            ),
          )
          const reload = await reloadOf(ask, answered)
          print.made('question', answered, `${told(answered)}${reload}`)
        },
      ),
    )

  program
    .command('decline')
    .description('leave the decision to the agent, with a word or without')
    .argument('<question>', REFERENCE, parsed(Reference))
    .argument('[text]', 'a word with it; - reads the standard input')
    .option('--send-now', SEND_NOW)
    .option('--no-resume', NO_RESUME)
    .action(
      run.steering(
        async ({ ask, print, world }, given: Delivered, ref: string, text: string | undefined) => {
          const whole =
            text === undefined ? undefined : notEmpty(await textOrStdin(text, world, TEXT_LIMIT))
          const declined = await ask((client, limit) =>
            client.questions.decline(
              {
                ref,
                ...(whole === undefined ? {} : { text: whole }),
                ...deliveredAs(given),
                commandId: world.uuid(),
              },
              limit,
            ),
          )
          print.made('question', declined, told(declined))
        },
      ),
    )
}

/** `--option 1 --option 2`, `--option 1,2` and `--option 1 2`: the last leaves the 2 among the words. */
function answerOf(
  chosen: readonly number[],
  words: readonly string[],
): { options: number[]; text: string | undefined } {
  const isNumber = (word: string) => chosen.length > 0 && /^\d{1,2}$/.test(word)
  const options = [...chosen, ...words.filter(isNumber).map(Number)]
  const wrong = options.find((number) => !OptionNumber.safeParse(number).success)
  if (wrong !== undefined) {
    throw new UsageError({
      code: 'usage.value',
      message: `There is no option ${wrong}.`,
      hint: 'Options count from 1; `ballet question show` lists them.',
    })
  }
  const [text, ...more] = words.filter((word) => !isNumber(word))
  if (more.length > 0) {
    throw new UsageError({
      code: 'usage.argument',
      message: 'The answer is one text.',
      hint: 'Put it in quotes, or pipe it in and give - as the text.',
    })
  }
  if (text === undefined && options.length === 0) {
    throw new UsageError({
      code: 'usage.missing',
      message: 'There is no answer.',
      hint: 'Give --option with a number, a text, or - to read the standard input; `ballet decline` leaves it to the agent.',
    })
  }
  return { options, text }
}

function optionNumbers(text: string, before: readonly number[] | undefined): number[] {
  return [...(before ?? []), ...text.split(',').map((part) => parsedNumber(OptionNumber)(part))]
}

function deliveredAs({ sendNow, resume }: Delivered) {
  return {
    ...(sendNow === true ? { sendNow: true } : {}),
    ...(resume ? {} : { resume: false }),
  }
}

function told(question: Question): string {
  const { key, answer } = question
  return `${key}: ${oneLine(answer?.text ?? '')}\n${onItsWay(question)}`
}

const HOLDS_NO_AGENT: ReadonlySet<SessionState> = new Set(['parked', 'failed', 'resuming'])

/** What its session reads again to go on with the answer; nothing where it holds an agent. */
async function reloadOf(ask: Context['ask'], { session }: Question): Promise<string> {
  try {
    const found = await ask((client, limit) => client.sessions.show({ ref: session }, limit))
    const reload = HOLDS_NO_AGENT.has(found.state) ? reloadText(found) : null
    return reload === null ? '' : ` Going on loads its conversation of ${reload} again.`
  } catch {
    // The answer is given all the same.
    return ''
  }
}

function onItsWay({ key, state, input, undoUntil }: Question): string {
  if (state === 'answered' && undoUntil !== null) {
    return `It can be taken back until ${undoUntil}: ballet question undo ${key}`
  }
  return input === null
    ? `It is delivered when its turn is over and all that was asked in it is answered; now with: ballet question send-now ${key}; until then it can be taken back: ballet question undo ${key}`
    : 'It is the next message of its session.'
}
