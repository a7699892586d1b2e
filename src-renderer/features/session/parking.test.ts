import { describe, expect, it } from 'vitest'
import type { Parked } from '../../../src-shared/parking.ts'
import { goesOn, parkedWhy, reloadText, stateText, whyNotPark } from './parking.ts'

const parked: Parked = {
  why: 'window',
  at: '2026-11-29T20:00:00.000Z',
  commit: 'a1b2c3',
  pushed: true,
  notPushed: null,
  keptBytes: 3_000_000,
  stateBytes: 1_258_291,
  runtimeVersion: '2.1.332',
  aside: [],
  wakes: false,
}

describe('what is told of a parked session', () => {
  it('says why it parked, and why it was stopped where it only was', () => {
    expect(parkedWhy({ parked, reason: 'x' })).toBe('Nobody answered within its online window')
    expect(parkedWhy({ parked: null, reason: 'stopped by you' })).toBe('Stopped by you')
    expect(parkedWhy({ parked: null, reason: '' })).toBe('Stopped')
  })

  it('tells a quit from a drain, and what the session goes on with', () => {
    expect(parkedWhy({ parked: { ...parked, why: 'drain' }, reason: '' })).toContain('drained')
    const quit = { ...parked, why: 'quit' as const }
    expect(parkedWhy({ parked: quit, reason: '' })).toBe('Ballet was quit')
    const asks = { openQuestions: 1, openRequests: 0 }
    expect(goesOn({ parked: quit, ...asks })).toBe('it goes on with your answer or a message')
    expect(goesOn({ parked: quit, ...asks, openQuestions: 0 })).toBe('it goes on with a message')
    expect(goesOn({ parked: { ...quit, wakes: true }, ...asks })).toContain('by itself')
  })

  it('names size and version of the state, and nothing where none is kept', () => {
    expect(stateText({ parked, runtime: 'claude-code' })).toBe('1.2 MB, Claude Code 2.1.332')
    const none = { ...parked, stateBytes: null }
    expect(stateText({ parked: none, runtime: 'claude-code' })).toBeNull()
  })

  it('says what a resume reloads where that is known', () => {
    expect(reloadText({ contextTokens: 38_200 })).toBe('38 k tokens')
    expect(reloadText({ contextTokens: null })).toBeNull()
  })
})

it('a session is parked that waits, works or waits to be brought back, and no other', () => {
  expect(whyNotPark({ state: 'waiting', agent: null })).toBeNull()
  expect(whyNotPark({ state: 'working', agent: null })).toBeNull()
  expect(whyNotPark({ state: 'resuming', agent: null })).toBeNull()
  expect(whyNotPark({ state: 'resuming', agent: 'agent-1' as never })).toContain('waits or works')
  expect(whyNotPark({ state: 'parked', agent: null })).toBe('It is parked')
  expect(whyNotPark({ state: 'queued', agent: null })).toContain('stop it')
})
