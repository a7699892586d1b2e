import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { draftOf, followDraft, keepDraft } from './drafts.ts'
import { loadKept } from './kept.ts'

const kept = new Map<string, string>([['draft.s9', 'begun before']])

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('window', {
    addEventListener: () => undefined,
    ballet: {
      keptTexts: async () => Object.fromEntries(kept),
      keepTexts: (changes: Record<string, string | null>) => {
        for (const [name, text] of Object.entries(changes)) {
          if (text === null) kept.delete(name)
          else kept.set(name, text)
        }
      },
    },
  })
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

it('a draft is given to the data folder within half a second, and is there at the next start', async () => {
  await loadKept()
  expect(draftOf('s9')).toBe('begun before')
  keepDraft('s9', 'gone on')
  keepDraft('s8', 'another')
  vi.advanceTimersByTime(500)
  expect(Object.fromEntries(kept)).toEqual({ 'draft.s9': 'gone on', 'draft.s8': 'another' })
  keepDraft('s8', '')
  vi.advanceTimersByTime(500)
  expect(kept.has('draft.s8')).toBe(false)
})

it('a draft that is put back reaches the box that is open by then', () => {
  const seen: string[] = []
  keepDraft('s1', 'before')
  const stop = followDraft('s1', () => seen.push(draftOf('s1')))
  const stopOther = followDraft('s2', () => seen.push('of another session'))
  keepDraft('s1', '')
  keepDraft('s1', 'could not be sent')
  stop()
  stopOther()
  keepDraft('s1', 'unheard')
  expect(seen).toEqual(['', 'could not be sent'])
  expect(draftOf('s1')).toBe('unheard')
})
