import type { Command } from 'commander'
import { BalletError } from '../../src-shared/refusal.ts'
import type { EventBody } from '../../src-shared/timeline.ts'
import { awaitEnd } from '../await-end.ts'
import { type Context, createContext } from '../context.ts'
import { followTimeline } from '../follow.ts'
import type { CommandRunner } from '../program.ts'
import { jsonTimeline, textTimeline } from '../timeline-printer.ts'

/** The longest that the demo's one turn and its push may take. */
const DEMO_LIMIT_MS = 180_000

export function addDemoCommand(program: Command, run: CommandRunner): void {
  program
    .command('demo')
    .description(
      'run a sample ticket with a scripted model, here in the terminal; in a folder of its own, or in --data',
    )
    .action(
      run.steering(async (context) => {
        const { world, print, dataDir } = context
        world.ignoreBrokenPipe()
        const stop = new AbortController()
        const unlisten = world.onStop(() => stop.abort())
        // Only a folder that was named is used; the application's own is not for demonstrations.
        const own = context.namesFolder ? undefined : await world.temporaryFolder()
        const folder = own?.path ?? dataDir
        try {
          print.say('Starting a host for the demo …')
          const { startHeadlessHost } = await world.loadHost()
          const host = await startHeadlessHost({ dataDir: folder, agents: 1 })
          const demo = createContext(world, { data: folder, json: print.isJson })
          try {
            await showDemo(demo, stop.signal)
          } catch (error) {
            if (!stop.signal.aborted) throw error
          } finally {
            demo.close()
            await host.close()
          }
          if (stop.signal.aborted) print.say('Stopped.')
        } finally {
          await own?.remove()
          unlisten()
        }
      }),
    )
}

async function showDemo(context: Context, stop: AbortSignal): Promise<void> {
  const { world, print } = context
  const limit = AbortSignal.any([stop, AbortSignal.timeout(DEMO_LIMIT_MS)])
  const session = await context.ask((client) => client.host.demo({}, { signal: limit }))
  print.say(`${session.ticket} ${session.title}\n`)
  const seen = createSummary()
  const printer = print.isJson ? jsonTimeline(world.stdout) : textTimeline(world.stdout)
  await followTimeline({
    world,
    dataDir: context.dataDir,
    connection: await world.connect(context.dataDir),
    session,
    after: 0,
    printer,
    showsLive: !print.isJson && world.stdout.columns !== undefined,
    signal: limit,
    onHost: () => undefined,
    isEnough: seen.take,
  })
  if (stop.aborted) return
  const end = seen.end()
  const failure = seen.failure()
  if (failure !== undefined) throw unfinished(failure)
  if (end === undefined) throw unfinished('The turn did not end in time.')
  if (end.reason !== 'completed') {
    throw unfinished(
      `The turn ended as ${end.reason}${end.detail ? `: ${end.detail}` : '.'}`,
      end.hint,
    )
  }
  const told = await context.ask((client) =>
    client.sessions.finish({ ref: session.id }, { signal: limit }),
  )
  const finished = await awaitEnd(context, told, 'finish')
  print.say('')
  for (const text of seen.changes()) print.say(text)
  print.say(`Committed and pushed to ${finished.branch} of the sample repository.`)
}

type TurnEnd = Extract<EventBody, { kind: 'turn.ended' }>

/** What the timeline said, for the last lines of the demo. */
function createSummary() {
  const files = new Map<string, { added: number; removed: number }>()
  let ended: TurnEnd | undefined
  let failure: string | undefined
  return {
    take: (event: EventBody): boolean => {
      if (event.kind === 'tool.result') {
        for (const { path, added, removed } of event.diff ?? []) {
          const before = files.get(path) ?? { added: 0, removed: 0 }
          files.set(path, { added: before.added + added, removed: before.removed + removed })
        }
      }
      if (event.kind === 'turn.ended') ended = event
      if (event.kind === 'session.state' && event.to === 'failed') failure = event.reason
      return ended !== undefined || failure !== undefined
    },
    end: () => ended,
    failure: () => failure,
    changes: () =>
      [...files].map(([path, { added, removed }]) => `Changed ${path}: +${added} -${removed}`),
  }
}

function unfinished(message: string, hint?: string): BalletError {
  return new BalletError({
    code: 'demo.unfinished',
    message: `The demo did not come to its end. ${message}`,
    hint: hint ?? '`ballet demo --data FOLDER` keeps its data folder, with the log in `logs`.',
  })
}
