import { describe, expect, it } from 'vitest'
import type { TimelineEvent } from '../src-shared/timeline.ts'
import { input, session, textEvent, turnEndEvent } from './test-world.ts'
import { jsonTimeline, textTimeline } from './timeline-printer.ts'

function terminal(columns: number | undefined, colour = false) {
  let text = ''
  return {
    write: (more: string) => {
      text += more
    },
    columns,
    colour,
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
  it('gives each event its time', () => {
    const out = terminal(undefined)
    textTimeline(out).events([textEvent(7, 'one\ntwo')])
    expect(out.text()).toBe('03:04:05 one\n         two\n')
  })

  it('shows a block while it grows, and once', () => {
    const out = terminal(80)
    const printer = textTimeline(out)
    printer.live([live('Hel', 0)])
    printer.live([live('lo', 3)])
    printer.events([textEvent(1, 'Hello you', 'b1'), turnEndEvent(2)])
    printer.end()
    expect(out.text().split('\n')).toEqual([
      '         Hello you',
      '03:04:05 ── turn completed · 1.2 s · $0.01',
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
      '         Hel',
      '03:04:05 ▸ Bash ls',
      '03:04:05 Hello',
      '',
    ])
  })

  it('takes back what it showed of a block that another event interrupts', () => {
    const out = terminal(12, true)
    const printer = textTimeline(out)
    printer.live([live('Hello', 0)])
    printer.events([call])
    expect(out.text().startsWith(`${' '.repeat(9)}Hello\u001b[1A\r\u001b[J`)).toBe(true)
    printer.events([textEvent(2, 'Hello', 'b1')])
    printer.live([live('x\n'.repeat(20), 0, 'b2')])
    printer.events([call])
    expect(out.text().split('\u001b[J')).toHaveLength(2)
  })

  it('shows nothing live before the message that it answers', () => {
    const out = terminal(80)
    const printer = textTimeline(out)
    const { id } = input
    const about = { session: session.id, at: call.at }
    printer.events([{ ...about, seq: 1, kind: 'turn.started', turn: 1, inputs: [id] }])
    printer.live([live('Hel', 0)])
    printer.events([
      {
        ...about,
        ...{ seq: 2, kind: 'input.delivered', input: id, inputKind: 'message' },
        ...{ text: 'Hi', author: 'person' },
      },
    ])
    printer.events([textEvent(3, 'Hello', 'b1')])
    expect(out.text().split('\n')).toEqual([
      '03:04:05 ── turn 1',
      '03:04:05 » Hi',
      '03:04:05 Hello',
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
    expect(out.text()).toBe('         a[2Jb')
  })
})

it('jsonTimeline prints the event as it is', () => {
  const out = terminal(undefined)
  jsonTimeline(out).events([call])
  expect(JSON.parse(out.text())).toEqual(call)
})
