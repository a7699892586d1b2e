import { resolve } from 'node:path'
import type { Command } from 'commander'
import { Reference } from '../../src-shared/ids.ts'
import type { Leftover } from '../../src-shared/moving.ts'
import { importCommand, Passphrase } from '../../src-shared/moving.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import type { Context } from '../context.ts'
import { describeIssues, UsageError } from '../failures.ts'
import { plainText } from '../plain-text.ts'
import type { CommandRunner } from '../program.ts'
import { bytesText, counted } from '../quantities.ts'
import { parsed } from '../values.ts'

/** How long a session may take to park, or a file to be written or read: over what the host allows. */
const MOVE_LIMIT_MS = 65 * 60_000

/** `session export` and `session import`. */
export function addMovingCommands(session: Command, run: CommandRunner): void {
  session
    .command('export')
    .description('park it and write all of it to one file, to go on with it on another host')
    .argument('<session>', "its id or the beginning of it, or its ticket's key", parsed(Reference))
    .requiredOption('--out <file>', 'a new file; nothing is written over')
    .addHelpText('after', PASSPHRASE_HELP)
    .action(
      run.steering(async (context, { out }: { out: string }, ref: string) => {
        const { print, world } = context
        const passphrase = await passphraseFor(context, { isNew: true })
        const file = resolve(world.cwd, out)
        const { client } = await context.connect()
        const made = await client.sessions.export({ ref, file, passphrase }, moveLimit())
        if (print.isJson) print.json(made)
        else {
          const size = bytesText(made.bytes)
          print.say(
            `${ref} is in ${made.file} (${size}). It takes no more inputs here. Where it is to go on: ${importCommand(made.file)}`,
          )
        }
      }),
    )

  session
    .command('import')
    .description('take a session in that another host exported; it is parked, as it was')
    .argument('<file>', 'what session export wrote')
    .option(
      '--project <project>',
      'the project that it belongs to (default: the one with its remote)',
      parsed(Reference),
    )
    .addHelpText('after', PASSPHRASE_HELP)
    .action(
      run.steering(async (context, { project }: { project?: string }, name: string) => {
        const { print, world } = context
        const passphrase = await passphraseFor(context, { isNew: false })
        const file = resolve(world.cwd, name)
        const { client } = await context.connect()
        const given = { file, passphrase, ...(project === undefined ? {} : { project }) }
        const made = await client.sessions.import(given, moveLimit())
        print.made(
          'session',
          made,
          `${made.ticket} is here, ${made.state}: answer it or send a message, and any agent goes on with it.`,
        )
      }),
    )
}

const moveLimit = () => ({ signal: AbortSignal.timeout(MOVE_LIMIT_MS) })

const PASSPHRASE_HELP =
  '\nThe passphrase is asked for, or taken from BALLET_PASSPHRASE. Without it nobody can open the file.'

async function passphraseFor({ world }: Context, { isNew }: { isNew: boolean }): Promise<string> {
  const given = world.env.BALLET_PASSPHRASE
  if (given !== undefined && given !== '') return checked(given)
  const typed = checked(await world.askSecret('Passphrase: '))
  if (isNew && (await world.askSecret('Once more: ')) !== typed) {
    throw new UsageError({
      code: 'usage.value',
      message: 'The two passphrases differ.',
      hint: 'Nothing was exported. Try again.',
    })
  }
  return typed
}

function checked(text: string): string {
  const result = Passphrase.safeParse(text)
  if (result.success) return result.data
  throw new UsageError({
    code: 'usage.value',
    message: `The passphrase does not do: ${describeIssues(result.error.issues)}.`,
    hint: 'Give a longer one, of several words.',
  })
}

/** `key export` and `gc`. */
export function addHousekeepingCommands(program: Command, run: CommandRunner): void {
  program
    .command('key')
    .description('the key that seals what is kept of parked sessions')
    .command('export')
    .description('write the key to a file of yours alone, for a host without a keychain')
    .action(
      run.steering(async ({ ask, print }) => {
        const key = await ask((client, limit) => client.host.exportKey(undefined, limit))
        if (print.isJson) print.json(key)
        else if (key.written) print.say(`The data key is in ${key.file} now. Keep it to yourself.`)
        else print.say(`The data key is in ${key.file} already.`)
      }),
    )

  program
    .command('gc')
    .description('list what Ballet left on the disk and nothing needs any more')
    .option('--remove', 'remove it as well')
    .action(
      run.steering(async (context, { remove = false }: { remove?: boolean }) => {
        const { print } = context
        const { client } = await context.connect()
        const found = await client.host.gc({ remove }, moveLimit())
        if (print.isJson) for (const each of found) print.json(each)
        else for (const line of leftoverLines(found, remove)) print.say(line)
        const failed = found.find(({ refusal }) => refusal !== null)
        if (failed?.refusal) throw new BalletError(failed.refusal)
      }),
    )
}

function leftoverLines(found: readonly Leftover[], remove: boolean): string[] {
  if (found.length === 0) return ['There are no leftovers.']
  const lines = found.map(({ kind, path, bytes, why, refusal }) => {
    const stays = refusal === null ? '' : ` It stays: ${plainText(refusal.message)}`
    return `${kind}  ${plainText(path)}  (${bytesText(bytes)}; ${why})${stays}`
  })
  const gone = found.filter(({ removed }) => removed)
  const size = (list: readonly Leftover[]) =>
    bytesText(list.reduce((sum, { bytes }) => sum + bytes, 0))
  const last = remove
    ? `${counted(gone.length, 'leftover')} removed, ${size(gone)}.`
    : `${counted(found.length, 'leftover')}, ${size(found)}. \`ballet gc --remove\` removes them.`
  return [...lines, last]
}
