import { describe, expect, it } from 'vitest'
import type { EventBody } from '../src-shared/timeline.ts'
import { input, turnEndEvent } from './test-world.ts'
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
    expect(
      text({
        kind: 'tool.call',
        callId: 'c2',
        name: 'mcp__ballet__ask_question',
        toolKind: 'mcp',
        title: 'ballet: ask question: Which?',
        input: '{}',
      }),
    ).toBe('▸ ballet: ask question: Which?')
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

  it('says longer times in minutes and hours', () => {
    const lasted = (durationMs: number) =>
      text({ ...turnEndEvent(1), durationMs } as EventBody).split(' · ')[1]
    expect(lasted(59_900)).toBe('59.9 s')
    expect(lasted(69_400)).toBe('1 min 9 s')
    expect(lasted(2 * 3_600_000 + 61_000)).toBe('2 h 1 min')
  })

  it('names a queued message by its beginning, and tells it whole when it is delivered', () => {
    const message = {
      input: input.id,
      inputKind: 'message' as const,
      text: `Title\n\n${'word '.repeat(50)}`,
      author: 'person' as const,
    }
    const queued = text({ kind: 'input.queued', ...message })
    expect(queued).toMatch(/^queued: Title word .*…$/)
    expect(queued.length).toBeLessThan(75)
    expect(text({ kind: 'input.delivered', ...message })).toContain('» Title\n\nword')
  })

  it('is quick with many line breaks in the middle', () => {
    // Each break taken for the beginning of the end would cost minutes.
    expect(text(result({ output: `${'\n'.repeat(400_000)}x\n\n` })).endsWith('x')).toBe(true)
  })

  it('marks what a subagent did and what was cut off', () => {
    expect(text({ kind: 'assistant.text', text: 'found\nit', parent: 'c1' })).toBe('│ found\n│ it')
    expect(text({ kind: 'assistant.text', text: 'half', partial: true })).toBe('half … (cut off)')
  })

  it('leaves out escape sequences', () => {
    expect(text(result({ output: '\u001b[31mred\u001b[0m\r\n' }))).toBe('  red')
  })
})
