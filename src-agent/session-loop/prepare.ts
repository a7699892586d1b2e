import { BRANCH_MOVED, type RuntimeReport } from '../../src-shared/agent-wire.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { divergenceInWords } from '../parking/divergence.ts'
import { workOf } from '../parking/kept-work.ts'
import { restoreWorkspace } from '../parking/restore.ts'
import { openWorkspace } from '../workspace/clone.ts'
import { type WorkspaceRecord, writeRecord } from '../workspace/record.ts'
import { runSetup } from '../workspace/setup.ts'
import { asStep, type LoopContext } from './context.ts'
import { expectsWorkspace, tellWorkspaceGone } from './missing-workspace.ts'
import type { TurnBook } from './turn-book.ts'

/** A workspace that is ready to work in: cloned, found or restored, and set up once. Rejects with `BalletError`. */
export async function prepareWorkspace(
  context: LoopContext,
  turns: TurnBook,
  signal: AbortSignal,
): Promise<void> {
  const restoredOne = await restored(context, signal)
  const record = restoredOne ?? (await opened(context, expectsWorkspace(context), signal))
  await setUp(context, record, turns, signal)
}

/** A fresh workspace in the place of one that was removed under this lease. Rejects with `BalletError`. */
export async function replaceWorkspace(
  context: LoopContext,
  turns: TurnBook,
  signal: AbortSignal,
): Promise<void> {
  await setUp(context, await opened(context, true, signal), turns, signal)
}

async function setUp(
  context: LoopContext,
  record: WorkspaceRecord,
  turns: TurnBook,
  signal: AbortSignal,
): Promise<void> {
  const { spec, plan, report, outgoing, clock } = context
  outgoing.item({ type: 'workspace', at: clock.now(), baseCommit: record.base })
  if (record.setup === 'done') return
  if (spec.setup !== null) {
    const { command, limitMs } = spec.setup
    const place = { cwd: plan.workspaceDir, env: context.env, marker: context.marker }
    const callId = `setup-${spec.lease.slice(-12)}`
    const setup = { ...place, command, limitMs, callId }
    const run = () => runSetup(setup, clock, (told) => turns.apply(told), signal)
    await (spec.parked === null ? run() : asStep(report, 'setup', run))
  }
  await writeRecord(plan.workspaceDir, { ...record, setup: 'done' })
}

/** `expected`: it was there before. */
async function opened(
  context: LoopContext,
  expected: boolean,
  signal: AbortSignal,
): Promise<WorkspaceRecord> {
  const { git, plan, report } = context
  report.step('workspace', 'started')
  const { record, fresh } = await openWorkspace(git, plan, report, signal)
  report.step('workspace', 'done')
  if (expected && fresh) tellWorkspaceGone(context, 'a fresh one')
  return record
}

/** Null when nothing of a workspace was kept. */
async function restored(
  context: LoopContext,
  signal: AbortSignal,
): Promise<WorkspaceRecord | null> {
  const { spec, git, plan, report } = context
  if (spec.parked === null) return null
  const work = await workOf(spec.parked.work, spec.parked)
  if (work === null) return null
  const { record, moved } = await restoreWorkspace(git, plan, work, report, signal)
  if (spec.parked.restored) tellWorkspaceGone(context, 'restored')
  if (moved !== null) {
    report.notice('warning', BRANCH_MOVED, divergenceInWords(plan.branch, moved))
  }
  return record
}

/** The program of a runtime. Throws `BalletError` when it cannot be used. */
export function executableOf(found: RuntimeReport): string {
  if (found.problem !== null) throw new BalletError(found.problem)
  if (found.path !== null) return found.path
  throw new BalletError({
    code: 'runtime.not-found',
    message: `${found.runtime} was not found on this machine.`,
    hint: 'Install it, or set its path in the settings.',
  })
}
