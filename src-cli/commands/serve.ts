import type { Command } from 'commander'
import type { HeadlessHost } from '../../src-shared/headless-host.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { Settings } from '../../src-shared/settings.ts'
import type { Context } from '../context.ts'
import type { Printer } from '../output.ts'
import type { CommandRunner } from '../program.ts'
import { counted } from '../quantities.ts'
import { parsedNumber } from '../values.ts'

export function addServeCommand(program: Command, run: CommandRunner): void {
  program
    .command('serve')
    .description(
      'run Core and the fleet without a window, until SIGINT or SIGTERM; every session is parked then',
    )
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

    const failure = await Promise.race([told.pressed(1), host.failed])
    const forced =
      failure === undefined
        ? await leave(host, print, told)
        : await Promise.race([host.close(), told.pressed(2).then(() => 'forced' as const)])
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

/**
 * Parks every session, gently or when told again fast, and closes the host. Resolves with `forced` when it was told a
 * third time.
 */
async function leave(
  host: HeadlessHost,
  print: Printer,
  told: StopSwitch,
): Promise<'forced' | undefined> {
  let isFast = false
  host.onHolding((tickets) => {
    if (print.isJson) return print.json({ parking: tickets })
    const parked = `Parking ${tickets.join(', ')}`
    print.say(isFast ? `${parked}.` : `${parked}: a turn that runs has its grace. Again: at once.`)
  })
  const hurried = told.pressed(2).then(() => {
    isFast = true
    return host.leave('fast')
  })
  const ended = Promise.race([host.leave('gently'), hurried]).then(async (left) => {
    if (left === 'late') {
      print.say('Not every session could be parked; those go on at the next start.')
    } else print.say('Every session is parked. What worked goes on at the next start.')
    await host.close()
  })
  return Promise.race([ended.then(() => undefined), told.pressed(3).then(() => 'forced' as const)])
}

type StopSwitch = {
  press(): void
  /** Resolves when it was pressed so often. */
  pressed(times: number): Promise<undefined>
}

function createStopSwitch(): StopSwitch {
  let count = 0
  const waiting: { times: number; resolve: (value: undefined) => void }[] = []
  return {
    press: () => {
      count += 1
      for (const { times, resolve } of waiting) if (times <= count) resolve(undefined)
    },
    pressed: (times) =>
      new Promise((resolve) => {
        if (times <= count) resolve(undefined)
        else waiting.push({ times, resolve })
      }),
  }
}
