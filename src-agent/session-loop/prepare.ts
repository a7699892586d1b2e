import { openWorkspace } from '../workspace/clone.ts'
import { writeRecord } from '../workspace/record.ts'
import { runSetup } from '../workspace/setup.ts'
import type { LoopContext } from './context.ts'
import type { TurnBook } from './turn-book.ts'

/** A workspace that is ready to work in: cloned or found, and set up once. Rejects with `BalletError`. */
export async function prepareWorkspace(
  context: LoopContext,
  turns: TurnBook,
  signal: AbortSignal,
): Promise<void> {
  const { spec, git, plan, report, outgoing, clock } = context
  report.step('workspace', 'started')
  const { record } = await openWorkspace(git, plan, report, signal)
  report.step('workspace', 'done')
  outgoing.item({ type: 'workspace', at: clock.now(), baseCommit: record.base })
  if (record.setup === 'done') return
  if (spec.setup !== null) {
    const { command, limitMs } = spec.setup
    const place = { cwd: plan.workspaceDir, env: context.env, marker: context.marker }
    const callId = `setup-${spec.lease.slice(-12)}`
    await runSetup(
      { ...place, command, limitMs, callId },
      clock,
      (told) => turns.apply(told),
      signal,
    )
  }
  await writeRecord(plan.workspaceDir, { ...record, setup: 'done' })
}
