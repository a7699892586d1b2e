import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../e2e/electron-runtime.ts'
import type { Storage } from '../src-core/storage/port.ts'
import { openSqliteStorage } from '../src-core/storage/sqlite/client.ts'
import { commitOf, projectRow, sessionRow, ticketRow } from '../src-core/storage/test-samples.ts'
import type { BlobText } from '../src-shared/agent-wire.ts'
import { type SessionId, TicketKey } from '../src-shared/ids.ts'
import type { Sample } from './sample-events.ts'

export type StoredSession = { readonly id: SessionId; readonly key: string }

/** Opens the database of a data folder as a host does, in the built worker. */
export async function openStorage(dataDir: string): Promise<Storage> {
  await mkdir(dataDir, { recursive: true })
  return openSqliteStorage({
    file: join(dataDir, 'ballet.sqlite'),
    worker: join(ROOT, 'out', 'node', 'storage-worker.js'),
    clock: {
      now: () => new Date().toISOString(),
      monotonic: () => performance.now(),
      after: (ms, callback) => {
        const timer = setTimeout(callback, ms)
        return () => clearTimeout(timer)
      },
    },
    log: { debug() {}, info() {}, warn() {}, error() {} },
  })
}

/** Stores a project with so many tickets, each with a stopped session without events. */
export async function storeSessions(storage: Storage, count: number): Promise<StoredSession[]> {
  const project = projectRow({ name: 'Shop', nextNumber: count + 1 })
  const made = Array.from({ length: count }, (_, index) => {
    const key = TicketKey.parse(`${project.key}-${index + 1}`)
    const ticket = ticketRow(project, { key, title: `Ticket ${index + 1}` })
    return { ticket, session: sessionRow(ticket, { state: 'parked', queuedAt: null }) }
  })
  await storage.commit(
    commitOf({
      puts: [
        { table: 'project', row: project },
        ...made.flatMap(
          ({ ticket, session }) =>
            [
              { table: 'ticket', row: ticket },
              { table: 'session', row: session },
            ] as const,
        ),
      ],
    }),
  )
  return made.map(({ ticket, session }) => ({ id: session.id, key: ticket.key }))
}

/** Appends events in batches, as they come from agents; each batch waits for the one before. */
export async function append(
  storage: Storage,
  session: SessionId,
  events: readonly Sample[],
  batch: number,
  blobs: readonly BlobText[] = [],
): Promise<void> {
  for (let from = 0; from < events.length; from += batch) {
    const answer = await storage.commit(
      commitOf({
        durability: 'timeline',
        timeline: [
          { session, events: events.slice(from, from + batch), ...(from === 0 ? { blobs } : {}) },
        ],
      }),
    )
    if (answer.outcome !== 'committed') throw new Error(`A batch was ${answer.outcome}.`)
  }
}
