import { execFile } from 'node:child_process'
import { MARK_VARIABLE } from './marker.ts'
import type { ProcessRow } from './process-table.ts'

/** The table by `ps`, for systems without /proc; `e` appends each process's environment to its command. */
export async function readPsTable(): Promise<ProcessRow[]> {
  const text = await runPs(['axeww', '-o', 'pid=,ppid=,pgid=,stat=,lstart=,command='])
  return text.split('\n').flatMap((line) => parsePsLine(line) ?? [])
}

/** Memory in bytes and processor time in milliseconds of each of these pids that runs. */
export async function readPsUsage(
  pids: readonly number[],
): Promise<{ pid: number; startTime: string; memoryBytes: number; cpuMs: number }[]> {
  if (pids.length === 0) return []
  const text = await runPs(['-o', 'pid=,rss=,time=,lstart=', '-p', pids.join(',')])
  return text.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\S.*\S)\s*$/.exec(line)
    if (match === null) return []
    return {
      pid: Number(match[1]),
      startTime: match[4] ?? '',
      memoryBytes: Number(match[2]) * 1024,
      cpuMs: parsePsTime(match[3] ?? ''),
    }
  })
}

const LINE =
  /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\d+:\d+:\d+\s+\d+)(?:\s+(.*))?$/

/** One line of `ps axeww -o pid=,ppid=,pgid=,stat=,lstart=,command=`; null for a zombie or another line. */
export function parsePsLine(line: string): ProcessRow | null {
  const match = LINE.exec(line)
  if (match === null) return null
  const [, pid, parent, group, state, startTime, command] = match
  if (state?.startsWith('Z')) return null
  const mark = new RegExp(`(?:^|\\s)${MARK_VARIABLE}=(\\S+)`).exec(command ?? '')
  return {
    pid: Number(pid),
    startTime: startTime ?? '',
    parent: Number(parent),
    group: Number(group),
    session: 0,
    mark: mark?.[1] ?? null,
  }
}

/** `[[dd-]hh:]mm:ss[.cc]` in milliseconds. */
export function parsePsTime(text: string): number {
  const [days, clock] = text.includes('-') ? text.split('-') : ['0', text]
  const seconds = (clock ?? '').split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
  return Math.round((Number(days) * 86_400 + seconds) * 1_000)
}

function runPs(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      'ps',
      [...args],
      {
        timeout: 5_000,
        maxBuffer: 64 * 1024 * 1024,
        // lstart and time are in the language of the user otherwise.
        env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C' },
      },
      (error, stdout) => {
        // ps exits with 1 when none of the asked pids runs.
        if (error !== null && (error.code !== 1 || error.killed)) reject(error)
        else resolve(stdout)
      },
    )
  })
}
