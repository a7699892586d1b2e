import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  endProcesses,
  endTree,
  identityOf,
  isRunning,
  type Marker,
  markOf,
  processesWith,
  spawnMarked,
  UsageMeter,
} from './index.ts'
import { newMarker } from './testing/new-marker.ts'

const env = { PATH: process.env.PATH ?? '/usr/bin:/bin' }

async function until<T>(what: string, look: () => Promise<T | null>, limitMs = 5_000): Promise<T> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const value = await look()
    if (value !== null) return value
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`)
    await sleep(10)
  }
}

const untilCount = (marker: Marker, count: number) =>
  until(`${count} processes`, async () => {
    const found = await processesWith([marker])
    return found.length >= count ? found : null
  })

describe.skipIf(process.platform === 'win32')('process tree', () => {
  let marker: Marker
  let folder: string
  const shell = (script: string) =>
    spawnMarked('/bin/sh', ['-c', script], { cwd: folder, env, marker })

  beforeEach(async () => {
    marker = newMarker()
    folder = await mkdtemp(join(tmpdir(), 'ballet-process-tree-'))
  })

  afterEach(async () => {
    await endTree([marker], { graceMs: 0, limitMs: 5_000 })
    await rm(folder, { recursive: true })
  })

  it('names a process by pid and start time', async () => {
    const child = await shell('exec sleep 300')
    const identity = await identityOf(child.pid ?? 0)
    expect(identity).not.toBeNull()
    if (identity === null) return
    expect(await isRunning(identity)).toBe(true)
    expect(await isRunning({ ...identity, startTime: '1' })).toBe(false)
    expect(await identityOf(2 ** 22 + 1)).toBeNull()
  })

  it('rejects with the cause when a program is not there', async () => {
    const started = spawnMarked(join(folder, 'no-such-program'), [], { cwd: folder, env, marker })
    await expect(started).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('ends children that left the group, double forks and background children', async () => {
    await shell(
      'setsid sleep 300 & sleep 300 & (setsid sh -c "sleep 300 & sleep 300" &) ; sleep 300',
    )
    // The shell, its three sleeps, and the shell of the double fork with its two.
    const found = await untilCount(marker, 7)
    const ended = await endTree([marker], { graceMs: 500, limitMs: 5_000 })
    expect(ended.length).toBeGreaterThanOrEqual(found.length)
    for (const identity of found) expect(await isRunning(identity)).toBe(false)
  })

  it('ends what dropped its environment', async () => {
    await shell('env -i /bin/sleep 300 & env -i setsid /bin/sleep 300 & sleep 300')
    const found = await untilCount(marker, 4)
    await endTree([marker], { graceMs: 0, limitMs: 5_000 })
    for (const identity of found) expect(await isRunning(identity)).toBe(false)
  })

  it('kills what ignores SIGTERM, after the grace period', async () => {
    await shell('trap "" TERM; while true; do sleep 0.05; done')
    await untilCount(marker, 2)
    const begin = performance.now()
    await endTree([marker], { graceMs: 300, limitMs: 5_000 })
    expect(performance.now() - begin).toBeGreaterThanOrEqual(300)
    expect(await processesWith([marker])).toEqual([])
  })

  it('lets a process end by itself within the grace period', async () => {
    await shell('trap "echo bye > bye; exit 0" TERM; while true; do sleep 0.02; done')
    await untilCount(marker, 2)
    await endTree([marker], { limitMs: 5_000 })
    expect(await readFile(join(folder, 'bye'), 'utf8')).toBe('bye\n')
  })

  it('lets no runtime see that its tools end, which may tidy up all the same', async () => {
    await shell(
      `sh -c 'trap "echo bye > bye; exit 0" TERM; while true; do sleep 0.02; done'; echo seen > seen; sleep 300`,
    )
    await untilCount(marker, 3)
    await endTree([marker], { limitMs: 5_000, freezesOldest: true })
    expect(await processesWith([marker])).toEqual([])
    expect(await readFile(join(folder, 'bye'), 'utf8')).toBe('bye\n')
    await expect(readFile(join(folder, 'seen'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('ends 30 forks, and processes that fork while they are killed', async () => {
    await shell('for i in $(seq 30); do setsid sleep 300 & done; while true; do sleep 0.01 & done')
    await untilCount(marker, 31)
    await endTree([marker], { graceMs: 0, limitMs: 5_000 })
    expect(await processesWith([marker])).toEqual([])
  })

  it('touches no other session', async () => {
    const other = newMarker()
    const neighbour = await spawnMarked('/bin/sleep', ['300'], { cwd: folder, env, marker: other })
    await shell('sleep 300')
    await endTree([marker], { graceMs: 0, limitMs: 5_000 })
    const left = await processesWith([other])
    expect(left.map((identity) => identity.pid)).toEqual([neighbour.pid])
    await endTree([other], { graceMs: 0, limitMs: 5_000 })
  })

  it('finds what another process started under the marker', async () => {
    const child: ChildProcess = spawn('/bin/sleep', ['300'], {
      env: { ...env, BALLET_SESSION: markOf(marker) },
      stdio: 'ignore',
    })
    const found = await untilCount(marker, 1)
    expect(found.map((identity) => identity.pid)).toEqual([child.pid])
  })

  it('says what survives at the limit', async () => {
    const self = await identityOf(process.ppid)
    if (self === null) throw new Error('the parent is gone')
    // Nothing is ever sent to the parent: the limit has passed before the first signal.
    const ending = endProcesses(async () => [self], { graceMs: 0, limitMs: -1 })
    await expect(ending).rejects.toMatchObject({
      code: 'processes.survived',
      message: expect.stringContaining(String(process.ppid)),
      hint: expect.any(String),
    })
  })

  it('reads memory and processor time', async () => {
    await shell('while true; do :; done')
    const found = await untilCount(marker, 1)
    let now = 0
    const meter = new UsageMeter(() => now)
    const first = await meter.read(found)
    expect(first.memoryBytes).toBeGreaterThan(10_000)
    expect(first.cpuPercent).toBe(0)
    const usage = await until('processor time', async () => {
      now += 1_000
      const reading = await meter.read(found)
      return reading.cpuPercent > 0 ? reading : null
    })
    expect(usage.cpuPercent).toBeLessThan(1_000)
  })
})
