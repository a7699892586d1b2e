import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessIdentity } from '../../src-shared/agent-wire.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { identityKey, isRunning } from './identity.ts'
import { gitMarker, type Marker, markOf } from './marker.ts'
import { oldestOf, processesWith } from './processes-with.ts'
import { forgetRoots } from './roots.ts'
import { killWindowsTree } from './windows.ts'

/** Long enough to tidy up, and short enough that an interrupt has a tool's processes gone within a second. */
const GRACE_MS = 400

export type EndOptions = {
  /** How long processes may take to end by SIGTERM before they are killed; 0 kills at once. 400 ms when absent. */
  graceMs?: number
  /**
   * Stops the oldest process of each session at once, and kills it last: a runtime that sees its tools end writes that
   * down, or goes on, after its session was settled without it.
   */
  freezesOldest?: boolean
  /** The whole time until it must be done. */
  limitMs: number
}

/**
 * Ends every process of these sessions and looks until none is left, also those that appear meanwhile.
 * Resolves with what was ended. Rejects with `processes.survived` when something is left at the limit.
 */
export async function endTree(
  markers: readonly Marker[],
  options: EndOptions,
): Promise<ProcessIdentity[]> {
  const frozen = options.freezesOldest === true ? await oldestOf(markers) : []
  const ended = await endProcesses(() => processesWith(markers), options, frozen)
  for (const marker of markers) forgetRoots(markOf(marker))
  return ended
}

/** Long enough for git to remove its locks and temporary files. */
const GIT_GRACE_MS = 2_000

/** Ends what Ballet's own git runs for these sessions; resolves and rejects like `endTree`. */
export function endGit(markers: readonly Marker[], limitMs: number): Promise<ProcessIdentity[]> {
  return endTree(markers.map(gitMarker), { graceMs: Math.min(GIT_GRACE_MS, limitMs / 2), limitMs })
}

/** The same for what `find` gives, which is asked again and again. */
export async function endProcesses(
  find: () => Promise<readonly ProcessIdentity[]>,
  { graceMs = GRACE_MS, limitMs }: Pick<EndOptions, 'graceMs' | 'limitMs'>,
  frozen: readonly ProcessIdentity[] = [],
): Promise<ProcessIdentity[]> {
  const frozenKeys = new Set(frozen.map(identityKey))
  for (const identity of frozen) await signal(identity, 'SIGSTOP')
  const begin = performance.now()
  const elapsed = () => performance.now() - begin
  // A process that dropped its environment is found only as long as its parent lives: what was seen once stays.
  const seen = new Map<string, ProcessIdentity>()
  const asked = new Set<string>()
  let emptyLooks = 0
  for (;;) {
    for (const identity of await find()) seen.set(identityKey(identity), identity)
    const left = await stillRunning([...seen.values()])
    // The second look finds what was forked while the first one read the table.
    emptyLooks = left.length === 0 ? emptyLooks + 1 : 0
    if (emptyLooks === 2) return [...seen.values()]
    if (elapsed() > limitMs) throw survived(left)
    const others = left.filter((identity) => !frozenKeys.has(identityKey(identity)))
    if (elapsed() < graceMs && (others.length > 0 || left.length === 0)) {
      for (const identity of others) {
        if (asked.has(identityKey(identity))) continue
        asked.add(identityKey(identity))
        await signal(identity, 'SIGTERM')
      }
    } else {
      // Stopped first, so that none of them forks while the others are killed.
      for (const identity of left) await signal(identity, 'SIGSTOP')
      for (const identity of left) await signal(identity, 'SIGKILL')
    }
    await sleep(left.length === 0 ? 0 : 10)
  }
}

async function stillRunning(identities: readonly ProcessIdentity[]): Promise<ProcessIdentity[]> {
  const running: ProcessIdentity[] = []
  for (const identity of identities) if (await isRunning(identity)) running.push(identity)
  return running
}

async function signal(identity: ProcessIdentity, name: NodeJS.Signals): Promise<void> {
  if (process.platform === 'win32') {
    if (name === 'SIGKILL' && (await isRunning(identity))) await killWindowsTree(identity.pid)
    return
  }
  if (!(await isRunning(identity))) return
  try {
    process.kill(identity.pid, name)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    // EPERM: of another user; it shows as survivor at the limit.
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}

function survived(left: readonly ProcessIdentity[]): BalletError {
  const pids = left.map((identity) => identity.pid).join(', ')
  return new BalletError({
    code: 'processes.survived',
    message: `These processes of the session could not be ended: ${pids}`,
    hint: 'End them by hand (they may belong to another user or wait for a disk), then try again.',
  })
}
