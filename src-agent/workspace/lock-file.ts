import { randomBytes } from 'node:crypto'
import { link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ProcessIdentity } from '../../src-shared/agent-wire.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { identityOf, isRunning } from '../process-tree/index.ts'

const LOOK_MS = 50
/** Breaking a stale lock takes milliseconds; whoever did not finish it in this time has died. */
const BREAK_LIMIT_MS = 10_000

export type LockOptions = {
  limitMs: number
  signal?: AbortSignal
  /** Called once when somebody else holds the lock. */
  onWait?: (holder: ProcessIdentity | null) => void
}

/** Locks of this process: the identity in the file cannot tell two of its own holders apart. */
const held = new Map<string, Promise<void>>()

/**
 * Runs `use` while this process holds the lock file, which says who holds it. The lock of a process that has died
 * is broken. Rejects with `lock.busy` at the limit and `git.cancelled` when the signal comes.
 */
export async function withLockFile<T>(
  file: string,
  options: LockOptions,
  use: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + options.limitMs
  while (held.has(file)) await waitTurn(file, deadline, options)
  let release = () => {}
  held.set(
    file,
    new Promise((resolve) => {
      release = resolve
    }),
  )
  try {
    await acquire(file, deadline, options)
    try {
      return await use()
    } finally {
      await rm(file, { force: true })
    }
  } finally {
    held.delete(file)
    release()
  }
}

async function waitTurn(file: string, deadline: number, options: LockOptions): Promise<void> {
  check(file, deadline, options)
  await Promise.race([held.get(file), sleep(LOOK_MS)])
}

async function acquire(file: string, deadline: number, options: LockOptions): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  const own = await identityOf(process.pid)
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  // Linked into place, so that nobody ever reads a lock without its holder.
  await writeFile(draft, JSON.stringify(own ?? { pid: process.pid, startTime: '' }))
  try {
    for (let waited = false; ; waited = true) {
      if (await linked(draft, file)) return
      const holder = await holderOf(file)
      if (holder === 'gone') continue
      if (holder === null || !(await isRunning(holder))) {
        await breakStale(file)
        continue
      }
      check(file, deadline, options)
      if (!waited) options.onWait?.(holder)
      await sleep(LOOK_MS)
    }
  } finally {
    await rm(draft, { force: true })
  }
}

function check(file: string, deadline: number, { signal }: LockOptions): void {
  if (signal?.aborted) {
    throw new BalletError({
      code: 'git.cancelled',
      message: `Waiting for ${file} was cancelled.`,
    })
  }
  if (performance.now() <= deadline) return
  throw new BalletError({
    code: 'lock.busy',
    message: `Another agent has been working on ${file} for too long.`,
    hint: 'Look at the other sessions of the project, then try again.',
  })
}

async function linked(draft: string, file: string): Promise<boolean> {
  try {
    await link(draft, file)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

/** `null`: the file does not say; `gone`: there is no lock any more. */
async function holderOf(file: string): Promise<ProcessIdentity | null | 'gone'> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return 'gone'
  try {
    return ProcessIdentity.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}

/** Whether the lock's holder, whom it names, is dead. */
export async function isStaleLock(file: string): Promise<boolean> {
  const holder = await holderOf(file)
  return holder !== null && holder !== 'gone' && !(await isRunning(holder))
}

/** Removes the lock if its holder is dead; a second lock keeps two of them from removing a fresh one. */
async function breakStale(file: string): Promise<void> {
  const breaker = `${file}.break`
  try {
    await writeFile(breaker, String(process.pid), { flag: 'wx' })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    const age = await stat(breaker).then(
      (info) => Date.now() - info.mtimeMs,
      () => 0,
    )
    if (age > BREAK_LIMIT_MS) await rm(breaker, { force: true })
    await sleep(LOOK_MS)
    return
  }
  try {
    const holder = await holderOf(file)
    if (holder === 'gone') return
    if (holder === null || !(await isRunning(holder))) await rm(file, { force: true })
  } finally {
    await rm(breaker, { force: true })
  }
}
