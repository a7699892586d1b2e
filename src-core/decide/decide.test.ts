import { expect, test } from 'vitest'
import { SessionState } from '../../src-shared/records.ts'
import type { EventBody } from '../../src-shared/timeline.ts'
import { inlineText } from './large-text.ts'
import { projectKey } from './projects.ts'
import { pick } from './references.ts'
import { canMove, isLive, isOver } from './session-states.ts'
import { openCalls } from './turn-cut.ts'

test('no transition leads out of an end, into queued, or past the agent', () => {
  for (const from of SessionState.options) {
    expect(canMove(from, 'queued')).toBe(false)
    expect(canMove(from, from)).toBe(false)
    if (from === 'finished' || from === 'cancelled') {
      expect(isOver(from)).toBe(true)
      for (const to of SessionState.options) expect(canMove(from, to)).toBe(false)
    }
    // Only a session that an agent holds between turns begins one; a refused parking may leave it in one.
    expect(canMove(from, 'working')).toBe(from === 'waiting' || from === 'parking')
    expect(canMove(from, 'starting')).toBe(from === 'queued')
  }
  expect(SessionState.options.filter(isLive)).toEqual([
    'queued',
    'starting',
    'working',
    'waiting',
    'parking',
    'resuming',
  ])
})

test('a project’s key is short, plain and its own', () => {
  const none = new Set<string>()
  expect(projectKey('Web Shop', none)).toBe('WEBSHOP')
  expect(projectKey('99 bottles of beer', none)).toBe('BOTTLESOFB')
  expect(projectKey('🎉', none)).toBe('P')
  expect(projectKey('Écluse', none)).toBe('ECLUSE')
  expect(projectKey('A', new Set(['A', 'A2']))).toBe('A3')
  const long = new Set(['ABCDEFGHIJ', ...Array.from({ length: 8 }, (_, n) => `ABCDEFGHI${n + 2}`)])
  expect(projectKey('abcdefghijkl', long)).toBe('ABCDEFGH10')
})

test('a long list of alike ids is cut', () => {
  const candidates = Array.from({ length: 10 }, (_, n) => ({ value: n, id: `id-${n}`, label: 'x' }))
  const picked = pick('ticket', 'abcd', undefined, candidates, 'list')
  expect(picked.ok ? '' : picked.refusal.message).toContain('and 2 more')
  expect(pick('ticket', 'abcd', 7, candidates, 'list')).toEqual({ ok: true, value: 7 })
})

test('a text is cut at the limit, never inside a character, and kept whole beside it', () => {
  expect(inlineText('short')).toEqual({ text: 'short', blob: null, id: null })
  const exact = 'é'.repeat(8 * 1024)
  expect(inlineText(exact).blob).toBeNull()
  const long = `a${'é'.repeat(8 * 1024)}`
  const cut = inlineText(long)
  expect(cut.text).toBe(`a${'é'.repeat(8 * 1024 - 1)}`)
  expect(cut.blob).toEqual({ id: cut.id, text: long })
  expect(inlineText('😀'.repeat(5_000)).text).toBe('😀'.repeat(4_096))
})

test('a call is open until its result is known', () => {
  const call = (callId: string): EventBody => ({
    kind: 'tool.call',
    callId,
    name: 'Bash',
    toolKind: 'execute',
    title: '',
    input: '',
  })
  const result = (callId: string, status: 'ok' | 'unknown'): EventBody => ({
    kind: 'tool.result',
    callId,
    status,
    output: '',
  })
  expect(
    openCalls([call('a'), call('b'), result('a', 'ok'), call('c'), result('c', 'unknown')]),
  ).toEqual(['b', 'c'])
})
