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

/** Tells the host that this agent lives, and what it and its runtime use; the answer ends it. */
export function startHeartbeat(options: HeartbeatOptions): () => void {
  const { everyMs, own, clock } = options
  const ownUsage = new UsageMeter(() => clock.monotonic())
  const runtimeUsage = new UsageMeter(() => clock.monotonic())
  let isOver = false
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
    if (isOver) return
    cancel = clock.after(everyMs, () => void beat().finally(next))
  }

  void beat().finally(next)
  return () => {
    isOver = true
    cancel()
  }
}

const NOTHING = { memoryBytes: 0, cpuPercent: 0 }
