import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { identityOf } from '../../process-tree/index.ts'
import { stateFolder } from './places.ts'

const Holder = z.looseObject({ pid: z.number().int().positive(), hostname: z.string() })

/**
 * Removes the locks of opencode whose holder does not run any more on this machine, and gives how many those were.
 * Never rejects.
 *
 * opencode installs a package into the person's configuration folder at each start at which it is not there yet, holds
 * a lock meanwhile, and loads no plugin, ours among them, before it had that lock. One that is killed leaves it, and
 * measured with 1.18.33 the next one waits until it has not been touched for 60 s, without a word. It is taken away as
 * opencode itself takes away an old one, under `<lock>.breaker`, so that no two do it at once.
 */
export async function removeDeadLocks(env: Readonly<Record<string, string>>): Promise<number> {
  const folder = join(stateFolder(env), 'locks')
  const names = await readdir(folder).catch(() => [])
  let removed = 0
  for (const name of names.filter((each) => each.endsWith('.lock'))) {
    // One that cannot be removed is waited for, as opencode always did.
    if (await removeIfDead(join(folder, name)).catch(() => false)) removed += 1
  }
  return removed
}

async function removeIfDead(lock: string): Promise<boolean> {
  if (!(await isDead(lock))) return false
  const breaker = `${lock}.breaker`
  try {
    await mkdir(breaker, { mode: 0o700 })
  } catch {
    // Somebody else takes it away, or the folder is not ours to change.
    return false
  }
  try {
    if (!(await isDead(lock))) return false
    await rm(lock, { recursive: true, force: true })
    return true
  } finally {
    await rm(breaker, { recursive: true, force: true })
  }
}

/** What does not say who holds it is left alone. */
async function isDead(lock: string): Promise<boolean> {
  try {
    const holder = Holder.parse(JSON.parse(await readFile(join(lock, 'meta.json'), 'utf8')))
    return holder.hostname === hostname() && (await identityOf(holder.pid)) === null
  } catch {
    return false
  }
}
