import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { removeDeadLocks } from './dead-locks.ts'

let root: string
let locks: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'ballet-locks-'))
  locks = join(root, 'opencode', 'locks')
})
afterEach(() => rm(root, { recursive: true, force: true }))

async function lock(name: string, holder: unknown): Promise<void> {
  const folder = join(locks, `${name}.lock`)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'heartbeat'), '')
  if (holder !== undefined) await writeFile(join(folder, 'meta.json'), JSON.stringify(holder))
}

async function pidThatIsGone(): Promise<number> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  await once(child, 'exit')
  return child.pid ?? 0
}

it('removes the locks of programs that are gone, and no other', async () => {
  const gone = await pidThatIsGone()
  await lock('dead', { token: 't', pid: gone, hostname: hostname() })
  await lock('alive', { token: 't', pid: process.pid, hostname: hostname() })
  await lock('elsewhere', { token: 't', pid: gone, hostname: `not-${hostname()}` })
  await lock('just-made', undefined)
  await lock('strange', 'no holder')
  await lock('being-broken', { token: 't', pid: gone, hostname: hostname() })
  await mkdir(join(locks, 'being-broken.lock.breaker'))
  expect(await removeDeadLocks({ XDG_STATE_HOME: root })).toBe(1)
  expect((await readdir(locks)).sort()).toEqual([
    'alive.lock',
    'being-broken.lock',
    'being-broken.lock.breaker',
    'elsewhere.lock',
    'just-made.lock',
    'strange.lock',
  ])
})

it('does nothing where opencode never ran', async () => {
  expect(await removeDeadLocks({ XDG_STATE_HOME: join(root, 'none') })).toBe(0)
})
