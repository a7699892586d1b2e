import { expect, it } from 'vitest'
import { draftOf, followDraft, keepDraft } from './drafts.ts'

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
