import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BlobId, type SessionId } from '../../../src-shared/ids.ts'
import type { Storage } from '../port.ts'
import { appendTexts, commitOf, smallWorld } from '../test-samples.ts'
import { openSqliteDirect } from './direct.ts'

const MIB = 1024 * 1024

let folder: string
let file: string
let storage: Storage
let session: SessionId
const warnings: string[] = []
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-size-'))
  file = join(folder, 'ballet.sqlite')
  storage = await openSqliteDirect(file, {
    debug() {},
    info() {},
    warn: (message) => warnings.push(message),
    error() {},
  })
  const world = smallWorld()
  session = world.session.id
  await storage.commit(world.commit)
  warnings.length = 0
})
afterEach(async () => {
  await storage.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Appends about `bytes` of texts that hardly repeat, in batches of 64 events. */
async function append(bytes: number, each: number): Promise<void> {
  const text = (index: number) =>
    `${index} ${'words that are said '.repeat(each / 20)}`.slice(0, each)
  for (let done = 0; done < bytes; done += 64 * each) {
    await storage.commit(
      appendTexts(
        session,
        Array.from({ length: 64 }, (_, index) => text(done + index)),
      ),
    )
  }
}

describe('the write-ahead log', () => {
  const log = () => statSync(`${file}-wal`).size

  it('stays under 64 MiB, also right after the largest commits', async () => {
    let largest = 0
    for (let round = 0; round < 3; round += 1) {
      await append(16 * MIB, 16_000)
      largest = Math.max(largest, log())
    }
    expect(largest).toBeLessThan(40 * MIB)
    await storage.commit(appendTexts(session, ['x'.repeat(40 * MIB)]))
    expect(log()).toBeLessThan(1 * MIB)
    expect(warnings).toEqual([])
  })

  it('is emptied once another program no longer reads, which is said', async () => {
    const reader = new Sqlite(file, { readonly: true })
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM timeline').get()
    await append(36 * MIB, 16_000)
    expect(log()).toBeGreaterThan(32 * MIB)
    expect(warnings).toContainEqual(expect.stringContaining('another program reads'))
    reader.exec('COMMIT')
    reader.close()
    await append(2 * MIB, 16_000)
    expect(log()).toBeLessThan(17 * MIB)
  })

  it('stays small when a long session is deleted', async () => {
    await append(20 * MIB, 2_000)
    const [ticket] = await storage.rows({ table: 'ticket' })
    if (ticket === undefined) throw new Error('there is no ticket')
    await storage.commit(commitOf({ deletes: [{ table: 'ticket', id: ticket.id }] }))
    expect(log()).toBeLessThan(40 * MIB)
    expect(await storage.timeline(session, { limit: 1 })).toEqual({ events: [], last: 0 })
  })
})

describe('the size of the database', () => {
  it.each([150, 700, 1_500, 2_500, 6_000, 16_000])(
    'is at most twice the text of events of %i bytes',
    async (each) => {
      await append(2 * MIB, each)
      const { bytes } = await storage.info()
      await storage.close()
      const alone = statSync(file).size
      storage = await openSqliteDirect(file)
      expect(bytes).toBeGreaterThanOrEqual(alone)
      expect(alone / (2 * MIB)).toBeLessThan(2)
    },
  )

  it('is far less than a large text that repeats', async () => {
    const text = 'npm warn deprecated something\n'.repeat(100_000)
    const id = BlobId.parse('a'.repeat(64))
    await storage.commit(commitOf({ timeline: [{ session, events: [], blobs: [{ id, text }] }] }))
    expect(await storage.blob(session, id)).toBe(text)
    expect((await storage.info()).bytes).toBeLessThan(text.length / 4)
  })
})
