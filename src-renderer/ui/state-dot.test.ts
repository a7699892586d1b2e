import { expect, it } from 'vitest'
import type { SessionState } from '../../src-shared/records.ts'
import { sessionBadges, sessionLook, sessionWord } from './state-dot.tsx'

const shown = (state: SessionState, openQuestions = 0, openRequests = 0) => ({
  state,
  openQuestions,
  openRequests,
})

it('a session that asks while it is online asks; one that works besides does not say so', () => {
  expect(sessionWord(shown('waiting', 1))).toBe('asks')
  expect(sessionWord(shown('working', 0, 1))).toBe('asks')
  expect(sessionWord(shown('working', 1))).toBe('working')
  expect(sessionLook(shown('working', 0, 1))).toBe('ask')
})

it('a parked session is parked, with what it asks beside it, whether a question or a permission', () => {
  for (const session of [shown('parked', 2), shown('parked', 0, 1)]) {
    expect(sessionWord(session)).toBe('parked, asks')
    expect(sessionLook(session)).toBe('park')
    expect(sessionBadges(session)[0]).toEqual({ look: 'park', word: 'parked' })
  }
  expect(sessionBadges(shown('parked', 1))[1]).toEqual({ look: 'wait', word: 'asks' })
  expect(sessionBadges(shown('parked', 0, 1))[1]).toEqual({ look: 'ask', word: 'asks' })
  expect(sessionBadges(shown('parked'))).toHaveLength(1)
  expect(sessionWord(shown('finished', 1))).toBe('finished')
})
