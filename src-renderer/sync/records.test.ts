import { describe, expect, it } from 'vitest'
import type { RecordChange } from '../../src-shared/contract.ts'
import { FixtureHost } from '../fixture/client.ts'
import { littleWorld } from '../fixture/world.ts'
import { applyRecords, createRecordsStore, followRecords, newestSession } from './records.ts'

const start = () => createRecordsStore().getState()

function snapshot() {
  const world = littleWorld()
  const changes: RecordChange[] = [
    ...world.tickets.map((value) => ({ record: 'ticket', id: value.id, value }) as const),
    ...world.sessions.map((value) => ({ record: 'session', id: value.id, value }) as const),
  ]
  return { world, records: applyRecords(start(), { cursor: '1', snapshot: true, changes }) }
}

describe('the records of the window', () => {
  it('forget what a snapshot does not hold', () => {
    const { records } = snapshot()
    const after = applyRecords(records, { cursor: '2', snapshot: true, changes: [] })
    expect([after.tickets.size, after.sessions.size, after.sketches.size]).toEqual([0, 0, 0])
    expect(after.cursor).toBe('2')
  })

  it('replace only the map in which something changed', () => {
    const { world, records } = snapshot()
    const [session] = world.sessions
    if (session === undefined) throw new Error('no session')
    const value = { ...session, costUsd: 9 }
    const after = applyRecords(records, {
      cursor: '2',
      snapshot: false,
      changes: [{ record: 'session', id: session.id, value }],
    })
    expect(after.tickets).toBe(records.tickets)
    expect(after.sessions.get(session.id)).toBe(value)
    // A cost changes no list.
    expect(after.sketches).toBe(records.sketches)
  })

  it('tell lists of a new state and of what was deleted', () => {
    const { world, records } = snapshot()
    const [session] = world.sessions
    if (session === undefined) throw new Error('no session')
    const changed = applyRecords(records, {
      cursor: '2',
      snapshot: false,
      changes: [{ record: 'session', id: session.id, value: { ...session, state: 'waiting' } }],
    })
    expect(changed.sketches.get(session.id)?.state).toBe('waiting')
    const gone = applyRecords(changed, {
      cursor: '3',
      snapshot: false,
      changes: [{ record: 'session', id: session.id, value: null }],
    })
    expect(gone.sketches.has(session.id)).toBe(false)
    expect(newestSession(gone.sketches, session.ticketId)).toBeUndefined()
  })

  it('say that the host is away and go on when it is back', async () => {
    const host = new FixtureHost(littleWorld())
    const store = createRecordsStore()
    const running = new AbortController()
    const reached = (condition: () => boolean) =>
      new Promise<void>((resolve, reject) => {
        const limit = setTimeout(() => reject(new Error('it did not come')), 5_000)
        const look = () => {
          if (!condition()) return
          clearTimeout(limit)
          end()
          resolve()
        }
        const end = store.subscribe(look)
        look()
      })
    host.up = false
    const done = followRecords(host.client(), store, running.signal)
    await reached(() => store.getState().phase === 'away')
    expect(store.getState().away?.hint).toBeTruthy()
    host.up = true
    await reached(() => store.getState().phase === 'ready')
    expect(store.getState().tickets.size).toBe(host.world.tickets.length)
    running.abort()
    host.up = false
    host.change({ record: 'agent', id: 'agent-9', value: null })
    await done
  })
})
