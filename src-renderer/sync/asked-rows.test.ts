import { describe, expect, it } from 'vitest'
import type { EventBody, TimelineEvent } from '../../src-shared/timeline.ts'
import { fixtureId } from '../fixture/world.ts'
import { RowBuilder } from './row-builder.ts'

const session = fixtureId() as TimelineEvent['session']
const id = fixtureId()

function rowsOf(...bodies: EventBody[]) {
  const builder = new RowBuilder()
  builder.add(
    bodies.map((body, at) => ({ session, seq: at + 1, at: '2026-11-29T10:00:00.000Z', ...body })),
  )
  return builder.rows()
}

const call = (callId: string, tool: string): EventBody => ({
  kind: 'tool.call',
  callId,
  name: `mcp__ballet__${tool}`,
  toolKind: 'mcp',
  title: tool,
  input: '{}',
  turn: 1,
})
const result = (callId: string, status: 'ok' | 'error'): EventBody => ({
  kind: 'tool.result',
  callId,
  status,
  output: '',
  turn: 1,
})
const asked: EventBody = {
  kind: 'question.asked',
  question: id as never,
  key: 'SHOP-1-Q1',
  text: 'Which one?',
  options: [],
  multiple: false,
  urgency: 'normal',
  turn: 1,
}
const answered = (author: 'person' | 'planner', text: string): EventBody => ({
  kind: 'question.answered',
  question: id as never,
  key: 'SHOP-1-Q1',
  text,
  options: [],
  author,
  citations: [],
  declined: false,
})

describe('what an agent asks and assumes', () => {
  it('is one row with its answers, whoever gave them', () => {
    const rows = rowsOf(
      asked,
      answered('planner', 'This.'),
      { kind: 'progress', summary: 'half', done: 1, total: 2 },
      answered('person', 'That.'),
    )
    expect(rows).toMatchObject([
      { kind: 'question', answers: [{ text: 'This.' }, { text: 'That.' }], withdrawn: null },
      { kind: 'progress', done: 1, total: 2 },
    ])
  })

  it('takes the place of the call that told it, also where that comes later', () => {
    expect(
      rowsOf(call('a', 'ask_question'), asked, result('a', 'ok')).map(({ kind }) => kind),
    ).toEqual(['question'])
    expect(
      rowsOf(asked, call('a', 'ask_question'), result('a', 'ok')).map(({ kind }) => kind),
    ).toEqual(['question'])
  })

  it('leaves a call in sight that failed or told nothing new', () => {
    const kinds = rowsOf(
      call('a', 'ask_question'),
      asked,
      result('a', 'ok'),
      call('b', 'ask_question'),
      result('b', 'ok'),
      call('c', 'record_assumption'),
      result('c', 'error'),
    ).map(({ kind }) => kind)
    expect(kinds).toEqual(['question', 'tool', 'tool'])
  })

  it('has no row where its beginning is not loaded', () => {
    expect(rowsOf(answered('person', 'That.'))).toEqual([])
  })

  it('tells what a person made of an assumption, and how a stage ended', () => {
    const assumption = { id: id as never, assumption: 'So.' }
    const rows = rowsOf(
      { kind: 'assumption', ...assumption, reason: 'Because.', alternatives: [] },
      {
        kind: 'assumption.reviewed',
        ...assumption,
        outcome: 'overturned',
        author: 'person',
        text: 'No.',
      },
      { kind: 'stage.completed', summary: 'All of it.', outcome: 'needs_review' },
    )
    expect(rows).toMatchObject([
      { kind: 'assumption', reviewed: { outcome: 'overturned', text: 'No.' } },
      { kind: 'completed', outcome: 'needs_review' },
    ])
  })
})
