import { expect, test } from 'vitest'
import type { KeptWork } from '../storage/rows.ts'
import { joinReasons } from './joined-reasons.ts'
import { parkedReason } from './kept-work.ts'

test('sentences are joined without the stops between them, and nothing is left of what is empty', () => {
  expect(joinReasons('Ballet was quit', '', 'There was no time to push.', 'two. Sentences.')).toBe(
    'Ballet was quit; There was no time to push; two. Sentences',
  )
  expect(joinReasons('it goes on…', 'and on...')).toBe('it goes on…; and on...')
})

test('why a session is parked reads as one sentence, with what is not pushed and not kept of it', () => {
  const parked: KeptWork = {
    why: 'quit',
    at: '2026-11-30T03:00:00.000Z',
    work: {
      commit: 'a1b2c3',
      pushed: false,
      notPushed: { code: 'push.later', message: 'There was no time to push.' },
      files: [],
      state: null,
      aside: [],
      snapshot: null,
    },
    restored: false,
  }
  expect(parkedReason({ parked, conversation: 'c', turn: 1 })).toBe(
    'Ballet was quit; its branch is not pushed yet: There was no time to push; its conversation cannot be moved: where its runtime does not have it any more, a new one begins',
  )
})
