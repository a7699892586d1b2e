import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * A process, told apart from a later one that got the same number.
 * @typedef {{ pid: number, started: string | null }} ProcessIdentity
 */

/**
 * When the process with this number started, as text that only serves to be compared: ticks since
 * boot on Linux, `ps`'s date elsewhere. `null` where the system does not tell (Windows), `undefined`
 * where there is no such process.
 * @param {number} pid
 * @returns {string | null | undefined}
 */
export function startOf(pid) {
  if (process.platform === 'linux') {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      // The name in parentheses may itself hold spaces and parentheses: fields count from the last ")".
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      // A zombie runs no more: it only waits to be reaped.
      return fields[0] === 'Z' ? undefined : fields[19]
    } catch {
      return undefined
    }
  }
  if (!exists(pid)) return undefined
  if (process.platform === 'win32') return null
  try {
    const text = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      timeout: 5_000,
    })
    return text.trim() || undefined
  } catch {
    return undefined
  }
}

/**
 * @param {number} pid
 * @returns {ProcessIdentity}
 */
export function identify(pid) {
  return { pid, started: startOf(pid) ?? null }
}

/**
 * Whether exactly this process still runs.
 * @param {ProcessIdentity} identity
 */
export function isAlive({ pid, started }) {
  const now = startOf(pid)
  if (now === undefined) return false
  return started === null || now === null || now === started
}

/** @param {number} pid */
function exists(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}
