import { open, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DeliveryId } from '../../../src-shared/ids.ts'

const EVERY_MS = 20
/** The server says that it has a message when it writes it: its record holds it some milliseconds later. */
const LIMIT_MS = 5_000
const CHUNK_BYTES = 256 * 1_024

/**
 * Where the record of a conversation is below `sessions/`: `YYYY/MM/DD/rollout-<time>-<id>.jsonl`, the day being that
 * of its beginning. Null when there is none.
 */
export async function locateRecord(home: string, conversation: string): Promise<string | null> {
  const found = await recordsBelow(join(home, 'sessions'))
  return found.find((path) => conversationOf(path) === conversation) ?? null
}

/** Every record, the newest day first. */
export async function recordsBelow(sessions: string): Promise<string[]> {
  const found: string[] = []
  const look = async (folder: string, depth: number): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
    for (const entry of entries.sort((a, b) => (a.name < b.name ? 1 : -1))) {
      const path = join(folder, entry.name)
      if (entry.isDirectory() && depth < 3) await look(path, depth + 1)
      else if (entry.isFile() && conversationOf(path) !== null) found.push(path)
    }
  }
  await look(sessions, 0)
  return found
}

/** The conversation of a record, from its name; null for another file. */
export function conversationOf(path: string): string | null {
  return (
    /^rollout-.+-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/.exec(basename(path))?.[1] ??
    null
  )
}

/** Waits until the record holds a message, so that a kill cannot lose it any more. False at the limit. */
export async function holdsDelivery(
  path: string,
  delivery: DeliveryId,
  isOver: () => boolean,
): Promise<boolean> {
  const needle = Buffer.from(`"client_id":"${delivery}"`)
  const begin = performance.now()
  let from = 0
  for (;;) {
    const wasOver = isOver()
    const looked = await findFrom(path, needle, from)
    if (looked.found) return true
    if (wasOver || performance.now() - begin > LIMIT_MS) return false
    from = looked.next
    await sleep(EVERY_MS)
  }
}

/** Whether a record holds one of these words. */
export async function holdsAny(path: string, words: readonly string[]): Promise<boolean> {
  for (const word of words) {
    if ((await findFrom(path, Buffer.from(word), 0)).found) return true
  }
  return false
}

/** Looks for bytes from a place on; `next` is where to look on when more was written. */
async function findFrom(
  path: string,
  needle: Buffer,
  from: number,
): Promise<{ found: boolean; next: number }> {
  let handle: Awaited<ReturnType<typeof open>>
  try {
    handle = await open(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    // It is made with the first message.
    if (code === 'ENOENT') return { found: false, next: 0 }
    throw error
  }
  try {
    const buffer = Buffer.alloc(CHUNK_BYTES)
    let at = from
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, at)
      if (buffer.subarray(0, bytesRead).includes(needle)) return { found: true, next: at }
      if (bytesRead < needle.length) return { found: false, next: at }
      at += bytesRead - needle.length + 1
    }
  } finally {
    await handle.close()
  }
}
