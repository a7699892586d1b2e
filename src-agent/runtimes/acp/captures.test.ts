import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { DeliveryId, Instant } from '../../../src-shared/ids.ts'
import { tell } from '../claude-code/testing/replay.ts'
import type { DriverSignal } from '../driver.ts'
import { SecretMask } from '../mask-secrets.ts'
import { Normalizer } from './normalize.ts'
import { turnEndOf, turnFailureOf } from './turn-end.ts'
import { ToolCallUpdate } from './updates.ts'

const BEGIN = Date.parse('2026-11-29T15:00:00.000Z')

type Captured = {
  at: number
  dir: '<' | '>'
  id?: number
  method?: string
  params?: Readonly<Record<string, unknown>>
  result?: unknown
  error?: { code: number; message: string; data: unknown }
}

/** What the driver makes of a captured run of a real agent. A prompt that was written in a turn is left out. */
function replay(name: string): DriverSignal[] {
  const file = new URL(`captures/acp-${name}-session.jsonl`, import.meta.url)
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  const normalizer = new Normalizer({
    ...{ title: 'The agent', cwd: '/workspace', mask: new SecretMask({}), servers: ['human'] },
    ...{ scope: 'scope', outputOf: () => '' },
  })
  const signals: DriverSignal[] = []
  let prompt: number | undefined
  for (const line of lines) {
    const { at: ms, dir, id, method, params, result, error } = JSON.parse(line) as Captured
    const at = Instant.parse(new Date(BEGIN + ms).toISOString())
    if (dir === '>' && method === 'session/cancel') normalizer.interrupting()
    if (dir === '>' && method === 'session/prompt' && !normalizer.turnRuns) {
      prompt = id
      const delivery = DeliveryId.parse('01a20000-0000-7000-8000-000000000001')
      signals.push(...normalizer.begin(delivery, at))
    }
    if (dir !== '<') continue
    if (method === 'session/update') signals.push(...normalizer.update(params, at))
    if (method === 'session/request_permission') {
      const asked = normalizer.asked(ToolCallUpdate.parse(params?.toolCall), at)
      signals.push(...(asked?.signals ?? []))
    }
    if (method !== undefined || id !== prompt) continue
    const end = error === undefined ? turnEndOf(result, 'A') : turnFailureOf(error, 'A', 'log in')
    signals.push(...normalizer.ended(end, at))
  }
  return signals
}

describe('captured runs', () => {
  it('of opencode', () => {
    expect(tell(replay('opencode'))).toEqual([
      'turn.started 1',
      'delivered 1',
      'thinking: hmm',
      'call execute bash: echo hi',
      'result ok: hi',
      'call execute bash: mkdir -p acpdir',
      'result ok: (no output)',
      'call edit write: acp.txt',
      'result ok: Wrote file successfully.',
      'call other todowrite: 1 todos',
      'todo active do it',
      'result ok: [',
      'call mcp mcp__human__whoami: human: whoami',
      expect.stringMatching(/^result ok: /),
      'text: All finished',
      'cost 0.01980',
      'turn.ended completed',
      'turn.started 1',
      'delivered 1',
      'call execute bash: sleep 73',
      'result cancelled: (no output)',
      'cost 0.01980',
      'turn.ended interrupted',
      'turn.started 1',
      'delivered 1',
      'call execute bash: sleep 2',
      'result ok: (no output)',
      'text: second',
      'cost 0.02640',
      'turn.ended completed',
      'turn.started 1',
      'cost 0.02640',
      'turn.ended failed: Internal error: fake error 401',
    ])
  })

  it('of Gemini CLI', () => {
    expect(tell(replay('gemini'))).toEqual([
      'turn.started 1',
      'delivered 1',
      'call execute execute: echo hi',
      expect.stringMatching(/^result ok:/),
      'text: done gem',
      'cost 0.00000',
      'turn.ended completed',
      'turn.started 1',
      'delivered 1',
      'call execute execute: sleep 77',
      'result cancelled: Command cancelled by user.',
      'cost 0.00000',
      'turn.ended interrupted',
    ])
  })

  it('show text while it comes, under the name of the block that it becomes', () => {
    const signals = replay('opencode')
    const live = signals.flatMap((signal) =>
      signal.type === 'live' && signal.block.kind === 'assistant.text' ? signal : [],
    )
    expect(live.map(({ offset, block }) => [offset, block.text]).slice(0, 2)).toEqual([
      [0, 'All '],
      [4, 'finished'],
    ])
    const text = signals.find(
      (signal) => signal.type === 'event' && signal.event.kind === 'assistant.text',
    )
    expect(text).toMatchObject({ event: { block: live[0]?.block.block } })
  })
})
