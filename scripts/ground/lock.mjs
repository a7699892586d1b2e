import { randomBytes } from 'node:crypto'
import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { GroundError } from './errors.mjs'
import { identify, isAlive } from './process-identity.mjs'

/**
 * @typedef {import('./process-identity.mjs').ProcessIdentity} ProcessIdentity
 * @typedef {{ owner: ProcessIdentity, children: ProcessIdentity[] }} LockContent
 */

const POLL_MS = 100
// Taking over a dead owner's lock is a few file operations; whoever holds this longer died in them.
const TAKE_OVER_LIMIT_MS = 10_000

/**
 * A lock file that outlives no process: it names its owner by number and start time, and also the
 * programs that the owner started, so that the next owner can end what a killed one left running.
 */
export class Lock {
  /** @type {ProcessIdentity[]} */
  #children = []

  /** @param {string} path */
  constructor(path) {
    this.path = path
    this.owner = identify(process.pid)
  }

  /** @param {ProcessIdentity} child the leader of its own process group */
  childStarted(child) {
    this.#children.push(child)
    this.#write()
  }

  /** @param {ProcessIdentity} child */
  childEnded(child) {
    this.#children = this.#children.filter((one) => one.pid !== child.pid)
    this.#write()
  }

  release() {
    rmSync(this.path, { force: true })
  }

  #write() {
    const beside = temporaryName(this.path)
    writeFileSync(beside, JSON.stringify({ owner: this.owner, children: this.#children }))
    renameSync(beside, this.path)
  }
}

/**
 * Takes the lock, waiting for a living owner and taking over from a dead one.
 *
 * @param {string} path
 * @param {object} [options]
 * @param {number} [options.limitMs] how long to wait for a living owner
 * @param {(owner: ProcessIdentity) => void} [options.onWait] called once, when there is one
 * @param {(child: ProcessIdentity) => Promise<void>} [options.endChild] ends what a dead owner left running
 * @returns {Promise<Lock>}
 * @throws {GroundError} SETUP_LOCKED when the limit passes
 */
export async function takeLock(
  path,
  { limitMs = 30 * 60_000, onWait = () => {}, endChild = async () => {} } = {},
) {
  mkdirSync(dirname(path), { recursive: true })
  const deadline = Date.now() + limitMs
  let told = false
  for (;;) {
    const lock = new Lock(path)
    if (createWhole(path, { owner: lock.owner, children: [] })) return lock

    const held = read(path)
    if (held === undefined) continue
    if (held !== 'broken' && isAlive(held.owner)) {
      if (!told) {
        told = true
        onWait(held.owner)
      }
      if (Date.now() >= deadline) {
        throw new GroundError(
          'SETUP_LOCKED',
          `Process ${held.owner.pid} has held ${path} for longer than ${Math.round(limitMs / 1000)} s.`,
          `Wait for it to end, or end it (kill ${held.owner.pid}), and run the command again.`,
        )
      }
      await delay(POLL_MS)
    } else if (!(await takeOver(path, endChild))) await delay(POLL_MS)
  }
}

/**
 * Removes the lock of a dead owner, after ending what it left running. Only one process at a time
 * does this, or the second would remove the lock that the first has just taken.
 * @param {string} path
 * @param {(child: ProcessIdentity) => Promise<void>} endChild
 */
async function takeOver(path, endChild) {
  const guard = `${path}.take-over`
  if (!createWhole(guard, { owner: identify(process.pid), children: [] })) {
    const holder = read(guard)
    const alive = holder !== undefined && holder !== 'broken' && isAlive(holder.owner)
    if (!alive && ageOf(guard) > TAKE_OVER_LIMIT_MS) rmSync(guard, { force: true })
    return false
  }
  try {
    const held = read(path)
    if (held === undefined) return true
    if (held !== 'broken') {
      if (isAlive(held.owner)) return false
      for (const child of held.children) if (isAlive(child)) await endChild(child)
    }
    rmSync(path, { force: true })
    return true
  } finally {
    rmSync(guard, { force: true })
  }
}

/**
 * Creates the file with its whole content, or answers false where it exists already.
 * @param {string} path
 * @param {LockContent} content
 */
function createWhole(path, content) {
  const beside = temporaryName(path)
  writeFileSync(beside, JSON.stringify(content))
  try {
    linkSync(beside, path)
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(beside, { force: true })
  }
}

/**
 * @param {string} path
 * @returns {LockContent | 'broken' | undefined}
 */
function read(path) {
  try {
    const content = JSON.parse(readFileSync(path, 'utf8'))
    return typeof content?.owner?.pid === 'number' && Array.isArray(content.children)
      ? content
      : 'broken'
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT' ? undefined : 'broken'
  }
}

/** @param {string} path milliseconds since its last change */
function ageOf(path) {
  try {
    return Date.now() - statSync(path).mtimeMs
  } catch {
    return 0
  }
}

/** @param {string} path */
const temporaryName = (path) => `${path}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`
