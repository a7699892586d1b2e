import type { LiveBlock, TimelineEvent } from '../../src-shared/timeline.ts'
import type { Asked, ProseRow, Row, ToolResult, TurnEnd } from './rows.ts'

export type Of<K extends TimelineEvent['kind']> = Extract<TimelineEvent, { kind: K }>

export const placeOf = (key: string, event: TimelineEvent) => ({
  key,
  seq: event.seq,
  at: event.at,
  turn: event.turn,
})

const blockKey = (event: Of<'assistant.text' | 'assistant.thinking'>) =>
  event.block === undefined ? `seq:${event.seq}` : `block:${event.block}`

export function proseRow(event: Of<'assistant.text' | 'assistant.thinking'>): ProseRow {
  return {
    ...placeOf(blockKey(event), event),
    kind: event.kind === 'assistant.text' ? 'text' : 'thinking',
    text: event.text,
    textBlob: event.textBlob,
    partial: event.partial === true,
    live: false,
  }
}

export function liveRow(block: LiveBlock): ProseRow {
  return {
    key: `block:${block.block}`,
    seq: null,
    at: null,
    turn: block.turn,
    kind: block.kind === 'assistant.thinking' ? 'thinking' : 'text',
    text: block.text,
    textBlob: undefined,
    partial: false,
    live: true,
  }
}

/** What an event says does not change, so that rows of the same event can be compared by it. */
const results = new WeakMap<TimelineEvent, ToolResult>()
const ends = new WeakMap<TimelineEvent, TurnEnd>()

export function toolResult(event: Of<'tool.result'>): ToolResult {
  const known = results.get(event)
  if (known !== undefined) return known
  const { status, output, outputBlob, outputBytes, diff, durationMs, at } = event
  const made = { status, output, outputBlob, outputBytes, diff: diff ?? [], durationMs, at }
  results.set(event, made)
  return made
}

export function turnEnd(event: Of<'turn.ended'>): TurnEnd {
  const known = ends.get(event)
  if (known !== undefined) return known
  const { reason, durationMs, usage, costUsd, detail, hint } = event
  const made = { reason, durationMs, usage, costUsd, detail, hint }
  ends.set(event, made)
  return made
}

const isAsked = (value: unknown): value is Asked =>
  typeof value === 'object' && value !== null && 'asked' in value

function sameField(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (isAsked(a) && isAsked(b)) return a.asked === b.asked && a.answer === b.answer
  if (!Array.isArray(a) || !Array.isArray(b)) return false
  return a.length === b.length && a.every((each, at) => each === b[at])
}

/** Whether two rows draw the same. */
export function sameRow(a: Row, b: Row): boolean {
  if (a.kind !== b.kind) return false
  return Object.keys(a).every((name) => sameField(Reflect.get(a, name), Reflect.get(b, name)))
}
