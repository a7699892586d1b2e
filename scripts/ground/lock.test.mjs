import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { takeLock } from './lock.mjs'
import { identify, isAlive } from './process-identity.mjs'
import { endGroup } from './run.mjs'

/** @type {string} */
let folder
/** @type {string} */
let path
/** @type {import('node:child_process').ChildProcess[]} */
let children
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-lock-'))
  path = join(folder, 'lock')
  children = []
})
afterEach(async () => {
  for (const child of children) {
    if (child.pid !== undefined && child.exitCode === null) child.kill('SIGKILL')
  }
  rmSync(folder, { recursive: true, force: true })
})

/** A process that lives until it is ended. */
function idle() {
  const child = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' })
  children.push(child)
  return { child, identity: identify(/** @type {number} */ (child.pid)) }
}
const DEAD = { pid: 2 ** 22 + 1, started: '1' }
/**
 * @param {object} content
 */
const leave = (content) => writeFileSync(path, JSON.stringify(content))

describe('an identity', () => {
  it('is alive while the process runs, and no longer', async () => {
    const { child, identity } = idle()
    expect(isAlive(identity)).toBe(true)
    child.kill('SIGKILL')
    await expect.poll(() => isAlive(identity)).toBe(false)
  })

  it('is not that of another process with the same number', () => {
    const { identity } = idle()
    expect(isAlive({ ...identity, started: '12345' })).toBe(false)
  })
})

describe('the lock', () => {
  it('is taken once, and again after its release', async () => {
    const lock = await takeLock(path)
    expect(JSON.parse(readFileSync(path, 'utf8')).owner.pid).toBe(process.pid)
    await expect(takeLock(path, { limitMs: 50 })).rejects.toMatchObject({ code: 'SETUP_LOCKED' })
    lock.release()
    const next = await takeLock(path, { limitMs: 50 })
    next.release()
    expect(existsSync(path)).toBe(false)
  })

  it('waits for a living owner, says so once, and goes on when it ends', async () => {
    const { child, identity } = idle()
    leave({ owner: identity, children: [] })
    /** @type {number[]} */
    const waits = []
    const taken = takeLock(path, { onWait: (owner) => waits.push(owner.pid) })
    await expect.poll(() => waits.length).toBe(1)
    await delay(250)
    child.kill('SIGKILL')
    const lock = await taken
    expect(waits).toEqual([identity.pid])
    lock.release()
  })

  it('is taken over from an owner that died', async () => {
    leave({ owner: DEAD, children: [] })
    const lock = await takeLock(path, { limitMs: 1_000 })
    expect(JSON.parse(readFileSync(path, 'utf8')).owner.pid).toBe(process.pid)
    lock.release()
  })

  it('is taken over from one whose number another process has now', async () => {
    const { identity } = idle()
    leave({ owner: { ...identity, started: '1' }, children: [] })
    const lock = await takeLock(path, { limitMs: 1_000 })
    lock.release()
  })

  it('is taken over where the file holds nothing readable', async () => {
    writeFileSync(path, '')
    const lock = await takeLock(path, { limitMs: 1_000 })
    lock.release()
  })

  it('survives a process that died while taking it over', async () => {
    leave({ owner: DEAD, children: [] })
    writeFileSync(`${path}.take-over`, JSON.stringify({ owner: DEAD, children: [] }))
    const longAgo = new Date(Date.now() - 60_000)
    utimesSync(`${path}.take-over`, longAgo, longAgo)
    const lock = await takeLock(path, { limitMs: 1_000 })
    lock.release()
  })

  it('ends what a dead owner left running, and nothing else', async () => {
    const left = idle()
    const other = idle()
    leave({
      owner: DEAD,
      children: [left.identity, { pid: other.identity.pid, started: '1' }],
    })
    const lock = await takeLock(path, { endChild: endGroup })
    expect(isAlive(left.identity)).toBe(false)
    expect(isAlive(other.identity)).toBe(true)
    lock.release()
  })

  it('names the children of its owner while they run', async () => {
    const lock = await takeLock(path)
    const { identity } = idle()
    lock.childStarted(identity)
    expect(JSON.parse(readFileSync(path, 'utf8')).children).toEqual([identity])
    lock.childEnded(identity)
    expect(JSON.parse(readFileSync(path, 'utf8')).children).toEqual([])
    lock.release()
  })

  it('has one owner at a time, with many after a dead one', async () => {
    leave({ owner: DEAD, children: [] })
    let inside = 0
    let most = 0
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const lock = await takeLock(path)
        inside += 1
        most = Math.max(most, inside)
        await delay(2)
        inside -= 1
        lock.release()
      }),
    )
    expect(most).toBe(1)
  })
})
