import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
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
    const lost: string[] = []
    const storage = await openSqliteStorage({
      file: newFile(),
      worker: program(`${opened}parentPort.on('message', () => process.exit(7))`),
      clock: handClock(),
      log: silent,
      onLost: ({ code }) => lost.push(code),
    })
    const calls = [storage.change(), storage.info()]
    for (const call of calls) {
      await expect(call).rejects.toMatchObject({
        code: 'storage.failed',
        message: expect.stringContaining('code 7'),
      })
    }
    await expect(storage.change()).rejects.toMatchObject({ code: 'storage.failed' })
    expect(lost).toEqual(['storage.failed'])
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

describe('kill -9 of a process that commits', () => {
  /** Commits without a pause and prints the number of each commit that was answered. */
  const committer = `
    import { writeSync } from 'node:fs'
    import { Worker } from 'node:worker_threads'
    const { worker: program, file, session, ticket, from } = JSON.parse(process.argv[2])
    const worker = new Worker(program, { workerData: { file } })
    let n = from
    const next = () => {
      n += 1
      const event = { at: ticket.createdAt, body: { kind: 'assistant.text', turn: 1, text: String(n) } }
      worker.postMessage({ id: n, method: 'commit', args: [{
        at: ticket.createdAt, durability: n % 10 === 0 ? 'domain' : 'timeline', expected: [],
        puts: [{ table: 'ticket', row: { ...ticket, title: String(n) } }], deletes: [],
        timeline: [{ session, events: [event, event, event] }], domain: [], outbox: [], outboxDone: [],
      }] })
    }
    worker.on('message', (reply) => {
      if (reply.type === 'answer') writeSync(1, reply.id + '\\n')
      if (reply.type === 'answer' || reply.type === 'opened') next()
    })
  `

  it('leaves whole commits only, and every one that was answered', async () => {
    const file = newFile()
    const { session, ticket, commit } = smallWorld()
    const program = join(folder, 'committer.mjs')
    writeFileSync(program, committer)
    const storage = await open(file)
    await storage.commit(commit)
    await storage.close()

    let from = 0
    for (const acknowledged of [1, 150, 400]) {
      const start = { worker: built.file, file, session: session.id, ticket, from }
      const child = spawn(process.execPath, [program, JSON.stringify(start)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let last = 0
      for await (const line of createInterface({ input: child.stdout })) {
        last = Number(line)
        if (last === from + acknowledged) child.kill('SIGKILL')
      }
      expect(last).toBeGreaterThanOrEqual(from + acknowledged)

      const reopened = await open(file)
      const title = Number((await reopened.row('ticket', ticket.id))?.title)
      expect(title).toBeGreaterThanOrEqual(last)
      const { events, last: lastSeq } = await reopened.timeline(session.id, { limit: 100_000 })
      expect(lastSeq).toBe(title * 3)
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
      expect(events.map((event) => 'text' in event && event.text)).toEqual(
        events.map((_, index) => String(Math.floor(index / 3) + 1)),
      )
      expect(await reopened.change()).toBe(title + 1)
      await reopened.close()
      from = title
    }
  }, 60_000)
})
