import type { ProcessIdentity } from '../../src-shared/agent-wire.ts'
import { readLinuxStartTime } from './linux.ts'
import { readProcessTable } from './process-table.ts'

/** Who has this pid now; null when nobody has (a zombie is nobody). */
export async function identityOf(pid: number): Promise<ProcessIdentity | null> {
  if (process.platform === 'linux') {
    const startTime = readLinuxStartTime(pid)
    return startTime === null ? null : { pid, startTime }
  }
  const row = (await readProcessTable()).find((candidate) => candidate.pid === pid)
  return row === undefined ? null : { pid, startTime: row.startTime }
}

/** Whether exactly this process still runs. */
export async function isRunning(identity: ProcessIdentity): Promise<boolean> {
  return (await identityOf(identity.pid))?.startTime === identity.startTime
}

/** Joins the two parts, for sets and maps. */
export function identityKey(identity: ProcessIdentity): string {
  return `${identity.pid}@${identity.startTime}`
}
