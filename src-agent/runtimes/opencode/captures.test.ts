import { describe, expect, it } from 'vitest'
import { DeliveryId } from '../../../src-shared/ids.ts'
import { tell } from '../claude-code/testing/replay.ts'
import { DELIVERY_FIELD } from './handed-over.ts'
import { at, DELIVERY, feed, newNormalizer, replay } from './testing/replay.ts'
import { decodeEvent } from './wire.ts'

const OTHER_DELIVERY = DeliveryId.parse('019b0000-0000-7000-8000-000000000002')

const told = (scenario: string) =>
  tell(replay(scenario).signals).map((line) => line.split('\n')[0] ?? '')

const event = (type: string, properties: object) =>
  `data: ${JSON.stringify({ id: 'evt_1', type, properties })}\n\n`

describe('captured events of opencode 1.18.33', () => {
  it('tells a turn with tools in order', () => {
    expect(told('tool-turn')).toEqual([
      'turn.started 1',
      'delivered 1',
      'thinking: I should list',
      'call execute bash: echo hi; ls',
      'result ok: hi',
      'call edit write: note.txt',
      'result ok: Wrote file successfully.',
      'text: finished',
      'cost 0.00990',
      'turn.ended completed',
    ])
  })

  it('shows a text while it is written, in pieces that fit', () => {
    const { signals } = replay('simple-turn')
    let shown = ''
    for (const signal of signals) {
      if (signal.type !== 'live') continue
      expect(signal.offset).toBe(shown.length)
      shown += signal.block.text
    }
    expect(shown).toBe('Hello world from the model')
    const text = signals.find(
      (signal) => signal.type === 'event' && signal.event.kind === 'assistant.text',
    )
    const live = signals.find((signal) => signal.type === 'live')
    expect(text).toMatchObject({
      event: { block: live?.type === 'live' ? live.block.block : '', ref: expect.any(String) },
    })
  })

  it('tells tools of MCP by server and name, and each turn by itself', () => {
    expect(told('mcp-question')).toEqual([
      'turn.started 1',
      'delivered 1',
      'call mcp mcp__human__ask_human: human: ask human: Which port?',
      expect.stringMatching(/^result ok: Question recorded/),
      'text: I asked; waiting for the answer.',
      'cost 0.00660',
      'turn.ended completed',
      'turn.started 1',
      'delivered 1',
      'text: Using port 8080, as you answered.',
      'cost 0.00990',
      'turn.ended completed',
    ])
  })

  it('ends an aborted turn once, with its answer and not with the first word that nothing runs', () => {
    const { signals, normalizer } = replay('abort')
    expect(tell(signals).map((line) => line.split('\n')[0])).toEqual([
      'turn.started 1',
      'delivered 1',
      'call execute bash: echo before; sleep 61; echo after',
      'result cancelled: before',
      'cost 0.00000',
      'turn.ended interrupted',
    ])
    expect(normalizer.turnRuns).toBe(false)
  })

  it('tells what a failed turn failed with, and what to do', () => {
    const { signals, normalizer } = replay('error-401')
    expect(normalizer.waitsForEnd).toBe(true)
    const ended = [...signals, ...normalizer.settleTurn(at(3_000))].at(-1)
    expect(ended).toMatchObject({
      type: 'turn.ended',
      reason: 'failed',
      detail: 'fake error 401',
      hint: expect.stringContaining('opencode auth login'),
    })
  })

  it('tells what is retried', () => {
    const lines = told('error-429-retry')
    expect(lines.filter((line) => line.includes('model.retry'))).toEqual([
      expect.stringContaining('(fake error 429). Attempt 2 follows in'),
      expect.stringContaining('(fake error 429). Attempt 3 follows in'),
    ])
    expect(lines.at(-1)).toBe('turn.ended completed')
  })
})

describe('events that are not as they should be', () => {
  const info = (id: string, fields: object) => ({
    sessionID: 'ses_1',
    info: { id, sessionID: 'ses_1', role: 'assistant', time: { created: 1 }, ...fields },
  })
  const begun = () => {
    const normalizer = newNormalizer('ses_1')
    feed(normalizer, event('message.updated', info('msg_1', {})), at(0))
    return normalizer
  }

  it('tells an unknown type once, and what cannot be read', () => {
    const normalizer = begun()
    const lines = [
      event('session.brewed', { sessionID: 'ses_1' }),
      event('session.brewed', { sessionID: 'ses_1' }),
      'data: {"type":\n\n',
      event('server.heartbeat', {}),
      event('message.part.updated', { part: 'none' }),
    ]
    expect(tell(lines.flatMap((line) => feed(normalizer, line, at(1))))).toEqual([
      expect.stringMatching(/^info runtime\.unknown: .*session\.brewed/),
      expect.stringMatching(/^warning runtime\.garbage: /),
      expect.stringMatching(/^info runtime\.unknown: .*message\.part\.updated/),
    ])
    expect(decodeEvent('null')).toEqual({ kind: 'garbage' })
  })

  it('leaves out half a line at the end of a stream, and an event that is too long', () => {
    const normalizer = begun()
    const whole = event('session.brewed', {})
    expect(feed(normalizer, whole.slice(0, 20), at(1))).toEqual([])
    expect(tell(feed(normalizer, event('x', { text: 'y'.repeat(500) }), at(1), 300))).toEqual([
      expect.stringMatching(/^warning runtime\.oversized: opencode told an event of 5\d\d bytes/),
    ])
  })

  it('does not end a turn by a stray word that nothing runs', () => {
    const normalizer = newNormalizer('ses_1')
    const idle = event('session.idle', { sessionID: 'ses_1' })
    expect(tell(feed(normalizer, event('message.updated', info('msg_1', {})), at(0)))).toEqual([
      'turn.started 0',
    ])
    expect(feed(normalizer, idle, at(1))).toEqual([])
    feed(
      normalizer,
      event('session.status', { sessionID: 'ses_1', status: { type: 'busy' } }),
      at(2),
    )
    const over = event('message.updated', info('msg_1', { time: { created: 1, completed: 2 } }))
    expect(feed(normalizer, over, at(3))).toEqual([])
    expect(tell(feed(normalizer, idle, at(4))).at(-1)).toBe('turn.ended completed')
    expect(feed(normalizer, idle, at(5))).toEqual([])
  })

  it('reads from the record what it missed, and tells nothing twice', () => {
    const normalizer = begun()
    const part = {
      ...{ id: 'prt_1', sessionID: 'ses_1', messageID: 'msg_1', type: 'text', text: 'Whole.' },
      time: { start: 1, end: 2 },
    }
    const done = info('msg_1', { time: { created: 1, completed: 2 }, cost: 0.5 }).info
    const signals = normalizer.catchUp([{ info: done, parts: [part] }], at(5))
    expect(tell(signals)).toEqual(['text: Whole.'])
    expect(tell(normalizer.nothingRuns(at(5)))).toEqual(['cost 0.50000', 'turn.ended completed'])
    const again = event('message.part.updated', { part })
    expect(feed(normalizer, again, at(6))).toEqual([])
  })

  it('takes from the record what belongs to the turn that begins, and nothing of an earlier process', () => {
    const normalizer = newNormalizer('ses_1')
    const stored = (id: string, fields: object, part: object) => ({
      info: { ...info(id, fields).info, time: { created: 1, completed: 2 }, ...fields },
      parts: [{ id: `${id}_part`, sessionID: 'ses_1', messageID: id, type: 'text', ...part }],
    })
    const ended = { start: 1, end: 2 }
    const marked = (delivery: string) => ({ text: 'x', metadata: { [DELIVERY_FIELD]: delivery } })
    const old = [
      stored('msg_1', { role: 'user', time: { created: 1 } }, marked('old')),
      stored('msg_2', { cost: 9 }, { text: 'Old.', time: ended }),
    ]
    normalizer.handedOver.expect(DELIVERY)
    expect(normalizer.catchUp(old, at(9_000))).toEqual([])
    const begun = stored('msg_3', { role: 'user', time: { created: 10 } }, marked(DELIVERY))
    const time = { created: 20, completed: 30 }
    const answer = stored('msg_4', { time, cost: 0.5 }, { text: 'New.', time: ended })
    expect(tell(normalizer.catchUp([...old, begun, answer], at(9_000)))).toEqual([
      ...['turn.started 1', 'delivered 1', 'text: New.'],
    ])
    // A message for the turn is on its way: that makes nothing old new.
    normalizer.handedOver.steer(OTHER_DELIVERY)
    expect(normalizer.catchUp([...old, begun, answer], at(9_100))).toEqual([])
    expect(tell(normalizer.nothingRuns(at(9_200)))).toEqual([
      ...['cost 0.50000', 'turn.ended completed'],
    ])
  })

  it('is not fooled by the sessions of others', () => {
    const normalizer = begun()
    const idle = event('session.idle', { sessionID: 'ses_2' })
    expect(feed(normalizer, idle, at(1))).toEqual([])
    expect(normalizer.waitsForEnd).toBe(false)
  })
})
