import { describe, expect, it } from 'vitest'
import { DeliveryId, Instant } from '../../../src-shared/ids.ts'
import type { DriverSignal } from '../driver.ts'
import type { Normalizer } from './normalize.ts'
import { feed, newNormalizer, tell } from './testing/replay.ts'

const delivery = DeliveryId.parse('e27e1636-e089-4592-9cf7-8eb5a2197674')
const at = (ms: number) => Instant.parse(new Date(Date.UTC(2026, 10, 29) + ms).toISOString())

const start = { type: 'command_lifecycle', command_uuid: delivery, state: 'started' }
const completed = { type: 'result', subtype: 'success', is_error: false, num_turns: 1 }
const message = (content: unknown[], more: object = {}) => ({
  type: 'assistant',
  uuid: 'line-1',
  message: { id: 'm-1', model: 'x', content },
  ...more,
})
const stream = (event: object) => ({ type: 'stream_event', event })

function run(lines: readonly object[], normalizer: Normalizer = newNormalizer()): DriverSignal[] {
  return lines.flatMap((line, index) => feed(normalizer, JSON.stringify(line), at(index * 100)))
}

function running(env: Readonly<Record<string, string>> = {}): Normalizer {
  const normalizer = newNormalizer(env)
  normalizer.handedOver.expect(delivery)
  run([start], normalizer)
  return normalizer
}

describe('the beginning of a turn', () => {
  it('is told once, for the message that was written', () => {
    const normalizer = newNormalizer()
    normalizer.handedOver.expect(delivery)
    const other = { ...start, command_uuid: 'somebody-else' }
    const replayed = { type: 'user', uuid: delivery, isReplay: true, message: { content: 'x' } }
    const init = { type: 'system', subtype: 'init' }
    const queued = { ...start, state: 'queued' }
    const signals = run([other, queued, start, init, replayed, completed], normalizer)
    expect(signals[0]).toEqual({ type: 'turn.started', at: at(200), deliveries: [delivery] })
    expect(tell(signals)).toEqual(['turn.started 1', 'cost 0.00000', 'turn.ended completed'])
  })

  it('is known by init where the runtime tells nothing else', () => {
    const normalizer = newNormalizer()
    normalizer.handedOver.expect(delivery)
    expect(tell(run([{ type: 'system', subtype: 'init' }], normalizer))).toEqual(['turn.started 1'])
  })

  it('may come after the interrupt of it', () => {
    const normalizer = newNormalizer()
    normalizer.handedOver.expect(delivery)
    normalizer.interrupting()
    run([start], normalizer)
    const died = normalizer.died(at(200), 'killed', 'go on')
    expect(tell(died).at(-1)).toBe('turn.ended interrupted')
    expect(died.at(-1)).toMatchObject({ type: 'turn.ended', cut: true })
  })

  it('a result without a turn is none', () => {
    expect(run([completed])).toEqual([])
  })
})

describe('lines that nobody expects', () => {
  it('tells what is not JSON, and each unknown type once', () => {
    const normalizer = running()
    const signals = [
      ...feed(normalizer, 'Segmentation fault\n[1,2]\n"text"\n{"a":1}\n', at(0)),
      ...run([{ type: 'new' }, { type: 'new' }, { type: 'system', subtype: 'newer' }], normalizer),
      ...run([{ type: 'keep_alive' }, { type: 'tool_progress' }], normalizer),
      ...run([{ type: 'system', subtype: 'thinking_tokens' }], normalizer),
    ]
    expect(tell(signals)).toEqual([
      'warning runtime.garbage: Claude Code printed a line that is not JSON: Segmentation fault',
      'warning runtime.garbage: Claude Code printed a line that is not JSON: [1,2]',
      'warning runtime.garbage: Claude Code printed a line that is not JSON: "text"',
      'warning runtime.garbage: Claude Code printed a line that is not JSON: {"a":1}',
      expect.stringMatching(/^info runtime.unknown: .*: new$/),
      expect.stringMatching(/^info runtime.unknown: .*: system\/newer$/),
    ])
  })

  it('says once that more of them come, and then tells the turn alone', () => {
    const normalizer = running()
    const flood = Array.from({ length: 500 }, (_, at) => `noise ${at}\n{"type":"new ${at}"}\n`)
    const told = tell(feed(normalizer, flood.join(''), at(0)))
    expect(told).toHaveLength(51)
    expect(told.at(-1)).toMatch(/^warning runtime.strange: .*50 lines/)
    expect(tell(run([completed], normalizer)).at(-1)).toBe('turn.ended completed')
  })

  it('survives known types of a wrong shape', () => {
    const broken = [
      { type: 'assistant', message: 'text' },
      { type: 'user' },
      { type: 'stream_event', event: null },
      { type: 'result' },
      { type: 'rate_limit_event' },
    ]
    const signals = run([...broken, completed], running())
    expect(tell(signals).slice(0, 5)).toEqual(
      broken.map(({ type }) => expect.stringMatching(new RegExp(`runtime.unknown: .*: ${type}$`))),
    )
    expect(tell(signals).at(-1)).toBe('turn.ended completed')
  })

  it('tells a line that is too long with its head, and goes on', () => {
    const bytes = `${JSON.stringify({ type: 'x', text: 'y'.repeat(5_000) })}\n${JSON.stringify(completed)}`
    const signals = feed(running(), bytes, at(0), 2_000)
    expect(tell(signals)).toEqual([
      expect.stringMatching(/^warning runtime.oversized: .* 5022 bytes.*\{"type":"x"/),
      'cost 0.00000',
      'turn.ended completed',
    ])
  })
})

describe('blocks', () => {
  const begin = stream({ type: 'message_start', message: { id: 'm-1' } })
  const open = (index: number, type: string) =>
    stream({ type: 'content_block_start', index, content_block: { type } })
  const text = (index: number, piece: string) =>
    stream({ type: 'content_block_delta', index, delta: { type: 'text_delta', text: piece } })

  it('an unfinished block is kept once when the runtime dies', () => {
    const normalizer = running()
    const live = run([begin, open(0, 'text'), text(0, 'Half a sen'), text(0, 'tence')], normalizer)
    expect(live.map((signal) => signal.type)).toEqual(['live', 'live'])
    expect(tell(normalizer.died(at(900), 'killed', 'go on'))).toEqual([
      'text (cut): Half a sentence',
      'cost 0.00000',
      'turn.ended killed: killed',
    ])
    expect(normalizer.died(at(900), 'killed', 'go on')).toEqual([])
  })

  it('an unfinished block goes when its answer is generated anew', () => {
    const retry = { type: 'system', subtype: 'api_retry', attempt: 1, max_retries: 2 }
    const signals = run([begin, open(0, 'text'), text(0, 'Half'), retry, completed], running())
    expect(tell(signals)).toEqual([
      'live.gone',
      expect.stringMatching(/^warning model.retry/),
      'cost 0.00000',
      'turn.ended completed',
    ])
  })

  it('an unfinished block goes when its answer is fetched again in one piece', () => {
    const again = message([{ type: 'text', text: 'Whole.' }], {
      message: { id: 'm-2', content: [{ type: 'text', text: 'Whole.' }] },
    })
    const signals = run([begin, open(0, 'text'), text(0, 'Half'), again, completed], running())
    expect(tell(signals)).toEqual([
      'live.gone',
      'text: Whole.',
      'cost 0.00000',
      'turn.ended completed',
    ])
  })

  it('ends the live block also where the runtime leaves out empty blocks', () => {
    const signals = run(
      [
        begin,
        open(0, 'thinking'),
        open(1, 'text'),
        text(1, 'Hi'),
        message([{ type: 'text', text: 'Hi' }]),
      ],
      running(),
    )
    const [live, block] = signals
    expect(live).toMatchObject({ type: 'live', block: { block: 'm-1:1' } })
    expect(block).toMatchObject({ event: { block: 'm-1:1', ref: 'line-1' } })
  })

  it('a large text is cut and kept whole beside the event, secrets masked in both', () => {
    const whole = `${'long '.repeat(5_000)}secret-value-1`
    const [signal] = run(
      [message([{ type: 'text', text: whole }])],
      running({ SOME_TOKEN: 'secret-value-1' }),
    )
    if (signal?.type !== 'event' || signal.event.kind !== 'assistant.text')
      throw new Error('no text')
    expect(Buffer.byteLength(signal.event.text)).toBe(16 * 1024)
    expect(signal.blobs?.[0]?.id).toBe(signal.event.textBlob)
    expect(signal.blobs?.[0]?.text).toBe(`${'long '.repeat(5_000)}[SOME_TOKEN]`)
  })
})

describe('tools', () => {
  const call = (name: string, input: object, id = 't-1') =>
    message([{ type: 'tool_use', id, name, input }])
  const result = (content: unknown, more: object = {}) => ({
    type: 'user',
    uuid: 'line-2',
    message: { content: [{ type: 'tool_result', tool_use_id: 't-1', content, ...more }] },
  })

  it.each([
    ['Read', { file_path: '/workspace/src/a.ts' }, 'call read Read: src/a.ts'],
    ['Read', { file_path: '/etc/hosts' }, 'call read Read: /etc/hosts'],
    ['Bash', { command: 'make\nmake test' }, 'call execute Bash: make …'],
    ['Grep', { pattern: 'x+', path: '.' }, 'call search Grep: x+'],
    ['WebFetch', { url: 'https://example.com/' }, 'call fetch WebFetch: https://example.com/'],
    [
      'mcp__ballet__ask_question',
      { question: 'Why?' },
      'call mcp mcp__ballet__ask_question: ballet: ask question: Why?',
    ],
    ['Skill', { skill: 'verify' }, 'call other Skill: verify'],
    ['Unheard', {}, 'call other Unheard: Unheard'],
    ['Bash', 'not an object', 'call execute Bash: Bash'],
  ])('%s', (name, input, expected) => {
    expect(tell(run([call(name, input as object)], running()))).toEqual([expected])
  })

  it('reads outputs of every shape', () => {
    const outputs = [
      result('plain'),
      result('<tool_use_error>No such tool</tool_use_error>', { is_error: true }),
      result([
        { type: 'text', text: 'one' },
        { type: 'image', source: { media_type: 'image/png', data: 'A'.repeat(4_096) } },
      ]),
      result(undefined),
      result('[Tool call interrupted: the session ended before', { is_error: true }),
    ]
    expect(tell(run(outputs, running()))).toEqual([
      'result ok: plain',
      'result error: No such tool',
      'result ok: one',
      'result ok: ',
      expect.stringMatching(/^result unknown/),
    ])
    const [signal] = run([outputs[2] ?? {}], running())
    expect(signal).toMatchObject({ event: { output: 'one\n[image image/png, 3 KiB]' } })
  })

  it('tells the todo list after the call that made it', () => {
    const todos = [
      { content: 'one', status: 'completed' },
      { content: 'two', status: 'in_progress' },
      { content: 'three', status: 'pending' },
    ]
    expect(tell(run([call('TodoWrite', { todos })], running()))).toEqual([
      'call other TodoWrite: 3 todos',
      'todo done one, active two, pending three',
    ])
  })

  it('closes calls without a result when the turn fails', () => {
    const failed = { ...completed, is_error: true, api_error_status: 500, result: 'API Error: 500' }
    expect(tell(run([call('Bash', { command: 'x' }), failed], running()))).toEqual([
      'call execute Bash: x',
      'result unknown: ',
      'cost 0.00000',
      'turn.ended failed: API Error: 500',
    ])
  })
})

describe('the end of a turn', () => {
  it.each([
    [
      { is_error: true, subtype: 'error_max_turns', errors: ['Reached 3 turns'] },
      'limit: Reached 3 turns',
    ],
    [
      { is_error: true, subtype: 'error_max_budget_usd' },
      'limit: Claude Code ended the turn with error_max_budget_usd and said nothing more.',
    ],
    [
      { is_error: true, terminal_reason: 'prompt_too_long', result: 'Too long' },
      'failed: Too long',
    ],
    [{ is_error: true, terminal_reason: 'aborted_streaming' }, 'interrupted'],
    [
      { is_error: true, result: 'Not logged in · Please run /login' },
      'failed: Not logged in · Please run /login',
    ],
  ])('%j', (fields, expected) => {
    const signals = run([{ ...completed, ...fields }], running())
    expect(tell(signals).at(-1)).toBe(`turn.ended ${expected}`)
    const ended = signals.at(-1)
    if (expected !== 'interrupted')
      expect(ended).toMatchObject({ hint: expect.stringMatching(/./) })
  })
})
