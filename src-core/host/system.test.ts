import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Instant, SessionId } from '../../src-shared/ids.ts'
import { createSpool, freeBytes, systemClock, systemIds } from './system.ts'

describe('the system clock', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => vi.useRealTimers())

  it('tells the time as every record has it', () => {
    expect(Instant.safeParse(systemClock.now()).success).toBe(true)
    const first = systemClock.monotonic()
    expect(systemClock.monotonic()).toBeGreaterThanOrEqual(first)
  })

  it('calls back once, also after months, and not when it was taken back', () => {
    const calls: string[] = []
    const month = 30 * 24 * 3_600_000
    systemClock.after(1_000, () => calls.push('second'))
    systemClock.after(month, () => calls.push('month'))
    systemClock.after(2 * month, () => calls.push('never'))()
    const later = systemClock.after(3 * month, () => calls.push('never either'))
    vi.advanceTimersByTime(1_000)
    expect(calls).toEqual(['second'])
    vi.advanceTimersByTime(month - 1_001)
    expect(calls).toEqual(['second'])
    vi.advanceTimersByTime(1)
    expect(calls).toEqual(['second', 'month'])
    later()
    vi.advanceTimersByTime(6 * month)
    expect(calls).toEqual(['second', 'month'])
  })
})

describe('ids', () => {
  it('are new and of the kind that every record has', () => {
    expect(SessionId.safeParse(systemIds.uuid()).success).toBe(true)
    const ids = Array.from({ length: 100 }, () => systemIds.uuid())
    expect([...ids].sort()).toEqual(ids)
    expect(new Set(ids).size).toBe(100)
    expect(systemIds.nonce(8)).toMatch(/^[0-9a-f]{16}$/)
  })
})

describe('the spool', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ballet-spool-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it('gives every file, also a half written one, until it is removed', async () => {
    const spool = createSpool(folder)
    expect(await spool.read()).toEqual([])
    writeFileSync(join(folder, 'b.json'), '{"lease":1}')
    writeFileSync(join(folder, 'a.json'), '{"lea')
    writeFileSync(join(folder, 'a.json.tmp'), 'half')
    expect(await spool.read()).toEqual([
      { name: 'a.json', content: undefined },
      { name: 'b.json', content: { lease: 1 } },
    ])
    await spool.remove('a.json')
    await spool.remove('a.json')
    expect(await spool.read()).toHaveLength(1)
  })

  it('forgets what an agent had begun to write when it was killed, and not what one may be writing', async () => {
    for (const name of ['old.json.new', 'fresh.json.new']) writeFileSync(join(folder, name), '{')
    const long = new Date(Date.now() - 120_000)
    utimesSync(join(folder, 'old.json.new'), long, long)
    expect(await createSpool(folder).read()).toEqual([])
    expect(readdirSync(folder)).toEqual(['fresh.json.new'])
  })

  it('lies on a disk with room', async () => {
    expect(await freeBytes(folder)).toBeGreaterThan(0)
    expect(await freeBytes(join(folder, 'none'))).toBeNull()
  })
})
