import { describe, expect, it } from 'vitest'
import type { EventBody } from '../src-shared/timeline.ts'
import { turnEndEvent } from './test-world.ts'
import { describeEvent } from './timeline-text.ts'

const text = (event: EventBody, outputLines?: number): string =>
  describeEvent(event, outputLines === undefined ? {} : { outputLines })
    .map((line) => line.text)
    .join('\n')

const result = (changes: Partial<Extract<EventBody, { kind: 'tool.result' }>>): EventBody => ({
  kind: 'tool.result',
  callId: 'c1',
  status: 'ok',
  output: '',
  ...changes,
})

describe('describeEvent', () => {
  it('shows a call and its output', () => {
    expect(
      text({
        kind: 'tool.call',
        callId: 'c1',
        name: 'Bash',
        toolKind: 'execute',
        title: 'npm test',
        input: '{}',
      }),
    ).toBe('▸ Bash npm test')
    expect(text(result({ output: 'one\ntwo\n' }))).toBe('  one\n  two')
    expect(text(result({}))).toBe('')
    expect(text(result({ output: 'no', status: 'error' }))).toBe('  no\n  error')
  })

  it('cuts long output where it is asked to', () => {
    expect(text(result({ output: '1\n2\n3\n4' }), 2)).toBe('  1\n  2\n  … 2 more lines')
  })

  it('shows a diff as one', () => {
    const lines = describeEvent(
      result({
        diff: [{ path: 'a.ts', patch: '@@ -1 +1 @@\n-old\n+new\n', added: 1, removed: 1 }],
      }),
    )
    expect(lines).toEqual([
      { text: '  a.ts  +1 -1', tone: 'strong' },
      { text: '  @@ -1 +1 @@', tone: 'quiet' },
      { text: '  -old', tone: 'bad' },
      { text: '  +new', tone: 'good' },
    ])
  })

  it('tells how a turn ended, what it cost and what to do', () => {
    expect(text(turnEndEvent(1))).toBe('── turn completed · 1.2 s · $0.01')
    expect(
      text({ ...turnEndEvent(1, 'failed'), detail: 'API error 401', hint: 'Log in.' } as EventBody),
    ).toBe('── turn failed · 1.2 s · $0.01\n   API error 401\n   Log in.')
  })

  it('marks what a subagent did and what was cut off', () => {
    expect(text({ kind: 'assistant.text', text: 'found\nit', parent: 'c1' })).toBe('│ found\n│ it')
    expect(text({ kind: 'assistant.text', text: 'half', partial: true })).toBe('half … (cut off)')
  })

  it('leaves out escape sequences', () => {
    expect(text(result({ output: '\u001b[31mred\u001b[0m\r\n' }))).toBe('  red')
  })
})
