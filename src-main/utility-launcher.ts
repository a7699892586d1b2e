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

/** Starts agents as utility processes. `program` is the built agent. */
export function createUtilityLauncher(program: string, log: Log): Launcher {
  return {
    launch: (agent, env) => {
      const child = utilityProcess.fork(program, [], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
        serviceName: `Ballet ${agent}`,
      })
      logOutput(log, agent, {
        stdout: child.stdout as Readable | null,
        stderr: child.stderr as Readable | null,
      })
      return supervise(child)
    },
  }
}

function supervise(child: UtilityProcess): AgentProcess {
  const notice = createExitNotice()
  // Electron forgets the pid at the exit, and a kill that was asked for before the start has to wait for it.
  let isDoomed = false
  const wire = createWireChannel({
    send: (message) => child.postMessage(message),
    // Its port cannot be closed from here; a process whose channel is closed has nothing left to do.
    close: () => child.kill(),
  })
  child.on('message', (message: unknown) => wire.receive(message))
  child.on('spawn', () => {
    if (isDoomed) end(child)
  })
  child.on('exit', (code) => {
    wire.closed()
    notice.tell({ code, reason: `it exited with ${code}` })
  })
  return {
    channel: wire.channel,
    pid: () => child.pid,
    onExit: notice.onExit,
    kill: () => {
      if (child.pid === undefined) isDoomed = true
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
