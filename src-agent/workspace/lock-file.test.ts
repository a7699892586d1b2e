import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { identityOf } from '../process-tree/index.ts'
import { withLockFile } from './lock-file.ts'

let folder: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ballet-lock-'))
  file = join(folder, 'p.git.lock')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const dead = JSON.stringify({ pid: process.pid, startTime: '1' })
const alive = async () => JSON.stringify(await identityOf(process.ppid))

it('lets one in at a time, and leaves nothing', async () => {
  let inside = 0
  let most = 0
  const visit = () =>
    withLockFile(file, { limitMs: 10_000 }, async () => {
      inside += 1
      most = Math.max(most, inside)
      expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ pid: process.pid })
      inside -= 1
    })
  await Promise.all([visit(), visit(), visit(), visit()])
  expect(most).toBe(1)
  expect(await readdir(folder)).toEqual([])
})

it('is free again when the use fails', async () => {
  const failing = withLockFile(file, { limitMs: 1_000 }, () => Promise.reject(new Error('no')))
  await expect(failing).rejects.toThrow('no')
  expect(await withLockFile(file, { limitMs: 1_000 }, async () => 'in')).toBe('in')
})

it.each([
  ['a holder that is dead', dead],
  ['nonsense', 'x'],
])('breaks a lock of %s', async (_, content) => {
  await writeFile(file, content)
  expect(await withLockFile(file, { limitMs: 5_000 }, async () => 'in')).toBe('in')
  expect(await readdir(folder)).toEqual([])
})

it('breaks a lock although somebody died while breaking it', async () => {
  await writeFile(file, dead)
  await writeFile(`${file}.break`, '1')
  const old = Date.now() / 1_000 - 60
  await utimes(`${file}.break`, old, old)
  expect(await withLockFile(file, { limitMs: 5_000 }, async () => 'in')).toBe('in')
})

it('waits for a holder that lives, says so once, and gives up at the limit or when told', async () => {
  await writeFile(file, await alive())
  const told: unknown[] = []
  const options = { limitMs: 300, onWait: (holder: unknown) => told.push(holder) }
  await expect(withLockFile(file, options, async () => 'in')).rejects.toMatchObject({
    code: 'lock.busy',
  })
  expect(told).toMatchObject([{ pid: process.ppid }])
  const aborter = new AbortController()
  const waiting = withLockFile(
    file,
    { limitMs: 60_000, signal: aborter.signal, onWait: () => aborter.abort() },
    async () => 'in',
  )
  await expect(waiting).rejects.toMatchObject({ code: 'git.cancelled' })
  expect(await readFile(file, 'utf8')).toBe(await alive())
  expect(await readdir(folder)).toEqual(['p.git.lock'])
})
