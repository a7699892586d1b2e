import { setTimeout as sleep } from 'node:timers/promises'
import { type BalletClient, type BalletConnection, connectTo } from './ballet-client.ts'
import { BALLET_PROGRAM, type CommandResult, runBallet } from './command-line.ts'
import { jsonLines, type Program, startProgram } from './program.ts'
import { waitFor } from './wait-for.ts'

/** The host hears each of two signals that are so far apart. */
const BETWEEN_SIGNALS_MS = 300

/** `ballet serve` on a data folder, as a process of its own. */
export type HeadlessHost = {
  readonly pid: number
  readonly dataDir: string
  readonly client: BalletClient
  /** `ballet` on this data folder, with `--json`. */
  cli(...args: string[]): Promise<CommandResult>
  /** `kill -9`; resolves when it is gone. */
  kill(): Promise<void>
  /** SIGTERM: every session is parked first, a working one at the end of its turn or its grace. Gives the exit code. */
  stop(): Promise<number | null>
  /** The fast way of it, as for a machine that goes down. */
  stopFast(): Promise<number | null>
  isRunning(): boolean
  /** Everything that it printed on standard error. */
  stderr(): string
}

export type HeadlessHostOptions = {
  readonly dataDir: string
  readonly env: Readonly<Record<string, string>>
  /** Default 1. */
  readonly agents?: number
  /** `bin/ballet.mjs` of the installation; default the clone's own. */
  readonly program?: string
}

/**
 * Starts the host and waits until it serves.
 * @throws Error with what it printed, when it ends before that
 */
export async function startHeadlessHost(options: HeadlessHostOptions): Promise<HeadlessHost> {
  const { dataDir, env, agents = 1 } = options
  const program = startServing(options)
  await waitFor(
    'the host to serve',
    () => {
      if (!program.isRunning()) return true
      return jsonLines(program.stdout()).some((line) => line.ready === true)
    },
    { state: () => program.stdout() + program.stderr() },
  )
  if (!program.isRunning()) {
    const { code, stdout, stderr } = await program.ended
    throw new Error(`The host with ${agents} agents ended with ${code}:\n${stdout}${stderr}`)
  }
  let connection: BalletConnection
  try {
    connection = await connectTo(dataDir)
  } catch (error) {
    program.child.kill('SIGKILL')
    throw error
  }
  return {
    pid: program.pid,
    dataDir,
    client: connection.client,
    cli: (...args) => runBallet([...args, '--data', dataDir, '--json'], { env }),
    kill: async () => {
      program.child.kill('SIGKILL')
      await program.exited
      connection.close()
    },
    stop: async () => {
      connection.close()
      program.child.kill('SIGTERM')
      return program.exited
    },
    stopFast: async () => {
      connection.close()
      // Two signals at the same moment are one.
      for (let sent = 0; sent < 2 && program.isRunning(); sent += 1) {
        program.child.kill('SIGTERM')
        await Promise.race([program.exited, sleep(BETWEEN_SIGNALS_MS)])
      }
      return program.exited
    },
    isRunning: program.isRunning,
    stderr: program.stderr,
  }
}

/** Starts `ballet serve` and does not wait for anything. */
export function startServing({
  dataDir,
  env,
  agents = 1,
  program = BALLET_PROGRAM,
}: HeadlessHostOptions): Program {
  const args = ['serve', '--data', dataDir, '--agents', String(agents), '--json']
  return startProgram(process.execPath, [program, ...args], { env })
}
