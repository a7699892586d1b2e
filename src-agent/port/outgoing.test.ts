import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as tick } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { type AgentItem, FromAgent, ItemBatch } from '../../src-shared/agent-wire.ts'
import { LeaseId } from '../../src-shared/ids.ts'
import { HandClock } from './hand-clock.ts'
import { Outgoing, type Pressure } from './outgoing.ts'
import { writeSpool } from './spool.ts'

const lease = LeaseId.parse('019a0000-0000-7000-8000-000000000001')
const at = '2026-11-29T16:32:50.123Z'

const text = (content: string, more: object = {}): AgentItem => ({
  type: 'event',
  at,
  event: { kind: 'assistant.text', text: content, ...more },
})

let clock: HandClock
let sent: FromAgent[]
let pressures: Pressure[]
let outgoing: Outgoing

beforeEach(() => {
  clock = new HandClock()
  sent = []
  pressures = []
  outgoing = new Outgoing({
    lease,
    clock,
    send: (message) => sent.push(FromAgent.parse(message)),
    onPressure: (pressure) => pressures.push(pressure),
  })
})

const batches = () => sent.flatMap((message) => (message.type === 'items' ? [message] : []))
const lives = () => sent.flatMap((message) => (message.type === 'live' ? [message] : []))
const live = (block: string, offset: number, content: string) =>
  outgoing.live({ offset, block: { block, kind: 'assistant.text', text: content } })

describe('items', () => {
  it('of one tick go together, numbered without a gap', async () => {
    outgoing.item(text('a'))
    outgoing.item(text('b'))
    expect(sent).toEqual([])
    await tick()
    outgoing.item(text('c'))
    await tick()
    expect(batches().map(({ from, items }) => [from, items.length])).toEqual([
      [1, 2],
      [3, 1],
    ])
  })

  it('go in batches of at most 1,000 and about 4 MiB', async () => {
    for (let n = 0; n < 2_500; n += 1) outgoing.item(text('x'))
    await tick()
    expect(batches().map(({ items }) => items.length)).toEqual([1_000, 1_000, 500])
    sent.length = 0
    outgoing.ack(2_500)
    for (let n = 0; n < 3; n += 1) {
      outgoing.item(text('big'), [{ id: `${n}`, text: 'y'.repeat(3 * 1024 * 1024) }])
    }
    await tick()
    expect(batches().map(({ from, blobs }) => [from, blobs.length])).toEqual([
      [2_501, 1],
      [2_502, 1],
      [2_503, 1],
    ])
  })

  it('are sent again when they are not acknowledged, later and later, and no longer after that', async () => {
    outgoing.item(text('a'))
    outgoing.item(text('b'))
    await tick()
    const seen: number[] = []
    for (let second = 1; second <= 30; second += 1) {
      const before = batches().length
      clock.advance(1_000)
      if (batches().length > before) seen.push(second)
    }
    expect(seen).toEqual([2, 6, 14, 24])
    outgoing.ack(1)
    clock.advance(2_000)
    expect(batches().at(-1)).toMatchObject({ from: 2, items: [{ event: { text: 'b' } }] })
    outgoing.ack(2)
    const count = batches().length
    clock.advance(60_000)
    expect(batches()).toHaveLength(count)
  })

  it('wait while too much is on its way', async () => {
    const blob = { id: '1', text: 'y'.repeat(5 * 1024 * 1024) }
    for (let n = 0; n < 6; n += 1) outgoing.item(text(`${n}`), [blob])
    await tick()
    expect(batches()).toHaveLength(4)
    outgoing.ack(2)
    expect(batches().at(-1)?.from).toBe(6)
  })

  it('tell when more is kept than should be, and when that is over', async () => {
    const blob = { id: '1', text: 'y'.repeat(10 * 1024 * 1024) }
    for (let n = 0; n < 26; n += 1) outgoing.item(text(`${n}`), [blob])
    expect(pressures).toEqual(['high', 'over'])
    live('b', 0, 'not shown now')
    await tick()
    clock.advance(10)
    expect(lives()).toEqual([])
    outgoing.ack(26)
    expect(pressures).toEqual(['high', 'over', 'none'])
    clock.advance(10)
    expect(lives().at(-1)?.text).toBe('not shown now')
    live('b', 13, '!')
    clock.advance(10)
    expect(
      lives()
        .map(({ text: shown }) => shown)
        .join(''),
    ).toBe('not shown now!')
  })

  it('end with the last one of the lease', async () => {
    outgoing.item({ type: 'ended', at, outcome: 'released', kept: true })
    outgoing.item(text('too late'))
    live('a', 0, 'too late')
    await tick()
    expect(sent).toMatchObject([{ from: 1, items: [{ type: 'ended' }] }])
  })

  it('are known to be stored, or not within a limit', async () => {
    expect(await outgoing.settled(10)).toBe(true)
    outgoing.item(text('a'))
    const late = outgoing.settled(1_000)
    clock.advance(1_000)
    expect(await late).toBe(false)
    const inTime = outgoing.settled(1_000)
    outgoing.ack(1)
    expect(await inTime).toBe(true)
  })

  it('are not stored where they came after it took nothing new any more', async () => {
    outgoing.seal()
    expect(await outgoing.settled(10)).toBe(true)
    outgoing.item(text('too late'))
    expect(await outgoing.settled(10)).toBe(false)
  })
})

describe('live deltas', () => {
  it('go at once, then at most every 8 ms for a block, with nothing left out', () => {
    live('a', 0, 'one')
    live('a', 3, ' two')
    live('a', 7, ' three')
    live('b', 0, 'other')
    expect(lives().map(({ block, offset, text: shown }) => [block, offset, shown])).toEqual([
      ['a', 0, 'one'],
      ['b', 0, 'other'],
    ])
    clock.advance(8)
    expect(lives().at(-1)).toMatchObject({ block: 'a', offset: 3, text: ' two three' })
    clock.advance(100)
    expect(lives()).toHaveLength(3)
  })

  it('never overtake items, and end with the finished block', async () => {
    outgoing.item(text('before'))
    live('a', 0, 'hel')
    expect(sent.map(({ type }) => type)).toEqual(['items', 'live'])
    live('a', 3, 'lo')
    outgoing.item(text('hello', { block: 'a' }))
    clock.advance(20)
    await tick()
    expect(sent.map(({ type }) => type)).toEqual(['items', 'live', 'items'])
    expect(outgoing.liveBlocks()).toEqual([])
  })

  it('begin again at offset 0', () => {
    live('a', 0, 'first try')
    clock.advance(8)
    live('a', 0, 'second')
    expect(lives().at(-1)).toMatchObject({ offset: 0, text: 'second' })
    expect(outgoing.liveBlocks()).toMatchObject([{ block: 'a', text: 'second' }])
  })

  it('of a block that nothing replaces are taken back', () => {
    live('a', 0, 'x')
    outgoing.liveGone('a')
    outgoing.liveGone('never')
    expect(sent.map(({ type }) => type)).toEqual(['live', 'live.gone'])
  })

  it('of a call end with its result', async () => {
    outgoing.live({
      offset: 0,
      block: { block: 'o', kind: 'tool.output', callId: 'c', text: 'output' },
    })
    const event = { kind: 'tool.result', callId: 'c', status: 'ok', output: 'output' } as const
    outgoing.item({ type: 'event', at, event })
    expect(sent.map(({ type }) => type)).toEqual(['live', 'items', 'live.gone'])
  })
})

describe('the spool', () => {
  it('holds what is not acknowledged, whole, as a batch that Core can read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ballet-spool-'))
    try {
      expect(outgoing.unacknowledged()).toBe(null)
      for (let n = 0; n < 1_500; n += 1) outgoing.item(text(`${n}`))
      outgoing.ack(200)
      const batch = outgoing.unacknowledged()
      if (batch === null) throw new Error('nothing to keep')
      writeSpool(folder, batch)
      writeSpool(folder, batch)
      expect(await readdir(join(folder, 'spool'))).toEqual([`${lease}.json`])
      const kept = JSON.parse(await readFile(join(folder, 'spool', `${lease}.json`), 'utf8'))
      expect(ItemBatch.parse(kept)).toMatchObject({ lease, from: 201 })
      expect(kept.items).toHaveLength(1_300)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
