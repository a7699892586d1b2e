import { type ChildProcess, fork } from 'node:child_process'
import {
  type AgentProcess,
  createExitNotice,
  createWireChannel,
  type Launcher,
  type Log,
  logOutput,
} from '../src-core/index.ts'

/** Starts agents as child processes, each with a channel of structured values. `program` is the built agent. */
export function createChildLauncher(program: string, log: Log): Launcher {
  return {
    launch: (agent, env) => {
      const child = fork(program, [], {
        env,
        serialization: 'advanced',
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
        // Nothing that this process was started with, such as a debugger's port.
        execArgv: [],
        // Its own group: a terminal's Ctrl+C reaches the host alone, which then ends its agents in order.
        detached: process.platform !== 'win32',
      })
      logOutput(log, agent, child)
      return supervise(child)
    },
  }
}

function supervise(child: ChildProcess): AgentProcess {
  const wire = createWireChannel({
    // A message that cannot be sent means that the process is going; its exit tells the rest.
    send: (message) => {
      if (child.connected) child.send(message as object, () => undefined)
    },
    close: () => {
      if (child.connected) child.disconnect()
    },
  })
  child.on('message', (message) => wire.receive(message))
  child.on('disconnect', () => wire.closed())

  const notice = createExitNotice()
  child.on('exit', (code, signal) => {
    wire.closed()
    notice.tell({
      code,
      reason: signal === null ? `it exited with ${code}` : `it was ended by ${signal}`,
    })
  })
  child.on('error', (error) => {
    // Also a failed kill is told here; only without a process it is the end.
    if (child.pid !== undefined) return
    wire.closed()
    notice.tell({ code: null, reason: `it could not be started: ${error.message}` })
  })
  return {
    channel: wire.channel,
    pid: () => child.pid,
    onExit: notice.onExit,
    kill: () => {
      child.kill('SIGKILL')
    },
  }
}
