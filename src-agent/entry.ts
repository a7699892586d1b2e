import { systemClock } from './port/clock.ts'
import { hostChannel } from './port/host-channel.ts'
import { identityOf } from './process-tree/index.ts'
import { drivers } from './runtimes/registry.ts'
import { Agent } from './session-loop/agent.ts'

/** Whatever happens, an agent whose host is gone is gone after this time. */
const LEAVE_LIMIT_MS = 6_000

const channel = hostChannel()
if (channel === null) {
  console.error('An agent is started by Ballet, which gives it a channel; it does nothing alone.')
  process.exit(2)
}

process.title = `ballet ${process.env.BALLET_AGENT ?? 'agent'}`
const own = (await identityOf(process.pid)) ?? { pid: process.pid, startTime: '' }
const agent = new Agent({ channel, drivers, clock: systemClock, own })

let exitCode: number | null = null

/** Hands over, ends the session's processes, and ends. */
function leave(code: number, canStore: boolean): void {
  if (exitCode !== null) return
  exitCode = code
  setTimeout(() => process.exit(code), LEAVE_LIMIT_MS)
  agent.leave(canStore).then(
    () => process.exit(code),
    (error: unknown) => {
      console.error('The agent could not hand over what it had.', error)
      process.exit(1)
    },
  )
}

function crash(error: unknown): void {
  const stack = error instanceof Error ? error.stack : undefined
  agent.log('error', 'the agent failed', { error: String(error), stack })
  leave(1, true)
}

channel.onClose(() => leave(0, false))
process.on('uncaughtException', crash)
process.on('unhandledRejection', crash)
process.on('SIGTERM', () => leave(0, true))
// A Ctrl-C in the host's terminal reaches its whole group; the host decides what it means.
process.on('SIGINT', () => undefined)
process.on('SIGHUP', () => undefined)
process.on('exit', () => agent.spool())
