import type { ProcessIdentity } from '../../src-shared/agent-wire.ts'
import { identityKey } from './identity.ts'
import { readLinuxMemory, readLinuxTicks } from './linux.ts'
import { readPsUsage } from './ps.ts'

/** Ticks of processor time are hundredths of a second on every Linux that Ballet runs on. */
const MS_PER_TICK = 10

export type TreeUsage = {
  /** Proportional set size where the system tells it, else resident size; bytes. */
  memoryBytes: number
  /** Per cent of one core since the reading before; 0 at the first one. */
  cpuPercent: number
}

/** Reads what processes use; each reading compares with the one before. */
export class UsageMeter {
  #before = new Map<string, number>()
  #readAt: number | null = null
  readonly #now: () => number

  /** `now` in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  async read(processes: readonly ProcessIdentity[]): Promise<TreeUsage> {
    const readings = await readUsage(processes)
    const now = this.#now()
    const spentMs = readings.reduce(
      (sum, reading) => sum + Math.max(0, reading.cpuMs - (this.#before.get(reading.key) ?? 0)),
      0,
    )
    const passedMs = this.#readAt === null ? 0 : now - this.#readAt
    this.#before = new Map(readings.map((reading) => [reading.key, reading.cpuMs]))
    this.#readAt = now
    return {
      memoryBytes: readings.reduce((sum, reading) => sum + reading.memoryBytes, 0),
      cpuPercent: passedMs > 0 ? (spentMs / passedMs) * 100 : 0,
    }
  }
}

type Reading = { key: string; memoryBytes: number; cpuMs: number }

async function readUsage(processes: readonly ProcessIdentity[]): Promise<Reading[]> {
  if (process.platform === 'win32') return []
  if (process.platform !== 'linux') {
    const wanted = new Set(processes.map(identityKey))
    const rows = await readPsUsage(processes.map((identity) => identity.pid))
    return rows
      .map((row) => ({ key: identityKey(row), memoryBytes: row.memoryBytes, cpuMs: row.cpuMs }))
      .filter((reading) => wanted.has(reading.key))
  }
  return processes.flatMap((identity) => {
    const time = readLinuxTicks(identity.pid)
    if (time === null || time.startTime !== identity.startTime) return []
    return {
      key: identityKey(identity),
      memoryBytes: readLinuxMemory(identity.pid) ?? 0,
      cpuMs: time.ticks * MS_PER_TICK,
    }
  })
}
