import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { layOut } from './data-folder.ts'
import { type Holder, takeHostLock } from './host-lock.ts'

let base: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'ballet-lock-'))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const me: Holder = { kind: 'headless', pid: process.pid, startedAt: '2026-11-29T12:00:00.000Z' }

const refusalOf = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    return error as { code: string; message: string; hint: string }
  }
  throw new Error('it was taken')
}

/** Another process that holds the lock as a host does. */
async function otherHolder(lock: string): Promise<ChildProcess> {
  const sqlite = createRequire(import.meta.url).resolve('better-sqlite3')
  const child = spawn(
    process.execPath,
    [
      '-e',
      `const db = new (require(${JSON.stringify(sqlite)}))(${JSON.stringify(lock)})
       db.exec('BEGIN EXCLUSIVE')
       process.stdout.write('held')
       setInterval(() => db, 1000)`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  await new Promise((resolve, reject) => {
    child.stdout?.once('data', resolve)
    child.once('exit', () => reject(new Error('the other process ended')))
  })
  return child
}

describe('the lock of a host', () => {
  it('is held by one, who is named', () => {
    const folder = layOut(base)
    const lock = takeHostLock(folder, me)
    expect(JSON.parse(readFileSync(folder.holder, 'utf8'))).toEqual(me)
    const refusal = refusalOf(() => takeHostLock(folder, me))
    expect(refusal.code).toBe('host.running')
    expect(refusal.message).toContain(`process ${process.pid}`)
    expect(refusal.message).toContain(base)
    expect(refusal.hint).toContain('--data')
    lock.release()
    expect(existsSync(folder.holder)).toBe(false)
    takeHostLock(folder, me).release()
  })

  it('is free again at once when its holder is killed', async () => {
    const folder = layOut(base)
    const other = await otherHolder(folder.lock)
    expect(refusalOf(() => takeHostLock(folder, me)).code).toBe('host.running')
    // What a killed host left beside it says nothing.
    writeFileSync(folder.holder, JSON.stringify({ ...me, kind: 'desktop', pid: other.pid }))
    expect(refusalOf(() => takeHostLock(folder, me)).message).toContain('The application runs on')
    const gone = new Promise((resolve) => other.once('exit', resolve))
    other.kill('SIGKILL')
    await gone
    takeHostLock(folder, me).release()
  })

  it('says when the lock cannot be used', () => {
    const folder = layOut(base)
    writeFileSync(folder.lock, 'no database\n'.repeat(100))
    const refusal = refusalOf(() => takeHostLock(folder, me))
    expect(refusal.code).toBe('host.lock-failed')
    expect(refusal.message).toContain(folder.lock)
  })

  it('is kept although nobody refers to it', async () => {
    const folder = layOut(base)
    takeHostLock(folder, me)
    // Enough garbage for a collection.
    for (let round = 0; round < 50; round += 1) new Array(100_000).fill({})
    expect(refusalOf(() => takeHostLock(folder, me)).code).toBe('host.running')
  })
})
