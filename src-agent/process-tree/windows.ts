import { execFile } from 'node:child_process'
import type { ProcessRow } from './process-table.ts'

/**
 * The table by PowerShell. Windows shows no environment of another process, so `mark` is always null there:
 * a session's processes are those that this process started, with their descendants.
 */
export async function readWindowsTable(): Promise<ProcessRow[]> {
  const text = await runPowerShell(
    'Get-CimInstance Win32_Process | Select-Object ProcessId,ParentProcessId,' +
      '@{n="Start";e={$_.CreationDate.ToFileTimeUtc()}} | ConvertTo-Csv -NoTypeInformation',
  )
  return text.split('\n').flatMap((line) => parseWindowsLine(line) ?? [])
}

/** One CSV line, `"pid","parent pid","start"`. */
export function parseWindowsLine(line: string): ProcessRow | null {
  const match = /^"(\d+)","(\d+)","(\d+)"\s*$/.exec(line)
  if (match === null || match[1] === '0') return null
  return {
    pid: Number(match[1]),
    startTime: match[3] ?? '',
    parent: Number(match[2]),
    group: 0,
    session: 0,
    mark: null,
  }
}

/** Ends the process and its descendants by the system's own tool. */
export function killWindowsTree(pid: number): Promise<void> {
  return new Promise((resolve) => {
    // What it could not end shows in the next look at the table.
    execFile('taskkill', ['/PID', String(pid), '/T', '/F'], { timeout: 10_000 }, () => resolve())
  })
}

function runPowerShell(command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      'powershell.exe',
      ['-NoProfile', '-NonInteractive', '-Command', command],
      { timeout: 15_000, maxBuffer: 16 * 1024 * 1024, windowsHide: true },
      (error, stdout) => (error === null ? resolve(stdout) : reject(error)),
    )
  })
}
