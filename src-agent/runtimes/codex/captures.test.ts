import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { DeliveryId, Instant } from '../../../src-shared/ids.ts'
import { tell } from '../claude-code/testing/replay.ts'
import type { DriverSignal } from '../driver.ts'
import { SecretMask } from '../mask-secrets.ts'
import { plainCommand } from './items.ts'
import { Normalizer } from './normalize.ts'
import { recover } from './recover.ts'

type Captured = { at: number; dir: string; id?: unknown; method?: string; params?: unknown }

const BEGIN = Date.parse('2026-11-29T15:17:56.000Z')
const DELIVERY = DeliveryId.parse('0190c0de-0000-7000-8000-000000000001')
const at = (ms: number) => Instant.parse(new Date(BEGIN + ms).toISOString())

function captured(scenario: string): Captured[] {
  const file = new URL(`./captures/${scenario}.0.171.0.jsonl`, import.meta.url)
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line) as Captured)
}

function normalizerOf(lines: readonly Captured[]): Normalizer {
  const { params } = lines.find(({ method }) => method === 'turn/start') ?? expect.unreachable()
  return new Normalizer({
    cwd: '/workspace',
    mask: new SecretMask({}),
    conversation: (params as { threadId: string }).threadId,
    mcpServers: new Set(['human']),
  })
}

/** What the driver makes of the lines of a captured run of the real server. */
function replay(lines: readonly Captured[], normalizer = normalizerOf(lines)): DriverSignal[] {
  return lines.flatMap(({ at: ms, dir, id, method, params }) => {
    if (method === 'turn/start') normalizer.expect(DELIVERY)
    if (method === 'turn/interrupt') normalizer.interrupting()
    const isNotification = dir === '<' && method !== undefined && id === undefined
    if (!isNotification || method === 'serverRequest/resolved') return []
    return normalizer.notification(method, params, at(ms))
  })
}

const WARNING =
  'info runtime.warning: Codex: Model metadata for `fake-codex` not found. Defaulting to fallback metadata; this can degrade performance and cause issues.'

describe('captured runs of Codex 0.171.0', () => {
  it('a turn with a command', () => {
    const signals = replay(captured('turn'))
    expect(tell(signals, { live: true })).toEqual([
      WARNING,
      'turn.started 1',
      'call execute shell: echo hi; pwd',
      'result ok: hi',
      'live assistant.text @0 finished ',
      'live assistant.text @9 turn',
      'text: finished turn',
      'cost 0.00000',
      'turn.ended completed',
    ])
    expect(signals.at(-1)).toMatchObject({
      usage: { inputTokens: 2000, outputTokens: 40, cacheReadTokens: 0, cacheWriteTokens: 0 },
      durationMs: 120,
    })
    expect(signals.at(-2)).toMatchObject({
      event: { contextTokens: 1020, contextWindow: 258_400 },
    })
  })

  it('permissions', () => {
    expect(
      tell(replay(captured('approval'))).filter((line) => /^(call|result)/.test(line)),
    ).toEqual([
      'call execute shell: touch cxfile1',
      'result ok: ',
      'call execute shell: touch cxfile2',
      'result cancelled: ',
    ])
  })

  it("a question by a server's tool", () => {
    expect(tell(replay(captured('mcp-question')))).toContain(
      'call mcp mcp__human__ask_human: human: ask human: port?',
    )
  })

  it('an interrupt: the turn is held until what its command printed is there', () => {
    const lines = captured('interrupt')
    const normalizer = normalizerOf(lines)
    const told = tell(replay(lines, normalizer))
    expect(normalizer.isHeld).toBe(true)
    expect(told.some((line) => line.startsWith('turn.ended'))).toBe(false)
    expect(tell(normalizer.release(at(60_000))).map((line) => line.split(':')[0])).toEqual([
      'result cancelled',
      expect.stringMatching(/^cost/),
      'turn.ended interrupted',
    ])
    expect(normalizer.turnId).toBeNull()
  })
})

describe('what is left of a turn that was cut', () => {
  const facts = {
    ...{ conversation: 'c', openCalls: [], turn: 3 },
    storedRefs: ['m1'],
    told: [],
    turnCut: true,
    recorded: true,
    openDeliveries: [],
  }
  const options = { cwd: '/workspace', mask: new SecretMask({}), now: () => at(0) }
  const turn = (clientId: string, ...items: object[]) => ({
    ...{ id: 't', status: 'interrupted' },
    items: [{ type: 'userMessage', id: `u-${clientId}`, clientId }, ...items],
  })
  const said = (id: string) => ({ type: 'agentMessage', id, text: `said ${id}` })

  it('is told without what the timeline holds', () => {
    const turns = [turn('a', said('m0')), turn('b', said('m1'), said('m2'))]
    const found = recover(turns, { ...options, facts })
    expect(tell(found.signals)).toEqual(['text: said m2'])
  })

  it('a message that joined a turn is told as joined, one that is nowhere as never kept', () => {
    const steered = DeliveryId.parse('0190c0de-0000-7000-8000-000000000002')
    const open = [DELIVERY, steered].map((id) => ({ id, inputs: [], steer: true }))
    const joined = { type: 'userMessage', id: 'u', clientId: steered }
    const turns = [turn('b', said('m1'), joined, said('m2'))]
    const found = recover(turns, { ...options, facts: { ...facts, openDeliveries: open } })
    expect(found.fates).toEqual(
      new Map([
        [steered, 'joined'],
        [DELIVERY, 'never'],
      ]),
    )
    expect(tell(found.signals)).toEqual(['text: said m2'])
  })
})

describe('a command without the shell around it', () => {
  it.each([
    [`/bin/bash -lc 'echo hi; pwd'`, 'echo hi; pwd'],
    [`/bin/bash -lc ls`, 'ls'],
    [`/usr/bin/zsh -c "echo \\"a b\\" \\$HOME"`, 'echo "a b" $HOME'],
    [`/bin/bash -lc 'it'\\''s'`, `it's`],
    ['make test', 'make test'],
    [`/bin/bash -lc 'a' 'b'`, `/bin/bash -lc 'a' 'b'`],
  ])('%s', (whole, plain) => {
    expect(plainCommand(whole)).toBe(plain)
  })
})
