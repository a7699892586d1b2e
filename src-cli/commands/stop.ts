import type { Command } from 'commander'
import type { HostInfo } from '../../src-shared/contract.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { type Context, END_LIMIT_MS } from '../context.ts'
import type { CommandRunner } from '../program.ts'

const LOOK_AGAIN_MS = 100

/** What a host takes to end its process after it closed its connections. */
const LAST_STEPS_MS = 5_000

export function addStopCommand(program: Command, run: CommandRunner): void {
  program
    .command('stop')
    .description(
      'end the host without a window that runs on the data folder; every session is parked first; said again: within seconds',
    )
    .action(
      run.steering(async (context) => {
        const { ask, print } = context
        const host = await ask((client, limit) => client.host.info(undefined, limit))
        tell(context, host)
        await awaitEnd(context, host)
        if (print.isJson) print.json({ stopped: true, dataDir: host.dataDir, pid: host.pid })
        else print.say(`The host on ${host.dataDir} has ended.`)
      }),
    )
}

/** Sends the signal that a service manager would. Rejects with `host.desktop`, `host.no-signal` or `host.denied`. */
function tell({ world, print }: Context, { kind, pid, dataDir }: HostInfo): void {
  if (kind === 'desktop') {
    throw new BalletError({
      code: 'host.desktop',
      message: `The application with its window runs on ${dataDir}.`,
      hint: 'Close its window, or quit it there.',
    })
  }
  if (world.platform === 'win32') {
    throw new BalletError({
      code: 'host.no-signal',
      message: 'On Windows a process cannot be told to end in order by another one.',
      hint: 'Press Ctrl+C where `ballet serve` runs.',
    })
  }
  try {
    world.signal(pid, 'SIGTERM')
  } catch (error) {
    throw new BalletError(
      {
        code: 'host.denied',
        message: `The host on ${dataDir} (pid ${pid}) cannot be told to end: ${error instanceof Error ? error.message : String(error)}`,
        hint: 'Run the command as the user who runs the host.',
      },
      { cause: error },
    )
  }
  print.say(`The host on ${dataDir} parks its sessions and ends.`)
}

async function awaitEnd(context: Context, { pid, dataDir }: HostInfo): Promise<void> {
  const { world, connect } = context
  const connection = await connect()
  const since = world.monotonic()
  let goneAt: number | undefined
  while (isThere(context, pid)) {
    const now = world.monotonic()
    if (!connection.isOpen()) goneAt ??= now
    // Whoever started it may not have taken note of its end yet.
    if (goneAt !== undefined && now - goneAt > LAST_STEPS_MS) return
    if (now - since > END_LIMIT_MS) {
      throw new BalletError({
        code: 'host.slow',
        message: `The host on ${dataDir} (pid ${pid}) still runs ${END_LIMIT_MS / 60_000} minutes after it was told to end.`,
        hint: 'Say `ballet stop` again: it ends within seconds then, and what is left goes on at the next start.',
      })
    }
    await world.sleep(LOOK_AGAIN_MS)
  }
}

function isThere({ world }: Context, pid: number): boolean {
  try {
    world.signal(pid, 0)
    return true
  } catch {
    return false
  }
}
