import { type Command, Option } from 'commander'
import { Reference } from '../../src-shared/ids.ts'
import { type InboxItem, InboxKind } from '../../src-shared/inbox.ts'
import type { Context } from '../context.ts'
import { type InboxFilter, watchInbox } from '../inbox-watch.ts'
import { fitted, oneLine } from '../plain-text.ts'
import type { CommandRunner } from '../program.ts'
import { table } from '../table.ts'
import { parsed } from '../values.ts'

type InboxOptions = { project?: string; kind?: InboxKind }

/** What waits for a person, over all sessions and projects. */
export function addInboxCommands(program: Command, run: CommandRunner): void {
  program
    .command('inbox')
    .description('everything that waits for a person, the most urgent first')
    .option('--project <project>', 'only of this project', parsed(Reference))
    .addOption(kindOption())
    .action(
      run.looking(async (context, options: InboxOptions) => {
        const items = await context.ask((client, limit) => client.inbox.list(options, limit))
        if (context.print.isJson) for (const item of items) context.print.json(item)
        else if (items.length === 0) context.print.say('Nothing waits for you.')
        else await printTable(context, items)
      }),
    )

  program
    .command('watch')
    .description('a line for each thing that waits for a person, now and from now on; for scripts')
    .option('--project <project>', 'only of this project', parsed(Reference))
    .addOption(kindOption())
    .action(run.looking(watch))
}

const kindOption = () => new Option('--kind <kind>', 'only of this kind').choices(InboxKind.options)

async function printTable(context: Context, items: readonly InboxItem[]): Promise<void> {
  const { ask, print, world } = context
  const questions = items.some(({ kind }) => kind === 'question')
    ? await ask((client, limit) => client.questions.list({ state: 'open', limit: 1_000 }, limit))
    : []
  const keys = new Map<string, string>(questions.map(({ id, key }) => [id, key]))
  const lines = table<InboxItem>(
    [
      { head: 'KIND', cell: ({ kind }) => kind },
      { head: 'TICKET', cell: ({ ticket }) => ticket },
      { head: 'WAITS', cell: ({ since }) => roughly(world.now() - Date.parse(since)), right: true },
      {
        head: 'PARKS IN',
        cell: ({ parkAt }) => (parkAt === null ? '' : roughly(Date.parse(parkAt) - world.now())),
        right: true,
      },
      { head: 'ID', cell: ({ id }) => keys.get(id) ?? id },
      { head: 'WHAT', cell: ({ text }) => text },
    ],
    items,
    world.stdout.columns,
  )
  for (const line of lines) print.say(line)
}

async function watch(context: Context, { project, kind }: InboxOptions): Promise<void> {
  const { ask, print, world, dataDir } = context
  const stop = new AbortController()
  const unlisten = world.onStop(() => stop.abort())
  try {
    const filter: InboxFilter = {
      ...(kind === undefined ? {} : { kind }),
      ...(project === undefined ? {} : { project: await projectId(ask, project) }),
    }
    await watchInbox({
      world,
      dataDir,
      connection: await context.connect(),
      filter,
      signal: stop.signal,
      onItem: (item, key) => {
        if (print.isJson) print.json(item)
        else {
          const line = [item.kind, item.ticket, key ?? item.id, oneLine(item.text)].join('  ')
          const { columns } = world.stdout
          print.say(columns === undefined ? line : fitted(line, columns))
        }
      },
      onHost: (is) => {
        if (print.isJson) return
        world.stderr.write(is === 'gone' ? 'The host is gone; waiting for it.\n' : 'It is back.\n')
      },
    })
  } finally {
    unlisten()
  }
}

async function projectId(ask: Context['ask'], ref: string) {
  return (await ask((client, limit) => client.projects.show({ ref }, limit))).id
}

const steps = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
] as const

/** A length of time in its largest unit: `40s`, `12m`, `3h`, `2d`. */
function roughly(ms: number): string {
  for (const [unit, length] of steps) if (ms >= length) return `${Math.floor(ms / length)}${unit}`
  return `${Math.max(0, Math.floor(ms / 1_000))}s`
}
