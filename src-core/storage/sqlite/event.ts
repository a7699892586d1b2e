import type { EventBody, TimelineEvent } from '../../../src-shared/timeline.ts'

/** An event's body as it is kept: kind and turn in columns of their own, the rest as JSON text. */
export function encodeEvent(body: EventBody): { kind: string; turn: number | null; text: string } {
  const { kind, turn, ...rest } = body
  return { kind, turn: turn ?? null, text: JSON.stringify(rest) }
}

/** Of the columns `seq`, `turn`, `at` (milliseconds since 1970), `kind` and `body`. */
export function decodeEvent(session: string, record: Record<string, unknown>): TimelineEvent {
  return {
    session,
    seq: record.seq,
    at: new Date(Number(record.at)).toISOString(),
    kind: record.kind,
    ...(record.turn === null ? {} : { turn: record.turn }),
    ...JSON.parse(String(record.body)),
  }
}
