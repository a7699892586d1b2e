import { spawn } from 'node:child_process'

export type BriefRun = {
  /** Null when the limit passed or a signal ended it. */
  exitCode: number | null
  stdout: string
  stderr: string
  timedOut: boolean
}

const OUTPUT_CAP = 256 * 1024

/**
 * Runs a short command to its end, or to the limit: then its process group is killed. Rejects with the
 * system's error when it cannot be started.
 */
export function runBriefly(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: Readonly<Record<string, string>>; limitMs: number },
): Promise<BriefRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args], {
      cwd: options.cwd,
      env: { ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
    })
    const output = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output.stdout = (output.stdout + text).slice(0, OUTPUT_CAP)
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output.stderr = (output.stderr + text).slice(0, OUTPUT_CAP)
    })
    let timedOut = false
    const timer = setTimeout(() => {
      timedOut = true
      killGroup(child.pid)
      // Something outside the group may hold the pipes open.
      child.stdout.destroy()
      child.stderr.destroy()
    }, options.limitMs)
    child.once('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    child.once('close', (exitCode) => {
      clearTimeout(timer)
      resolve({ exitCode: timedOut ? null : exitCode, ...output, timedOut })
    })
  })
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'ESRCH') throw error
  }
}
