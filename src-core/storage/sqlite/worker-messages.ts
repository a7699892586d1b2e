import type { Refusal } from '../../../src-shared/refusal.ts'
import type { Log } from '../../ports.ts'
import type { Storage } from '../port.ts'

/** What the worker thread gets as its `workerData`. */
export type WorkerStart = { file: string }

export type Method = keyof Storage

/** Client to worker; answered in order. */
export type Request = { id: number; method: Method; args: readonly unknown[] }

/** A failure that crosses the threads; `detail` is the stack of its cause, for the log. */
export type Failure = { refusal: Refusal; detail: string }

/** Worker to client. The first is `opened` or `failed`. */
export type Reply =
  | { type: 'opened' }
  | { type: 'failed'; failure: Failure }
  | { type: 'answer'; id: number; value: unknown }
  | { type: 'refused'; id: number; failure: Failure }
  | { type: 'log'; level: keyof Log; message: string; fields: Record<string, unknown> }
