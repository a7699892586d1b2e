import type { FromAgent, ProcessIdentity } from '../../src-shared/agent-wire.ts'
import type { LeaseId } from '../../src-shared/ids.ts'
import type { Clock } from '../port/clock.ts'
import { UsageMeter } from '../process-tree/index.ts'

export type HeartbeatOptions = {
  everyMs: number
  own: ProcessIdentity
  clock: Clock
  lease: () => LeaseId | null
  processes: () => Promise<ProcessIdentity[]>
  send: (message: FromAgent) => void
}

export type Heartbeat = {
  /** Something that it tells has changed: the next one comes soon instead of in its turn. */
  soon(): void
  stop(): void
}

/** What changes together is told together, and a runtime that comes up is not held up by being measured. */
const SOON_MS = 100

/** Tells the host that this agent lives, and what it and its runtime use. */
export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { everyMs, own, clock } = options
  const ownUsage = new UsageMeter(() => clock.monotonic())
  const runtimeUsage = new UsageMeter(() => clock.monotonic())
  let isOver = false
  let isBeating = false
  let isSoon = false
  let cancel = () => {}

  async function beat(): Promise<void> {
    // What cannot be read now is told as nothing; that the agent lives is what counts.
    const runtime = await options.processes().catch(() => [])
    const [self, tree] = await Promise.all([
      ownUsage.read([own]),
      runtimeUsage.read(runtime),
    ]).catch(() => [NOTHING, NOTHING] as const)
    if (isOver) return
    options.send({
      type: 'heartbeat',
      lease: options.lease(),
      runtime,
      memoryBytes: Math.round(self.memoryBytes || process.memoryUsage().rss),
      runtimeMemoryBytes: Math.round(tree.memoryBytes),
      cpuPercent: self.cpuPercent + tree.cpuPercent,
    })
  }

  function next(): void {
    isBeating = false
    if (isOver) return
    cancel = clock.after(isSoon ? Math.min(SOON_MS, everyMs) : everyMs, begin)
  }

  function begin(): void {
    isBeating = true
    isSoon = false
    void beat().finally(next)
  }

  begin()
  return {
    soon() {
      if (isOver || isSoon) return
      isSoon = true
      // One that is under way may have looked before the change.
      if (isBeating) return
      cancel()
      next()
    },
    stop() {
      isOver = true
      cancel()
    },
  }
}

const NOTHING = { memoryBytes: 0, cpuPercent: 0 }
