import { type Command, Option } from 'commander'
import { Duration } from '../../src-shared/duration.ts'
import { AgentId, Reference } from '../../src-shared/ids.ts'
import type { Agent } from '../../src-shared/records.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { awaitEnd } from '../await-end.ts'
import { type Context, END_LIMIT_MS } from '../context.ts'
import { UsageError } from '../failures.ts'
import { reloadText } from '../parking-fields.ts'
import type { CommandRunner } from '../program.ts'
import { parsed } from '../values.ts'

const REFERENCE = "its id or the beginning of it, or its ticket's key"

/** How often it is looked whether drained agents are free. */
const LOOK_AGAIN_MS = 250

type ResumeOptions = { withoutDamaged?: true }

type DrainOptions = { agent?: string; now?: true; cancel?: true }

export function addParkingCommands(program: Command, run: CommandRunner): void {
  program
    .command('park')
    .description('keep a session’s work and its state, and free its agent')
    .argument('<session>', REFERENCE, parsed(Reference))
    .action(
      run.steering(async (context, _options, ref: string) => {
        const { ask, print, world } = context
        const told = await ask((client, limit) =>
          client.sessions.park({ ref, commandId: world.uuid() }, limit),
        )
        const session = await awaitEnd(context, told, 'park')
        const { parked } = session
        const where =
          parked === null || parked.pushed || parked.commit === null
            ? ''
            : ` Its work is not pushed yet${parked.notPushed === null ? '' : `: ${parked.notPushed.message}`}`
        print.made('session', session, `${session.ticket} is parked.${where}`)
      }),
    )

  program
    .command('resume')
    .description('bring a parked, stopped or failed session back, without a word to it')
    .argument('<session>', REFERENCE, parsed(Reference))
    .option(
      '--without-damaged',
      'also without kept files that are damaged: the timeline says which, and they stay where they are',
    )
    .action(
      run.steering(async ({ ask, print, world }, options: ResumeOptions, ref: string) => {
        const withoutDamaged = options.withoutDamaged === true
        const reload = reloadText(
          await ask((client, limit) => client.sessions.show({ ref }, limit)),
        )
        if (reload !== null) print.say(`Resuming loads a conversation of about ${reload} again.`)
        const session = await ask((client, limit) =>
          client.sessions.resume({ ref, commandId: world.uuid(), withoutDamaged }, limit),
        )
        print.made('session', session, `${session.ticket} is ${session.state}.`)
      }),
    )

  program
    .command('keep')
    .description('keep a session that waits online: it parks so long from now at the earliest')
    .argument('<session>', REFERENCE, parsed(Reference))
    .addOption(
      new Option('--for <time>', 'how long, such as 30m, 2h or never')
        .argParser(parsed(Duration))
        .default('1h'),
    )
    .action(
      run.steering(async ({ ask, print, world }, options: { for: string }, ref: string) => {
        const session = await ask((client, limit) =>
          client.sessions.keep({ ref, commandId: world.uuid(), for: options.for }, limit),
        )
        const until =
          session.parkAt === null ? 'does not park by itself now' : `parks at ${session.parkAt}`
        print.made('session', session, `${session.ticket} ${until}.`)
      }),
    )

  program
    .command('drain')
    .description(
      'park the sessions of agents, which then take no others; waits until they are free',
    )
    .option('--agent <agent>', 'only this one: its number or agent-1', parsedAgent)
    .option('--now', 'interrupt a turn that runs instead of waiting for its end')
    .option('--cancel', 'let them take sessions again')
    .action(
      run.steering(async (context, options: DrainOptions) => {
        if (options.now === true && options.cancel === true) {
          throw new UsageError({
            code: 'usage.value',
            message: '--now and --cancel cannot be used together.',
            hint: 'Use one of them.',
          })
        }
        await drain(context, options)
      }),
    )
}

function parsedAgent(text: string): AgentId {
  return parsed(AgentId)(/^\d{1,3}$/.test(text) ? `agent-${text}` : text)
}

async function drain(context: Context, { agent, now, cancel }: DrainOptions): Promise<void> {
  const { ask, print, world } = context
  const how = cancel === true ? 'cancel' : now === true ? 'now' : 'gently'
  const id = agent === undefined ? undefined : AgentId.parse(agent)
  const of = (agents: readonly Agent[]) =>
    agents.filter((each) => id === undefined || each.id === id)
  const told = await ask((client, limit) =>
    client.agents.drain(
      { how, commandId: world.uuid(), ...(id === undefined ? {} : { agent: id }) },
      limit,
    ),
  )
  const last = how === 'cancel' ? of(told) : await untilFree(context, told, of)
  print.list('agent', last, 'The host has no agents.')
}

/** Tells whenever other sessions hold the agents. Rejects with `drain.slow`. */
async function untilFree(
  { ask, print, world }: Context,
  told: readonly Agent[],
  of: (agents: readonly Agent[]) => Agent[],
): Promise<Agent[]> {
  const since = world.monotonic()
  let shown = ''
  let current = of(told)
  for (;;) {
    const held = current.flatMap(({ ticket }) => ticket ?? [])
    if (held.length === 0) return current
    const tickets = held.join(', ')
    if (tickets !== shown) print.say(`Parking ${tickets}.`)
    shown = tickets
    if (world.monotonic() - since > END_LIMIT_MS) {
      throw new BalletError({
        code: 'drain.slow',
        message: `Agents still hold sessions ${END_LIMIT_MS / 60_000} minutes after they were told to drain: ${tickets}.`,
        hint: '`ballet drain --now` interrupts what runs; `ballet agents` tells how it stands.',
      })
    }
    await world.sleep(LOOK_AGAIN_MS)
    current = of(await ask((client, limit) => client.agents.list(undefined, limit)))
  }
}
