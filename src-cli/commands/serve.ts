import type { Command } from 'commander'
import type { HeadlessHost } from '../../src-shared/headless-host.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { Settings } from '../../src-shared/settings.ts'
import type { Context } from '../context.ts'
import type { CommandRunner } from '../program.ts'
import { parsedNumber } from '../values.ts'

export function addServeCommand(program: Command, run: CommandRunner): void {
  program
    .command('serve')
    .description('run Core and the fleet without a window, until SIGINT or SIGTERM')
    .option(
      '--agents <number>',
      'how many agents this run has (default: the setting)',
      parsedNumber(Settings.shape.agents.unwrap()),
    )
    .action(
      run.steering(async (context, options: { agents?: number }) => {
        const { startHeadlessHost } = await context.world.loadHost()
        await serve(context, () =>
          startHeadlessHost({
            dataDir: context.dataDir,
            ...(options.agents === undefined ? {} : { agents: options.agents }),
          }),
        )
      }),
    )
}

/** Runs a host until it is told to stop; resolves when it ended in order. */
async function serve({ world, print }: Context, start: () => Promise<HeadlessHost>): Promise<void> {
  // Whoever read that it is ready may stop reading; the host goes on.
  world.ignoreBrokenPipe()
  const told = createStopSwitch()
  const unlisten = world.onStop(told.press)
  try {
    const host = await start()
    const { info, socket } = host
    if (print.isJson) {
      const { dataDir, agents, pid, version } = info
      print.json({ ready: true, dataDir, agents, pid, version, socket })
    } else print.say(`ballet serves ${info.dataDir} with ${counted(info.agents, 'agent')}.`)

    const failure = await Promise.race([told.once, host.failed])
    if (failure === undefined) {
      print.say(
        'Stopping. The next start brings the sessions back; one whose turn is cut now then waits for your message. Again to stop at once.',
      )
    }
    const forced = await Promise.race([host.close(), told.twice])
    if (forced !== undefined) host.kill()
    if (failure !== undefined) throw failure
    if (forced === undefined) return
    throw new BalletError({
      code: 'host.killed',
      message: 'The host was stopped at once.',
      hint: 'Its sessions are reconciled at the next start.',
    })
  } finally {
    unlisten()
  }
}

type StopSwitch = {
  press(): void
  once: Promise<undefined>
  twice: Promise<'twice'>
}

function createStopSwitch(): StopSwitch {
  let pressed = 0
  let first: (value: undefined) => void = () => undefined
  let second: (value: 'twice') => void = () => undefined
  return {
    once: new Promise((resolve) => {
      first = resolve
    }),
    twice: new Promise((resolve) => {
      second = resolve
    }),
    press: () => {
      pressed += 1
      if (pressed === 1) first(undefined)
      else second('twice')
    },
  }
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}
