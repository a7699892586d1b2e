import { describe, expect, it } from 'vitest'
import type { DriverSignal } from '../driver.ts'
import { replay, tell } from './testing/replay.ts'

const VERSIONS = ['2.1.332', '2.1.197'] as const

const costs = /^cost \d/
const anyCost = expect.stringMatching(costs)

/** The runs of the real runtime, and what people must see of them, with both versions that were captured. */
const SCENARIOS: Readonly<Record<string, readonly unknown[]>> = {
  'tool-turn': [
    'turn.started 1',
    'text: Listing.',
    'call execute Bash: ls',
    'result ok: a.txt',
    'text: Writing.',
    'call edit Write: notes.txt',
    expect.stringMatching(/^result ok: File created successfully/),
    'text: Done: notes.txt written.',
    anyCost,
    'turn.ended completed',
  ],
  'interrupt-tool': [
    'turn.started 1',
    'text: Starting.',
    'call execute Bash: echo start; bash -c "sleep 60; true"',
    expect.stringMatching(/^result cancelled: /),
    anyCost,
    'turn.ended interrupted',
    'turn.started 1',
    'text: You stopped the job.',
    anyCost,
    'turn.ended completed',
  ],
  'interrupt-stream': [
    'turn.started 1',
    expect.stringMatching(/^text \(cut\): Once upon a time\. /),
    anyCost,
    'turn.ended interrupted',
    'turn.started 1',
    'text: The end.',
    anyCost,
    'turn.ended completed',
  ],
  'permission-prompt': [
    'turn.started 0',
    'call edit Write: p1.txt',
    expect.stringMatching(/^result ok: File created successfully/),
    'text: ok',
    anyCost,
    'turn.ended completed',
    'turn.started 0',
    'call edit Write: p2.txt',
    'result error: Not in this directory.',
    'text: ok',
    anyCost,
    'turn.ended completed',
    'turn.started 0',
    'call edit Write: p3.txt',
    expect.stringMatching(/^result cancelled: /),
    anyCost,
    'turn.ended interrupted',
  ],
  'api-error-400': [
    'turn.started 1',
    'call execute Bash: echo hi',
    'result ok: hi',
    anyCost,
    'turn.ended failed: API Error: 400 messages.0: bad',
  ],
  'api-error-401': [
    'turn.started 1',
    expect.stringMatching(/^warning model.retry: .*401 authentication failed.*Attempt 1 of 1/),
    'cost 0.00000',
    'turn.ended failed: Invalid API key · Fix external API key',
  ],
  'api-error-529-recovers': [
    'turn.started 1',
    expect.stringMatching(
      /^warning model.retry: .*529 overloaded.*Attempt 1 of 10 follows in 0\.\d s/,
    ),
    expect.stringMatching(/^warning model.retry: .*529 overloaded.*Attempt 2 of 10/),
    'text: Recovered.',
    anyCost,
    'turn.ended completed',
  ],
  'rate-limit-subscription': [
    'turn.started 1',
    'text: first',
    expect.stringMatching(/^warning rate-limit: .*93 % of its five-hour limit.*22:06:40.000Z/),
    anyCost,
    'turn.ended completed',
    'turn.started 1',
    expect.stringMatching(/^error rate-limit: The five-hour limit of the account is used up/),
    anyCost,
    expect.stringMatching(/^turn.ended limit: You've hit your (?:5-hour|session) limit/),
  ],
  compaction: [
    'turn.started 0',
    'text: first answer',
    anyCost,
    'turn.ended completed',
    'turn.started 0',
    'text: second answer',
    anyCost,
    'turn.ended completed',
    'turn.started 0',
    expect.stringMatching(/^info compaction: .*462 tokens became \d+/),
    anyCost,
    'turn.ended completed',
    'turn.started 0',
    'text: third answer',
    anyCost,
    'turn.ended completed',
  ],
  'kill9-resume': [
    'turn.started 1',
    'text: Running.',
    'call execute Bash: echo s; bash -c "sleep 8; true"',
    'result unknown: ',
    'cost 0.00000',
    'turn.ended killed: ended',
    'turn.started 1',
    'text: Continuing.',
    anyCost,
    'turn.ended completed',
  ],
  'message-during-turn-default': [
    'turn.started 1',
    'text: Step 1.',
    'call execute Bash: echo one; bash -c "sleep 2; true"',
    'result ok: one',
    'text: Step 2.',
    'call execute Bash: echo two',
    'result ok: two',
    'text: All steps done.',
    anyCost,
    'turn.ended completed',
  ],
  // Captured with background tasks on, which Ballet turns off: the second turn begins by itself.
  'background-task': [
    'turn.started 1',
    'text: Starting.',
    'call execute Bash: echo b; bash -c "sleep 2; echo built"',
    expect.stringMatching(/^result ok: Command running in background/),
    'text: Build is running.',
    anyCost,
    'turn.ended completed',
    'turn.started 0',
    'text: The build finished.',
    anyCost,
    'turn.ended completed',
  ],
}

const events = (signals: readonly DriverSignal[]) =>
  signals.flatMap((signal) => (signal.type === 'event' ? signal.event : []))

describe.each(VERSIONS)('captured runs of %s', (version) => {
  it.each(Object.entries(SCENARIOS))('%s', (scenario, expected) => {
    expect(tell(replay(scenario, version))).toEqual(expected)
  })

  it('simple-turn: live deltas end in the finished block', () => {
    const signals = replay('simple-turn', version)
    expect(tell(signals, { live: true })).toEqual([
      'turn.started 1',
      'live assistant.thinking @0 The user wants a greeting.',
      'thinking: The user wants a greeting.',
      'live assistant.text @0 Hi there,',
      'live assistant.text @9  how can ',
      'live assistant.text @18 I help?',
      'text: Hi there, how can I help?',
      anyCost,
      'turn.ended completed',
      'turn.started 1',
      'live assistant.text @0 Bye.',
      'text: Bye.',
      anyCost,
      'turn.ended completed',
    ])
    const live = signals.flatMap((signal) => (signal.type === 'live' ? signal.block.block : []))
    const blocks = events(signals).flatMap((event) =>
      event.kind === 'assistant.text' || event.kind === 'assistant.thinking' ? event.block : [],
    )
    expect([...new Set(live)]).toEqual(blocks)
  })

  it('what each turn spent adds up to the total', () => {
    const signals = replay('simple-turn', version)
    const ends = signals.flatMap((signal) => (signal.type === 'turn.ended' ? signal : []))
    const totals = events(signals).flatMap((event) => (event.kind === 'cost' ? event : []))
    expect(ends.map((end) => end.usage)).toEqual([
      { inputTokens: 100, outputTokens: 42, cacheReadTokens: 300, cacheWriteTokens: 20 },
      { inputTokens: 100, outputTokens: 42, cacheReadTokens: 300, cacheWriteTokens: 20 },
    ])
    const window = version === '2.1.332' ? 1_000_000 : 200_000
    expect(totals[1]).toMatchObject({
      usage: { inputTokens: 200, outputTokens: 84, cacheReadTokens: 600, cacheWriteTokens: 40 },
      contextTokens: 462,
      contextWindow: window,
    })
    const spent = ends.reduce((sum, end) => sum + end.costUsd, 0)
    expect(spent).toBeCloseTo(totals[1]?.costUsd ?? 0, 10)
    expect(ends[1]?.costUsd).toBeCloseTo(ends[0]?.costUsd ?? 0, 10)
  })

  it('a call and its result have the same id, their own refs, and the time between them', () => {
    const found = events(replay('tool-turn', version))
    const refs = found.flatMap((event) => event.ref ?? [])
    expect(new Set(refs).size).toBe(refs.length)
    const call = found.find((event) => event.kind === 'tool.call')
    const result = found.find((event) => event.kind === 'tool.result')
    expect(call).toMatchObject({ input: '{"command":"ls","description":"List files"}' })
    expect(result).toMatchObject({ callId: call?.kind === 'tool.call' ? call.callId : '' })
    expect(result).toMatchObject({ durationMs: expect.any(Number), outputBytes: 5 })
    const created = found.filter((event) => event.kind === 'tool.result')[1]
    expect(created).toMatchObject({
      diff: [{ path: 'notes.txt', patch: '@@ -0,0 +1,1 @@\n+one', added: 1, removed: 0 }],
    })
  })

  it('every failed turn says what to do', () => {
    for (const scenario of ['api-error-400', 'api-error-401', 'rate-limit-subscription']) {
      const ended = replay(scenario, version)
        .filter((signal) => signal.type === 'turn.ended')
        .at(-1)
      expect(ended).toMatchObject({ hint: expect.stringMatching(/./), detail: expect.any(String) })
    }
  })
})

describe('subagents', () => {
  it('run inside the turn of 2.1.197, under their call', () => {
    expect(tell(replay('subagent', '2.1.197'))).toEqual([
      'turn.started 1',
      'text: Delegating.',
      'call agent Agent: sub job',
      '> call execute Bash: echo in-sub',
      '> result ok: in-sub',
      'result ok: sub done',
      'text: Main done.',
      anyCost,
      'turn.ended completed',
    ])
  })

  // Captured with background tasks on: the subagent outlives the turn, and its end begins another one.
  it('outlive the turn of 2.1.332 and lose no result', () => {
    expect(tell(replay('subagent'))).toEqual([
      'turn.started 1',
      'text: Delegating.',
      'call agent Agent: sub job',
      expect.stringMatching(/^result ok: Async agent launched/),
      'text: Main done.',
      '> text: sub works',
      '> call execute Bash: echo in-sub',
      anyCost,
      'turn.ended completed',
      '> result ok: in-sub',
      'turn.started 0',
      '> text: sub done',
      'text: Main after notification.',
      anyCost,
      'turn.ended completed',
    ])
  })
})
