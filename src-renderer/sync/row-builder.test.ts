import { describe, expect, it } from 'vitest'
import type { InputId, RequestId, SessionId } from '../../src-shared/ids.ts'
import type { EventBody, LiveBlock } from '../../src-shared/timeline.ts'
import { hostileBodies, longBodies, numbered, storyBodies } from '../fixture/story.ts'
import { fixtureId, seeded } from '../fixture/world.ts'
import { RowBuilder } from './row-builder.ts'
import type { Row, ToolRow } from './rows.ts'

const session = fixtureId() as SessionId
const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 }

function rowsOf(bodies: EventBody[]): readonly Row[] {
  const builder = new RowBuilder()
  builder.add(numbered(session, bodies))
  return builder.rows()
}

const call = (callId: string, more: Partial<EventBody> = {}): EventBody =>
  ({
    kind: 'tool.call',
    callId,
    name: 'Bash',
    toolKind: 'execute',
    title: callId,
    input: '{}',
    ...more,
  }) as EventBody

const result = (callId: string, more: Partial<EventBody> = {}): EventBody =>
  ({ kind: 'tool.result', callId, status: 'ok', output: 'done', ...more }) as EventBody

const inputEvent = (
  kind: 'input.queued' | 'input.sent' | 'input.delivered' | 'input.cancelled' | 'input.unknown',
  input: InputId,
): EventBody => ({ kind, input, inputKind: 'message', text: 'hello', author: 'person' })

const step = (
  kind: 'park.step' | 'resume.step',
  name: string,
  status: 'started' | 'done' | 'failed',
): EventBody => ({ kind, step: name, status })

const groups = (rows: readonly Row[]) =>
  rows.flatMap((row) =>
    row.kind === 'steps'
      ? [`${row.saga}: ${row.steps.map(({ step, status }) => `${step} ${status}`).join(', ')}`]
      : [row.kind],
  )

describe('steps of parking and resuming', () => {
  it('are one row each, where they begin, whatever is told in between', () => {
    const rows = rowsOf([
      step('park.step', 'settle', 'started'),
      step('park.step', 'settle', 'done'),
      step('park.step', 'push', 'started'),
      { kind: 'notice', level: 'warning', code: 'not-pushed', text: 'not pushed' },
      step('park.step', 'push', 'failed'),
      { kind: 'session.state', from: 'parking', to: 'parked', reason: 'nobody answered' },
      step('park.step', 'free', 'done'),
      step('resume.step', 'clone', 'done'),
      call('setup'),
      step('resume.step', 'prove', 'started'),
    ])
    expect(groups(rows)).toEqual([
      'park: settle done, push failed, free done',
      'notice',
      'state',
      'resume: clone done, prove started',
      'tool',
    ])
  })

  it('are another row when they are done once more, or after a turn', () => {
    const rows = rowsOf([
      step('park.step', 'settle', 'done'),
      step('park.step', 'settle', 'started'),
      step('park.step', 'settle', 'done'),
      { kind: 'turn.started', turn: 2, inputs: [] },
      step('park.step', 'snapshot', 'done'),
    ])
    expect(groups(rows)).toEqual([
      'park: settle done',
      'park: settle done',
      'turn',
      'park: snapshot done',
    ])
  })
})

describe('grouping events into rows', () => {
  it('joins a call with its result, and nests what a subagent did under its call', () => {
    const [row, ...rest] = rowsOf([
      call('a', { toolKind: 'agent' } as Partial<EventBody>),
      call('b', { parent: 'a' } as Partial<EventBody>),
      { kind: 'assistant.text', text: 'found', parent: 'a' },
      result('b', { parent: 'a' } as Partial<EventBody>),
      result('a'),
    ])
    expect(rest).toEqual([])
    const tool = row as ToolRow
    expect(tool.result?.output).toBe('done')
    expect(tool.children.map(({ kind }) => kind)).toEqual(['tool', 'text'])
    expect((tool.children[0] as ToolRow).result?.status).toBe('ok')
  })

  it('shows a permission at the call that needs it, with its answer', () => {
    const request = fixtureId() as RequestId
    const asked = { kind: 'request.opened', request, callId: 'a', title: 'a', input: '{}' } as const
    const opened: EventBody = { ...asked, toolKind: 'execute' }
    const closed: EventBody = {
      kind: 'request.closed',
      request,
      outcome: 'denied',
      author: 'person',
      text: 'no',
    }
    const [open, ...none] = rowsOf([call('a'), opened])
    expect(none).toEqual([])
    expect(open).toMatchObject({ kind: 'tool', permission: { answer: null } })
    const [over] = rowsOf([call('a'), opened, closed, result('a', { status: 'error' } as never)])
    expect(over).toMatchObject({ permission: { answer: { outcome: 'denied', text: 'no' } } })
    // Where the call is not loaded it stands by itself.
    expect(rowsOf([opened, closed])).toMatchObject([
      { kind: 'request', permission: { answer: { outcome: 'denied' } } },
    ])
  })

  it('shows a todo list once: not also the call that made it, unless that failed', () => {
    const made = call('t', { name: 'TodoWrite', toolKind: 'other', ref: 'r1' } as never)
    const todo: EventBody = {
      kind: 'todo',
      items: [{ text: 'x', status: 'active' }],
      ref: 'r1:todo',
    }
    const other = call('o', { toolKind: 'other', ref: 'r0' } as never)
    expect(rowsOf([other, made, todo, result('t')]).map(({ key }) => key)).toEqual([
      'call:o',
      'seq:3',
    ])
    const failed = rowsOf([made, todo, result('t', { status: 'error' } as never)])
    expect(failed.map(({ kind }) => kind)).toEqual(['tool', 'todo'])
  })

  it('says that a running turn took an input', () => {
    const input = fixtureId() as InputId
    const steer = { steer: true } as const
    const rows = rowsOf([
      { kind: 'turn.started', turn: 1, inputs: [] },
      { ...inputEvent('input.sent', input), ...steer } as EventBody,
      { ...inputEvent('input.delivered', input), ...steer } as EventBody,
    ])
    expect(rows[1]).toMatchObject({ kind: 'input', state: 'delivered', steer: true })
  })

  it('draws an input in the turn that it was delivered to, with its last state', () => {
    const input = fixtureId() as InputId
    const rows = rowsOf([
      inputEvent('input.queued', input),
      inputEvent('input.sent', input),
      { kind: 'turn.started', turn: 1, inputs: [input] },
      inputEvent('input.delivered', input),
    ])
    expect(rows.map(({ key }) => key)).toEqual(['turn:1', `input:${input}`])
    expect(rows[1]).toMatchObject({ kind: 'input', state: 'delivered' })
  })

  it('draws no input that is only queued, nor one that is queued again', () => {
    const input = fixtureId() as InputId
    expect(rowsOf([inputEvent('input.queued', input)])).toEqual([])
    const again = rowsOf([
      inputEvent('input.sent', input),
      inputEvent('input.queued', input),
      { kind: 'notice', level: 'info', code: 'x', text: 'later' },
      inputEvent('input.sent', input),
    ])
    expect(again.map(({ kind }) => kind)).toEqual(['notice', 'input'])
  })

  it('puts the end of a turn on its heading, and tells an end that was not its own', () => {
    const rows = rowsOf([
      { kind: 'turn.started', turn: 1, inputs: [] },
      { kind: 'turn.ended', turn: 1, reason: 'completed', durationMs: 5, usage, costUsd: 0.1 },
      { kind: 'turn.started', turn: 2, inputs: [] },
      {
        kind: 'turn.ended',
        turn: 2,
        reason: 'failed',
        durationMs: 7,
        usage,
        costUsd: 0.2,
        detail: 'no',
      },
    ])
    expect(rows.map(({ kind }) => kind)).toEqual(['turn', 'turn', 'ended'])
    expect(rows[0]).toMatchObject({ end: { costUsd: 0.1 } })
    expect(rows[2]).toMatchObject({ end: { reason: 'failed', detail: 'no' } })
  })

  it('leaves out a result whose call is further up than what is loaded', () => {
    expect(rowsOf([result('gone')])).toEqual([])
  })

  it('keeps only the newest todo list open by itself', () => {
    const rows = rowsOf([
      { kind: 'todo', items: [{ text: 'a', status: 'active' }] },
      { kind: 'todo', items: [{ text: 'a', status: 'done' }] },
    ])
    expect(rows.map((row) => row.kind === 'todo' && row.latest)).toEqual([false, true])
  })

  it('gives two rows of one name different keys', () => {
    const rows = rowsOf([
      { kind: 'assistant.text', text: 'one', block: 'b' },
      { kind: 'assistant.text', text: 'another', block: 'b' },
    ])
    expect(new Set(rows.map(({ key }) => key)).size).toBe(2)
  })

  it('leaves rows that did not change the same objects', () => {
    const events = numbered(session, storyBodies())
    const builder = new RowBuilder()
    builder.add(events.slice(0, -1))
    const before = builder.rows()
    builder.add(events.slice(-1))
    const after = builder.rows()
    const kept = before.filter((row, at) => after[at] === row)
    expect(kept.length).toBeGreaterThanOrEqual(before.length - 1)
  })
})

describe('building again', () => {
  it('after a page further up gives the rows below as the same objects', () => {
    const events = numbered(session, longBodies(600))
    const first = new RowBuilder()
    first.add(events.slice(300))
    const before = new Set(first.rows())
    const second = new RowBuilder(first)
    second.add(events)
    const kept = second.rows().filter((row) => before.has(row))
    // All but those whose beginning was further up.
    expect(kept.length).toBeGreaterThan(before.size - 4)
    const whole = new RowBuilder()
    whole.add(events)
    expect(second.rows()).toEqual(whole.rows())
  })
})

describe('the same rows however the events came', () => {
  const stories = { story: storyBodies(), long: longBodies(300), hostile: hostileBodies() }
  for (const [name, bodies] of Object.entries(stories)) {
    it(`${name}: random pieces, with live text in between`, () => {
      const events = numbered(session, bodies)
      const whole = new RowBuilder()
      whole.add(events)
      const expected = whole.rows()
      for (let seed = 1; seed <= 8; seed += 1) {
        const random = seeded(seed)
        const builder = new RowBuilder()
        for (let at = 0; at < events.length; ) {
          const next = at + 1 + Math.floor(random() * 9)
          const live = new Map<string, LiveBlock>()
          if (random() < 0.5) {
            live.set('l', { block: 'l', kind: 'assistant.text', text: 'wri' })
            const open = events
              .slice(0, at)
              .reverse()
              .find(({ kind }) => kind === 'tool.call')
            if (open?.kind === 'tool.call') {
              live.set('o', {
                block: 'o',
                kind: 'tool.output',
                callId: open.callId,
                text: String(seed),
              })
            }
          }
          builder.setLive(live)
          builder.rows()
          builder.add(events.slice(at, next))
          at = next
        }
        builder.setLive(new Map())
        expect(builder.rows()).toEqual(expected)
      }
    })
  }
})

describe('live blocks', () => {
  const text = (block: string, written: string, parent?: string): [string, LiveBlock] => [
    block,
    {
      block,
      kind: 'assistant.text',
      text: written,
      ...(parent === undefined ? {} : { parent }),
    },
  ]

  it('stand behind what is stored, under the key that the finished block will have', () => {
    const builder = new RowBuilder()
    builder.setLive(new Map([text('b1', 'hel')]))
    builder.add(numbered(session, [{ kind: 'notice', level: 'info', code: 'x', text: 'n' }]))
    const live = builder.rows()
    expect(live.map(({ kind }) => kind)).toEqual(['notice', 'text'])
    builder.add(numbered(session, [{ kind: 'assistant.text', text: 'hello', block: 'b1' }], 2))
    // The same answer may still call the block live.
    expect(builder.rows()).toHaveLength(2)
    builder.setLive(new Map())
    expect(builder.rows()[1]).toMatchObject({ key: live[1]?.key, text: 'hello', live: false })
  })

  it('grow inside the call of their subagent, and as the output of a running call', () => {
    const builder = new RowBuilder()
    builder.add(numbered(session, [call('a', { toolKind: 'agent' } as Partial<EventBody>)]))
    const output: LiveBlock = { block: 'o', kind: 'tool.output', callId: 'a', text: 'line' }
    builder.setLive(new Map([text('b', 'sub', 'a'), ['o', output]]))
    const [tool] = builder.rows()
    expect(tool).toMatchObject({ liveOutput: 'line', children: [{ kind: 'text', text: 'sub' }] })
    builder.add(numbered(session, [result('a')], 2))
    builder.setLive(new Map())
    expect(builder.rows()[0]).toMatchObject({ liveOutput: null, children: [] })
  })

  it('that were cut off and are recovered whole later are one row, where they were cut off', () => {
    const builder = new RowBuilder()
    const cut = { kind: 'assistant.text', text: 'Half', block: 'b', partial: true } as const
    builder.add(numbered(session, [cut, ...storyBodies().slice(0, 1)]))
    builder.add(
      numbered(session, [{ kind: 'assistant.text', text: 'Half and whole', block: 'b' }], 3),
    )
    const found = builder.rows().filter(({ key }) => key.startsWith('block:b'))
    expect(found).toMatchObject([{ seq: 1, text: 'Half and whole', partial: false }])
  })

  it('change nothing but the row that grew', () => {
    const builder = new RowBuilder()
    builder.add(numbered(session, storyBodies()))
    builder.setLive(new Map([text('b', 'a')]))
    const before = builder.rows()
    builder.setLive(new Map([text('b', 'ab')]))
    const after = builder.rows()
    expect(after.slice(0, -1).every((row, at) => row === before[at])).toBe(true)
    expect(after.at(-1)).not.toBe(before.at(-1))
  })
})
