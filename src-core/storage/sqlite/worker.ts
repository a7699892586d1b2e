import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { Log } from '../../ports.ts'
import type { Commit } from '../port.ts'
import { openSqliteDirect } from './direct.ts'
import { storageFailure } from './failure.ts'
import {
  type Failure,
  type Method,
  type Reply,
  type Request,
  shorten,
  type WorkerStart,
} from './worker-messages.ts'

/** The storage worker: opens the database named by its `workerData` and answers the port's calls until `close`. */
async function run(port: MessagePort, { file }: WorkerStart): Promise<void> {
  const reply = (message: Reply) => port.postMessage(message)
  const failure = (error: unknown): Failure => {
    const known = storageFailure(error, file)
    const cause = known.cause instanceof Error ? known.cause : known
    return { refusal: known.toRefusal(), detail: cause.stack ?? String(cause) }
  }
  const say =
    (level: keyof Log): Log[keyof Log] =>
    (message, fields = {}) =>
      reply({ type: 'log', level, message, fields })
  const log: Log = {
    debug: say('debug'),
    info: say('info'),
    warn: say('warn'),
    error: say('error'),
  }

  let methods: Record<Method, (...args: readonly never[]) => Promise<unknown>>
  try {
    const storage = await openSqliteDirect(file, log)
    methods = {
      ...storage,
      commit: async (commit: Commit) => shorten(await storage.commit(commit)),
    }
  } catch (error) {
    reply({ type: 'failed', failure: failure(error) })
    port.close()
    return
  }
  port.on('message', ({ id, method, args }: Request) => {
    // The client calls the port's methods with the port's arguments: both ends are of one build.
    methods[method](...(args as never[])).then(
      (value) => {
        reply({ type: 'answer', id, value })
        if (method === 'close') port.close()
      },
      (error: unknown) => reply({ type: 'refused', id, failure: failure(error) }),
    )
  })
  reply({ type: 'opened' })
}

if (parentPort === null) throw new Error('This program is a worker thread of the host.')
await run(parentPort, workerData)
