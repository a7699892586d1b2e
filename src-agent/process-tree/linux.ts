import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { MARK_VARIABLE } from './marker.ts'
import type { ProcessRow } from './process-table.ts'

// Synchronous on purpose: one read of /proc costs microseconds, and a table read in one go holds no
// process that was replaced between two awaits.

/** The process with this pid; null when none runs. */
export function readLinuxProcess(pid: number): ProcessRow | null {
  const stat = readProc(`/proc/${pid}/stat`)
  const row = stat === null ? null : parseStat(stat)
  if (stat === null || row === null) return null
  // A thread of the kernel has no environment; on a small machine they are most of the table.
  return { ...row, mark: isKernelThread(stat) ? null : readMark(pid) }
}

/** The identity alone, without the environment. */
export function readLinuxStartTime(pid: number): string | null {
  const stat = readProc(`/proc/${pid}/stat`)
  return stat === null ? null : (parseStat(stat)?.startTime ?? null)
}

export function readLinuxTable(): ProcessRow[] {
  const rows: ProcessRow[] = []
  for (const name of readdirSync('/proc')) {
    if (!/^[1-9][0-9]*$/.test(name)) continue
    const row = readLinuxProcess(Number(name))
    if (row !== null) rows.push(row)
  }
  return rows
}

/** PF_KTHREAD of the kernel's flags. */
const KERNEL_THREAD = 0x00200000

function isKernelThread(stat: string): boolean {
  const flags = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 7)[6]
  return (Number(flags) & KERNEL_THREAD) !== 0
}

/** Reads a line of `/proc/<pid>/stat`; null for a zombie. The name in parentheses may hold anything. */
export function parseStat(stat: string): Omit<ProcessRow, 'mark'> | null {
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .trimEnd()
    .split(' ')
  const pid = Number.parseInt(stat, 10)
  const [state, parent, group, session] = fields
  const startTime = fields[19]
  if (startTime === undefined || !Number.isInteger(pid)) return null
  if (state === 'Z' || state === 'X') return null
  return {
    pid,
    startTime,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
  }
}

/** User and system time of the process in clock ticks, from its stat line. */
export function readLinuxTicks(pid: number): { startTime: string; ticks: number } | null {
  const stat = readProc(`/proc/${pid}/stat`)
  if (stat === null) return null
  const row = parseStat(stat)
  if (row === null) return null
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { startTime: row.startTime, ticks: Number(fields[11]) + Number(fields[12]) }
}

/** Proportional set size in bytes, else the resident set, else null. */
export function readLinuxMemory(pid: number): number | null {
  const rollup = readProc(`/proc/${pid}/smaps_rollup`)
  const pss = rollup === null ? null : /^Pss:\s+(\d+) kB$/m.exec(rollup)
  if (pss?.[1] !== undefined) return Number(pss[1]) * 1024
  const status = readProc(`/proc/${pid}/status`)
  const rss = status === null ? null : /^VmRSS:\s+(\d+) kB$/m.exec(status)
  return rss?.[1] === undefined ? null : Number(rss[1]) * 1024
}

function readMark(pid: number): string | null {
  const environment = readProc(`/proc/${pid}/environ`)
  if (environment === null) return null
  const prefix = `${MARK_VARIABLE}=`
  let at = environment.startsWith(prefix) ? 0 : environment.indexOf(`\0${prefix}`)
  if (at === -1) return null
  if (at > 0) at += 1
  const end = environment.indexOf('\0', at)
  return environment.slice(at + prefix.length, end === -1 ? undefined : end)
}

const chunk = Buffer.allocUnsafe(64 * 1024)

/** The file's text as Latin-1; null when the process is gone or of another user. */
function readProc(file: string): string | null {
  let fd: number
  try {
    fd = openSync(file, 'r')
  } catch (error) {
    if (isOutOfReach(error)) return null
    throw error
  }
  try {
    let text = ''
    for (;;) {
      const length = readSync(fd, chunk, 0, chunk.length, null)
      text += chunk.toString('latin1', 0, length)
      if (length === 0) return text
    }
  } catch (error) {
    if (isOutOfReach(error)) return null
    throw error
  } finally {
    closeSync(fd)
  }
}

function isOutOfReach(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM'
}
