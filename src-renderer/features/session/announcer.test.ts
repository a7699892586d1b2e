import { beforeEach, describe, expect, it } from 'vitest'
import type { EventBody, TimelineEvent } from '../../../src-shared/timeline.ts'
import { RowBuilder } from '../../sync/row-builder.ts'
import { createAnnouncer } from './announcer.tsx'

const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
const begin = (turn: number): EventBody => ({ kind: 'turn.started', turn, inputs: [] })
const say = (text: string): EventBody => ({ kind: 'assistant.text', text })
const error = (text: string): EventBody => ({ kind: 'notice', level: 'error', code: 'x', text })
const end = (turn: number): EventBody => ({
  kind: 'turn.ended',
  turn,
  reason: 'completed',
  durationMs: 1,
  usage,
  costUsd: 0,
})

let events: TimelineEvent[]
let announce: ReturnType<typeof createAnnouncer>
beforeEach(() => {
  events = []
  announce = createAnnouncer('SHOP-1')
})

/** What is read out when these events come, of the first `held` events when not of all. */
function heard(bodies: EventBody[], held?: number): string | null {
  for (const body of bodies) {
    const place = { session: 's', seq: events.length + 1, at: '2026-11-29T16:32:50.123Z' }
    events.push({ ...place, ...body } as TimelineEvent)
  }
  const shown = events.slice(0, held)
  const builder = new RowBuilder()
  builder.add(shown)
  const last = shown.length
  return announce({ phase: 'ready', rows: builder.rows(), last, hostLast: events.length })
}

describe('what is read out', () => {
  it('is the end of a turn with its answer, once, and nothing of the time before', () => {
    expect(heard([begin(1), say('old'), end(1)])).toBe(null)
    expect(heard([begin(2), say('new answer')])).toBe(null)
    expect(heard([end(2)])).toBe('SHOP-1: turn 2 ended. new answer')
    expect(heard([])).toBe(null)
  })

  it('is an error too, in a turn and after it', () => {
    heard([begin(1)])
    expect(heard([error('The disk is full.')])).toBe('SHOP-1: error. The disk is full.')
    expect(heard([end(1)])).toBe('SHOP-1: turn 1 ended. ')
    expect(heard([error('Not pushed.')])).toBe('SHOP-1: error. Not pushed.')
  })

  it('is nothing when the reader goes back and comes again', () => {
    heard([begin(1), say('one'), end(1), begin(2), say('two'), end(2)])
    expect(heard([], 3)).toBe(null)
    expect(heard([])).toBe(null)
  })
})
