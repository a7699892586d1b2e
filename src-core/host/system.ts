import { randomBytes } from 'node:crypto'
import { readdir, readFile, rm, stat, statfs } from 'node:fs/promises'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { v7 } from 'uuid'
import type { BootClock, Ids, Spool } from '../ports.ts'

/** Longer waits of the system's timers overflow and end at once. */
const TIMER_LIMIT_MS = 2 ** 31 - 1

/** Smaller differences come of the coarse clock of the system's uptime. */
const SLEEP_MS = 2_000

/** Of the monotonic clock, which stands still while most systems sleep. */
let slept = 0
const bootAhead = uptime() * 1_000 - performance.now()

export const systemClock: BootClock = {
  now: () => new Date().toISOString(),
  monotonic: () => performance.now(),
  sinceBoot: () => {
    const now = performance.now()
    const ahead = uptime() * 1_000 - now - bootAhead
    if (ahead - slept > SLEEP_MS) slept = ahead
    return now + slept
  },
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

/** An agent writes its file in a moment; a draft that is older is of one that was killed meanwhile. */
const DRAFT_AGE_MS = 60_000

/** The spool folder of a data folder. */
export function createSpool(folder: string): Spool {
  return {
    read: async () => {
      const all = await readdir(folder)
      for (const name of all) if (name.endsWith('.new')) await removeOld(join(folder, name))
      const names = all.filter((name) => name.endsWith('.json')).sort()
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

async function removeOld(draft: string): Promise<void> {
  // Its agent may be about to give it its name.
  const info = await stat(draft).catch(() => undefined)
  if (info === undefined || Date.now() - info.mtimeMs < DRAFT_AGE_MS) return
  await rm(draft, { force: true })
}

/** A file that a power cut took the content of decodes to nothing. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
