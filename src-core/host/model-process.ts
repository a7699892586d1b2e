import { type ChildProcess, spawn } from 'node:child_process'
import { z } from 'zod'
import { BalletError } from '../../src-shared/refusal.ts'
import type { Clock, Log } from '../ports.ts'

const START_LIMIT_MS = 20_000
const END_LIMIT_MS = 2_000
/** How much of what it says before it fails is told. */
const STDERR_LIMIT = 2_000

/** What the model server tells when it listens. */
const Ready = z.object({ url: z.string(), port: z.int().min(1) })

export type ModelProgram = {
  /** Runs JavaScript: Node's program, or Electron's, which `env` tells to be Node. */
  execPath: string
  env: Readonly<Record<string, string>>
  /** The built model server. */
  program: string
  /** What it says. */
  script: string
}

export type ModelProcess = {
  url: string
  port: number
  /** Called once, unless it was closed. */
  onExit(listener: (reason: string) => void): void
  close(): Promise<void>
}

/**
 * Starts the scripted model. It ends with this process, also when this process is killed: their channel then closes.
 * Rejects with `BalletError`, code `demo.no-model`.
 */
export function startModel(
  { execPath, env, program, script }: ModelProgram,
  port: number,
  { clock, log }: { clock: Clock; log: Log },
): Promise<ModelProcess> {
  const args = [program, '--port', String(port), '--script', script, '--keep', '1']
  const child = spawn(execPath, args, {
    env: { ...env },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    windowsHide: true,
  })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-STDERR_LIMIT)
    log.warn('the model server printed', { text })
  })
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      stopWaiting()
      child.kill('SIGKILL')
      reject(
        new BalletError({
          code: 'demo.no-model',
          message: `The demo's model server did not start: ${why}${said === '' ? '' : ` (${said.trim()})`}.`,
          hint: 'Start the demo again; if it stays so, the log of the host says more.',
        }),
      )
    }
    const stopWaiting = clock.after(START_LIMIT_MS, () =>
      fail(`it said nothing for ${START_LIMIT_MS / 1_000} s`),
    )
    child.once('error', (error) => fail(error.message))
    child.once('close', (code, signal) => fail(`it ended (${signal ?? `code ${code}`})`))
    child.once('message', (message) => {
      const ready = Ready.safeParse(message)
      if (!ready.success) return fail('it did not say where it listens')
      stopWaiting()
      child.removeAllListeners('close')
      resolve({ ...ready.data, ...supervise(child, clock) })
    })
  })
}

function supervise(child: ChildProcess, clock: Clock): Pick<ModelProcess, 'onExit' | 'close'> {
  let isClosed = false
  let listener: ((reason: string) => void) | undefined
  const exited = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve()
      if (!isClosed) listener?.(signal ?? `code ${code}`)
    })
  })
  return {
    onExit: (next) => {
      listener = next
    },
    close: async () => {
      isClosed = true
      if (child.exitCode !== null || child.signalCode !== null) return
      if (child.connected) child.disconnect()
      const stopWaiting = clock.after(END_LIMIT_MS, () => child.kill('SIGKILL'))
      await exited
      stopWaiting()
    },
  }
}
