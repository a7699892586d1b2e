import { describe, expect, it } from 'vitest'
import { addAsked } from '../../fixture/asked.ts'
import { FixtureHost } from '../../fixture/client.ts'
import { littleWorld } from '../../fixture/world.ts'
import { createInbox, currentItem, filtered, wantedItem } from './items.ts'

function setUp() {
  const host = new FixtureHost(littleWorld())
  addAsked(host)
  const { world } = host
  const byId = <T extends { id: string }>(values: readonly T[]) =>
    new Map(values.map((value) => [value.id as string, value]))
  return {
    world,
    records: {
      sessions: byId(world.sessions),
      questions: byId(world.questions),
      requests: byId(world.requests),
      assumptions: byId(world.assumptions),
    },
  }
}

describe('the inbox of the window', () => {
  it('is the same list while nothing that it shows changed', () => {
    const { records } = setUp()
    const inbox = createInbox()
    const first = inbox(records)
    expect(first.map(({ kind }) => kind)).toEqual([
      ...['question', 'failed', 'question', 'question', 'assumption', 'assumption'],
    ])
    const sessions = new Map(
      [...records.sessions].map(([id, session]) => [id, { ...session, costUsd: 9 }]),
    )
    expect(inbox({ ...records, sessions })).toBe(first)
    const [question] = first
    const questions = new Map(records.questions)
    questions.delete(question?.id ?? '')
    expect(inbox({ ...records, questions })).not.toBe(first)
  })

  it('is filtered by kind and by project', () => {
    const { records, world } = setUp()
    const items = createInbox()(records)
    const projectOf = (id: string) => records.sessions.get(id)?.projectId
    const all = { kind: null, project: null }
    expect(filtered(items, all, projectOf)).toBe(items)
    expect(filtered(items, { ...all, kind: 'question' }, projectOf)).toHaveLength(3)
    const api = world.projects.find(({ key }) => key === 'API')?.id ?? ''
    expect(filtered(items, { ...all, project: api }, projectOf)).toMatchObject([
      { kind: 'failed', ticket: 'API-5' },
    ])
    expect(filtered(items, { kind: 'question', project: api }, projectOf)).toEqual([])
  })

  it('shows what took the place of what is over, and the last one at the end', () => {
    const items = [{ id: 'a' }, { id: 'b' }, { id: 'c' }]
    expect(currentItem(items, 'b', 0)).toBe(1)
    expect(currentItem(items, 'gone', 1)).toBe(1)
    expect(currentItem(items, 'gone', 3)).toBe(2)
    expect(currentItem(items, null, 0)).toBe(0)
    expect(currentItem([], 'gone', 2)).toBe(-1)
  })

  it('goes back to a question that was taken back, once it waits again', () => {
    const view = { current: 'next', comesBack: 'taken' }
    expect(wantedItem([{ id: 'next' }], view)).toBe('next')
    expect(wantedItem([{ id: 'taken' }, { id: 'next' }], view)).toBe('taken')
    expect(wantedItem([{ id: 'next' }], { ...view, comesBack: null })).toBe('next')
  })
})
