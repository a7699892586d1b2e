import type { Readable } from 'node:stream'
import { type UtilityProcess, utilityProcess } from 'electron'
import {
  type AgentProcess,
  createExitNotice,
  createWireChannel,
  type Launcher,
  type Log,
  logOutput,
} from '../src-core/index.ts'

/**
 * Starts agents as utility processes, none before `ready`: what is told to one until then reaches it when it runs.
 * `program` is the built agent.
 */
export function createUtilityLauncher(
  program: string,
  log: Log,
  ready: Promise<unknown> = Promise.resolve(),
): Launcher {
  return {
    launch: (agent, env) =>
      supervise(ready, () => {
        const child = utilityProcess.fork(program, [], {
          env,
          stdio: ['ignore', 'pipe', 'pipe'],
          serviceName: `Ballet ${agent}`,
        })
        logOutput(log, agent, {
          stdout: child.stdout as Readable | null,
          stderr: child.stderr as Readable | null,
        })
        return child
      }),
  }
}

function supervise(ready: Promise<unknown>, start: () => UtilityProcess): AgentProcess {
  const notice = createExitNotice()
  let child: UtilityProcess | undefined
  // Electron forgets the pid at the exit, and a kill that was asked for before the start has to wait for it.
  let isDoomed = false
  const unsent: unknown[] = []
  const wire = createWireChannel({
    send: (message) => {
      if (child === undefined) unsent.push(message)
      else child.postMessage(message)
    },
    // Its port cannot be closed from here; a process whose channel is closed has nothing left to do.
    close: () => {
      if (child === undefined) isDoomed = true
      else child.kill()
    },
  })
  const gone = (code: number | null, reason: string) => {
    wire.closed()
    notice.tell({ code, reason })
  }
  const begin = () => {
    if (isDoomed) return gone(null, 'was ended before it began')
    const started = start()
    child = started
    started.on('message', (message: unknown) => wire.receive(message))
    started.on('spawn', () => {
      if (isDoomed) end(started)
    })
    started.on('exit', (code) => gone(code, `it exited with ${code}`))
    for (const message of unsent.splice(0)) started.postMessage(message)
  }
  ready.then(begin).catch((error: unknown) => {
    gone(null, `could not be started: ${error instanceof Error ? error.message : String(error)}`)
  })
  return {
    channel: wire.channel,
    pid: () => child?.pid,
    onExit: notice.onExit,
    kill: () => {
      if (child?.pid === undefined) isDoomed = true
      else end(child)
    },
  }
}

/** At once, as the port promises; Electron's own `kill` asks politely. */
function end(child: UtilityProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(child.pid, 'SIGKILL')
  } catch {
    // It ended by itself between the look and the kill.
  }
}
