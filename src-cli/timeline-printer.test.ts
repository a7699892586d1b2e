import { describe, expect, it } from 'vitest'
import type { TimelineEvent } from '../src-shared/timeline.ts'
import { session, textEvent, turnEndEvent } from './test-world.ts'
import { jsonTimeline, textTimeline } from './timeline-printer.ts'

function terminal(columns: number | undefined) {
  let text = ''
  return {
    write: (more: string) => {
      text += more
    },
    columns,
    colour: false,
    text: () => text,
  }
}

const live = (text: string, offset: number, block = 'b1') => ({
  block,
  kind: 'assistant.text' as const,
  offset,
  text,
})

const call: TimelineEvent = {
  session: session.id,
  seq: 1,
  at: '2026-01-02T03:04:05.000Z',
  kind: 'tool.call',
  callId: 'c',
  name: 'Bash',
  toolKind: 'execute',
  title: 'ls',
  input: '{}',
}

describe('textTimeline', () => {
  it('gives each event its number and time', () => {
    const out = terminal(undefined)
    textTimeline(out).events([textEvent(7, 'one\ntwo')])
    expect(out.text()).toBe('    7 03:04:05 one\n               two\n')
  })

  it('shows a block while it grows, and once', () => {
    const out = terminal(80)
    const printer = textTimeline(out)
    printer.live([live('Hel', 0)])
    printer.live([live('lo', 3)])
    printer.events([textEvent(1, 'Hello you', 'b1'), turnEndEvent(2)])
    printer.end()
    expect(out.text().split('\n')).toEqual([
      '               Hello you',
      '    2 03:04:05 ── turn completed · 1.2 s · $0.01',
      '',
    ])
  })

  it('shows a block whole that another event interrupted', () => {
    const out = terminal(80)
    const printer = textTimeline(out)
    printer.live([live('Hel', 0)])
    printer.events([call])
    printer.live([live('lo', 3)])
    printer.events([textEvent(2, 'Hello', 'b1')])
    printer.end()
    expect(out.text().split('\n')).toEqual([
      '               Hel',
      '    1 03:04:05 ▸ Bash ls',
      '    2 03:04:05 Hello',
      '',
    ])
  })

  it('shows nothing live where there is no terminal', () => {
    const out = terminal(undefined)
    const printer = textTimeline(out)
    printer.live([live('Hel', 0)])
    printer.end()
    expect(out.text()).toBe('')
  })

  it('keeps the pieces of an escape sequence from the terminal', () => {
    const out = terminal(80)
    const printer = textTimeline(out)
    printer.live([live('a\u001b', 0)])
    printer.live([live('[2Jb', 2)])
    expect(out.text()).toBe('               a[2Jb')
  })
})

it('jsonTimeline prints the event as it is', () => {
  const out = terminal(undefined)
  jsonTimeline(out).events([call])
  expect(JSON.parse(out.text())).toEqual(call)
})
