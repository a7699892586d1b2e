import { randomBytes } from 'node:crypto'
import { readdir, readFile, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 } from 'uuid'
import type { Clock, Ids, Spool } from '../ports.ts'

/** Longer waits of the system's timers overflow and end at once. */
const TIMER_LIMIT_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => new Date().toISOString(),
  monotonic: () => performance.now(),
  after: (ms, callback) => {
    let timer: NodeJS.Timeout
    const wait = (left: number) => {
      const part = Math.min(left, TIMER_LIMIT_MS)
      timer = setTimeout(() => (left > part ? wait(left - part) : callback()), part)
    }
    wait(Math.max(0, ms))
    return () => clearTimeout(timer)
  },
}

export const systemIds: Ids = {
  uuid: () => v7(),
  nonce: (bytes) => randomBytes(bytes).toString('hex'),
}

/** Free bytes where `path` lies; null where the system does not tell. */
export async function freeBytes(path: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(path)
    return bavail * bsize
  } catch {
    return null
  }
}

/** The spool folder of a data folder. */
export function createSpool(folder: string): Spool {
  return {
    read: async () => {
      const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
      return Promise.all(
        names.map(async (name) => ({
          name,
          content: parse(await readFile(join(folder, name), 'utf8')),
        })),
      )
    },
    remove: (name) => rm(join(folder, name), { force: true }),
  }
}

/** An agent that was killed while it wrote leaves half a file. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
