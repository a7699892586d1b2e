import { describe, expect, test } from 'vitest'
import type { LeaseId } from '../../src-shared/ids.ts'
import {
  AT,
  inputRow,
  newId,
  questionRow,
  requestRow,
  sessionRow,
  smallWorld,
} from '../storage/test-samples.ts'
import {
  attended,
  deadlineOf,
  kept,
  NO_DEADLINE,
  type WindowFacts,
  waitsForPerson,
} from './online-window.ts'

const { ticket } = smallWorld()
const minute = (minutes: number) => new Date(Date.parse(AT) + minutes * 60_000).toISOString()

function facts(
  session: Partial<Parameters<typeof sessionRow>[1]> = {},
  more: Partial<WindowFacts> = {},
): WindowFacts {
  const row = sessionRow(ticket, { state: 'waiting', leaseId: newId<LeaseId>(), ...session })
  return { session: row, inputs: [], requests: [], questions: [], ...more }
}

describe('a session waits for a person', () => {
  const session = facts().session
  test('between turns, when nothing is on its way to it', () => {
    expect(waitsForPerson(facts())).toBe(true)
    expect(waitsForPerson(facts({}, { inputs: [inputRow(session)] }))).toBe(false)
    expect(waitsForPerson(facts({ leaseId: null }))).toBe(false)
    for (const pending of ['stop', 'finish', 'interrupt'] as const) {
      expect(waitsForPerson(facts({ pending }))).toBe(false)
    }
    for (const state of ['queued', 'starting', 'working', 'parking', 'parked'] as const) {
      expect(waitsForPerson(facts({ state }))).toBe(false)
    }
  })

  test('when the question has reached the person, and not while its answer can be taken back', () => {
    const asked = (parts: Parameters<typeof questionRow>[1]) =>
      waitsForPerson(facts({}, { questions: [questionRow(session, parts)] }))
    expect(asked({ heldBy: 'planner', state: 'open' })).toBe(false)
    expect(asked({ heldBy: 'person', state: 'open' })).toBe(true)
    expect(asked({ heldBy: 'person', state: 'answered', undoUntil: minute(1) })).toBe(false)
    expect(asked({ heldBy: 'person', state: 'answered', undoUntil: null })).toBe(true)
  })

  test('in a turn whose runtime waits for permission', () => {
    const asks = (parts: Parameters<typeof requestRow>[1]) =>
      waitsForPerson(facts({ state: 'working' }, { requests: [requestRow(session, parts)] }))
    expect(asks({ state: 'open', phase: 'waits' })).toBe(true)
    expect(asks({ state: 'open', phase: 'gone' })).toBe(false)
    expect(asks({ state: 'allowed', phase: 'waits' })).toBe(false)
  })
})

describe('the deadline', () => {
  test('is the session’s window from the moment it comes to wait, else the project’s', () => {
    const at = (window: string | null, project = '10m') =>
      deadlineOf(NO_DEADLINE, facts({ window }), project, AT).parkAt
    expect(at(null)).toBe(minute(10))
    expect(at('1h')).toBe(minute(60))
    expect(at('now')).toBe(AT)
    expect(at('never')).toBeNull()
    expect(at(null, 'never')).toBeNull()
    expect(at('90s', 'never')).toBe(minute(1.5))
  })

  test('stays as it was while it waits, and goes when it does not', () => {
    const before = { parkAt: minute(3), parkFrom: minute(2) }
    expect(deadlineOf(before, facts(), '10m', AT)).toEqual(before)
    const refused = { parkAt: null, parkFrom: minute(2) }
    expect(deadlineOf(refused, facts(), '10m', AT)).toEqual(refused)
    expect(deadlineOf(before, facts({ state: 'working' }), '10m', AT)).toEqual(NO_DEADLINE)
  })

  test('outlives an agent that died, unless there is something to be done', () => {
    const before = { parkAt: minute(3), parkFrom: minute(3) }
    const lost = { state: 'resuming', leaseId: null } as const
    expect(deadlineOf(before, facts(lost), '10m', AT)).toEqual(before)
    const inputs = [inputRow(facts().session)]
    expect(deadlineOf(before, facts(lost, { inputs }), '10m', AT)).toEqual(NO_DEADLINE)
    expect(deadlineOf(NO_DEADLINE, facts(lost), '10m', AT)).toEqual(NO_DEADLINE)
  })

  test('is two minutes away at least while somebody writes, 30 after the first one at most', () => {
    const first = { parkAt: minute(10), parkFrom: minute(10) }
    expect(attended(first, minute(1))).toEqual(first)
    expect(attended(first, minute(9)).parkAt).toBe(minute(11))
    let deadline: { parkAt: string | null; parkFrom: string | null } = first
    for (let now = 0; now < 60; now += 0.5) deadline = attended(deadline, minute(now))
    expect(deadline).toEqual({ parkAt: minute(40), parkFrom: minute(10) })
    expect(attended(NO_DEADLINE, AT)).toEqual(NO_DEADLINE)
  })

  test('is kept away for as long as somebody wants, and never brought nearer by that', () => {
    const first = { parkAt: minute(10), parkFrom: minute(10) }
    expect(kept(first, 3_600_000, AT)).toEqual({ parkAt: minute(60), parkFrom: minute(60) })
    expect(kept(first, 60_000, AT)).toEqual(first)
    const forever = kept(first, null, AT)
    expect(forever.parkAt).toBeNull()
    expect(deadlineOf(forever, facts(), '10m', minute(1))).toEqual(forever)
    expect(kept(NO_DEADLINE, 60_000, AT)).toEqual(NO_DEADLINE)
  })
})
