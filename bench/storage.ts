import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench } from './bench.ts'
import { atLeast, atMost, figure } from './figures.ts'
import { rawBytes, sampleEvents } from './sample-events.ts'
import { append, openStorage, storeSessions } from './stored-world.ts'

/** Agents send what they have at once: eight of them, each in batches of this size. */
const BATCH = 256
const SESSIONS = 8
const MIB = 1024 * 1024

export const storage: Bench = {
  name: 'storage',
  method: `The storage port with SQLite in the built worker thread, as a host opens it. Events of ordinary sessions (turns
of two texts of 300 characters and eight tool calls with 400 characters of output) are appended for 8 sessions at once,
each in batches of 256 that wait for the batch before. The log is looked at every 20 ms; the database is measured after
it was closed, against the UTF-8 bytes of the texts, titles, arguments and outputs in it.`,
  run: async (workbench, { brief }) => {
    const events = sampleEvents(brief ? 5_000 : 40_000)
    const port = await openStorage(workbench.dataDir)
    const sessions = await storeSessions(port, SESSIONS)
    const file = join(workbench.dataDir, 'ballet.sqlite')
    let wal = 0
    let looks = 0
    const timer = setInterval(() => {
      stat(`${file}-wal`).then(
        ({ size }) => {
          looks += 1
          wal = Math.max(wal, size)
        },
        // Before the first commit there is none.
        () => undefined,
      )
    }, 20)
    const begun = performance.now()
    await Promise.all(sessions.map(({ id }) => append(port, id, events, BATCH)))
    const seconds = (performance.now() - begun) / 1_000
    clearInterval(timer)
    await port.close()
    const { size } = await stat(file)
    const raw = SESSIONS * events.reduce((sum, event) => sum + rawBytes(event), 0)
    const count = SESSIONS * events.length
    const facts = { bench: 'storage', samples: 1 } as const
    return [
      figure(
        {
          ...facts,
          what: `events stored, sustained over ${count.toLocaleString('en')}`,
          unit: 'per second',
          values: { mean: count / seconds },
        },
        atLeast('mean', 20_000, 'at least 20,000 a second'),
      ),
      figure(
        {
          ...facts,
          what: 'database against the raw text in it',
          unit: 'ratio',
          values: { ratio: size / raw },
        },
        atMost('ratio', 2, 'at most 2 ×'),
      ),
      figure(
        {
          ...facts,
          samples: looks,
          what: 'write-ahead log',
          unit: 'MB',
          values: { max: wal / MIB },
        },
        atMost('max', 64, 'under 64 MiB'),
      ),
    ]
  },
}
