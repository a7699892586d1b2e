import { Worker } from 'node:worker_threads'
import { BalletError } from '../../../src-shared/refusal.ts'
import type { Clock, Log } from '../../ports.ts'
import type { Storage } from '../port.ts'
import {
  complete,
  type Failure,
  type Method,
  type Reply,
  type Request,
  type ShortAnswer,
  type WorkerStart,
} from './worker-messages.ts'

/** Opening may bring a large database to a new version first. */
const OPEN_LIMIT_MS = 10 * 60_000

/** The longest silence while a call is open; then the thread is given up. */
const ANSWER_LIMIT_MS = 60_000

/** The database is closed by then; the thread only has to end. */
const CLOSE_LIMIT_MS = 5_000

export type SqliteStorageOptions = {
  /** Absolute path of the database. */
  file: string
  /** The built worker, `out/node/storage-worker.js`. */
  worker: URL | string
  clock: Clock
  log: Log
  /** Told once when the opened database can no longer be used, unless it was closed. */
  onLost?(error: BalletError): void
}

type Answer<M extends Method> = M extends 'commit' ? ShortAnswer : Awaited<ReturnType<Storage[M]>>

type Pending = { resolve(value: unknown): void; reject(error: BalletError): void }

/**
 * Opens the database in a worker thread of its own, so that no query blocks this one. Rejects with `BalletError`:
 * `storage.newer`, `storage.corrupt`, `storage.locked`, `storage.full`, `storage.failed`.
 * Should the thread end or hang, every open and later call is rejected with `storage.failed`.
 */
export async function openSqliteStorage(options: SqliteStorageOptions): Promise<Storage> {
  const { file, clock, log } = options
  const start: WorkerStart = { file }
  const worker = new Worker(options.worker, { workerData: start })
  const pending = new Map<number, Pending>()
  let ended: BalletError | undefined
  let stopWatch = () => {}
  let calls = 0
  let isOpen = false

  const failed = (why: string): BalletError =>
    new BalletError({
      code: 'storage.failed',
      message: `The database ${file} can no longer be used: ${why}. What was not answered may or may not be stored.`,
      hint: 'Start Ballet again: nothing that was answered is lost.',
    })
  const end = (error: BalletError) => {
    ended ??= error
    stopWatch()
    const open = [...pending.values()]
    pending.clear()
    for (const { reject } of open) reject(error)
    const isLost = isOpen
    isOpen = false
    if (isLost) options.onLost?.(error)
  }
  const giveUp = (why: string) => {
    log.error('the storage thread was given up', { file, why })
    end(failed(why))
    worker.terminate().catch((error: unknown) => {
      log.error('the storage thread did not end', { file, error: String(error) })
    })
  }
  const watch = (ms: number) => {
    stopWatch()
    stopWatch = clock.after(ms, () =>
      giveUp(`the storage thread gave no answer for ${ms / 1_000} s`),
    )
  }
  const settle = (id: number): Pending | undefined => {
    const found = pending.get(id)
    pending.delete(id)
    if (pending.size === 0) stopWatch()
    else watch(ANSWER_LIMIT_MS)
    return found
  }
  const refusalOf = ({ refusal, detail }: Failure): BalletError => {
    log.warn('the storage thread refused', { ...refusal, detail })
    return new BalletError(refusal, { cause: detail })
  }

  const opened = new Promise<void>((resolve, reject) => {
    pending.set(0, { resolve: () => resolve(), reject })
  })
  worker.on('message', (reply: Reply) => {
    switch (reply.type) {
      case 'opened':
        return settle(0)?.resolve(undefined)
      case 'failed':
        return end(refusalOf(reply.failure))
      case 'answer':
        return settle(reply.id)?.resolve(reply.value)
      case 'refused':
        return settle(reply.id)?.reject(refusalOf(reply.failure))
      case 'log':
        return log[reply.level](reply.message, reply.fields)
    }
  })
  worker.on('messageerror', (error) => giveUp(`an answer could not be read (${error.message})`))
  worker.on('error', (error) => {
    log.error('the storage thread failed', { file, error: error.stack ?? String(error) })
    end(failed(`the storage thread failed (${error.message})`))
  })
  const exited = new Promise<void>((resolve) => {
    worker.on('exit', (code) => {
      end(failed(`the storage thread ended (code ${code})`))
      resolve()
    })
  })
  watch(OPEN_LIMIT_MS)
  await opened
  isOpen = true

  const call = <M extends Method>(method: M, ...args: Parameters<Storage[M]>): Promise<Answer<M>> =>
    new Promise((resolve, reject) => {
      if (ended !== undefined) return reject(ended)
      calls += 1
      const request: Request = { id: calls, method, args }
      try {
        worker.postMessage(request)
      } catch (error) {
        return reject(
          new BalletError(
            {
              code: 'storage.failed',
              message: `A call of ${method} cannot reach the database: ${String(error)}.`,
              hint: 'Start Ballet again; what was stored is there.',
            },
            { cause: error },
          ),
        )
      }
      // What comes back is what the worker's port gave: both ends are of one build.
      pending.set(calls, { resolve: resolve as (value: unknown) => void, reject })
      if (pending.size === 1) watch(ANSWER_LIMIT_MS)
    })

  return {
    commit: async (commit) => complete(await call('commit', commit), commit),
    rows: ((query) => call('rows', query)) as Storage['rows'],
    row: ((table, id) => call('row', table, id)) as Storage['row'],
    deletions: (after) => call('deletions', after),
    receipt: (command) => call('receipt', command),
    pendingOutbox: () => call('pendingOutbox'),
    timeline: (session, range) => call('timeline', session, range),
    turn: (session, turn) => call('turn', session, turn),
    blob: (session, blob) => call('blob', session, blob),
    change: () => call('change'),
    info: () => call('info'),
    close: async () => {
      await call('close')
      isOpen = false
      end(
        new BalletError({
          code: 'storage.failed',
          message: `The database ${file} was closed already.`,
          hint: 'Start Ballet again.',
        }),
      )
      const stopWaiting = clock.after(CLOSE_LIMIT_MS, () =>
        giveUp('the storage thread did not end'),
      )
      await exited
      stopWaiting()
    },
  }
}
