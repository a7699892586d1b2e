import type { Refusal } from '../../../src-shared/refusal.ts'
import type { TimelineEvent } from '../../../src-shared/timeline.ts'
import type { Log } from '../../ports.ts'
import type { Commit, CommitAnswer, Storage } from '../port.ts'

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

/** A commit's answer without its events: the client has their bodies and needs only their numbers. */
export type ShortAnswer =
  | Exclude<CommitAnswer, { outcome: 'committed' }>
  | (Omit<Extract<CommitAnswer, { outcome: 'committed' }>, 'events'> & { seqs: number[] })

export function shorten(answer: CommitAnswer): ShortAnswer {
  if (answer.outcome !== 'committed') return answer
  const { events, ...rest } = answer
  return { ...rest, seqs: events.map(({ seq }) => seq) }
}

export function complete(answer: ShortAnswer, commit: Commit): CommitAnswer {
  if (answer.outcome !== 'committed') return answer
  const { seqs, ...rest } = answer
  const given = commit.timeline.flatMap(({ session, events }) =>
    events.map(({ at, body }) => ({ session, at, body })),
  )
  const events = seqs.flatMap((seq, index): TimelineEvent[] => {
    const event = given[index]
    return event === undefined ? [] : [{ session: event.session, seq, at: event.at, ...event.body }]
  })
  return { ...rest, events }
}
