import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock, Log } from '../../ports.ts'
import { testStoragePort } from '../test-port.ts'
import { commitOf, smallWorld } from '../test-samples.ts'
import { buildStorageWorker } from '../test-worker.ts'
import { openSqliteStorage } from './client.ts'

let folder: string
let built: Awaited<ReturnType<typeof buildStorageWorker>>

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-worker-'))
  built = await buildStorageWorker()
}, 60_000)
afterAll(async () => {
  built.remove()
  await rm(folder, { recursive: true, force: true })
})

/** A clock whose timers run only when the test says so. */
function handClock(): Clock & { pass(): void } {
  const timers = new Set<() => void>()
  return {
    now: () => '2026-11-29T12:00:00.000Z',
    monotonic: () => 0,
    after: (_ms, callback) => {
      timers.add(callback)
      return () => timers.delete(callback)
    },
    pass: () => {
      for (const callback of timers) callback()
    },
  }
}

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }

let files = 0
const newFile = () => {
  files += 1
  return join(folder, `${files}-ballet.sqlite`)
}
const open = (file = newFile(), worker = built.file, clock: Clock = handClock()) =>
  openSqliteStorage({ file, worker, clock, log: silent })

testStoragePort('SQLite in a worker thread', () => open())

describe('the storage worker', () => {
  const program = (text: string) => {
    const file = join(folder, `program-${files++}.mjs`)
    writeFileSync(file, `import { parentPort } from 'node:worker_threads'\n${text}`)
    return file
  }
  const opened = `parentPort.postMessage({ type: 'opened' })\n`

  it('keeps what was committed over a close', async () => {
    const file = newFile()
    const world = smallWorld()
    const first = await open(file)
    await first.commit(world.commit)
    await first.close()
    await expect(first.change()).rejects.toMatchObject({ code: 'storage.failed' })
    const second = await open(file)
    expect(await second.row('ticket', world.ticket.id)).toMatchObject({ title: 'Sell "ice"' })
    await second.close()
  })

  it('passes a refusal to open on', async () => {
    const file = newFile()
    writeFileSync(file, 'no database, but long enough to be one\n'.repeat(10))
    await expect(open(file)).rejects.toMatchObject({
      code: 'storage.corrupt',
      message: expect.stringContaining(file),
      hint: expect.any(String),
    })
  })

  it('passes a refused commit on, and goes on', async () => {
    const storage = await open()
    const { ticket } = smallWorld()
    await expect(
      storage.commit(commitOf({ puts: [{ table: 'ticket', row: ticket }] })),
    ).rejects.toMatchObject({ code: 'storage.failed' })
    expect(await storage.change()).toBe(0)
    await storage.close()
  })

  it('rejects every open and later call when the thread ends', async () => {
    const storage = await open(
      newFile(),
      program(`${opened}parentPort.on('message', () => process.exit(7))`),
    )
    const calls = [storage.change(), storage.info()]
    for (const call of calls) {
      await expect(call).rejects.toMatchObject({
        code: 'storage.failed',
        message: expect.stringContaining('code 7'),
      })
    }
    await expect(storage.change()).rejects.toMatchObject({ code: 'storage.failed' })
  })

  it('rejects when the thread fails, with its reason', async () => {
    await expect(open(newFile(), program(`throw new Error('no memory')`))).rejects.toMatchObject({
      code: 'storage.failed',
      message: expect.stringContaining('no memory'),
    })
  })

  it('gives up a thread that does not answer', async () => {
    const clock = handClock()
    const storage = await open(
      newFile(),
      program(`${opened}parentPort.on('message', () => {})`),
      clock,
    )
    const call = storage.change()
    clock.pass()
    await expect(call).rejects.toMatchObject({
      code: 'storage.failed',
      message: expect.stringContaining('no answer for 60 s'),
    })
  })

  it('gives up a thread that does not open', async () => {
    const clock = handClock()
    const opening = open(newFile(), program(`parentPort.on('message', () => {})`), clock)
    clock.pass()
    await expect(opening).rejects.toMatchObject({ message: expect.stringContaining('600 s') })
  })
})
