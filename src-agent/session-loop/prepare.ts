import { BRANCH_MOVED, RESUMED_WITHOUT, type RuntimeReport } from '../../src-shared/agent-wire.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { divergenceInWords } from '../parking/divergence.ts'
import { type LeftOut, workOf } from '../parking/kept-work.ts'
import { restoreWorkspace } from '../parking/restore.ts'
import { openWorkspace } from '../workspace/clone.ts'
import { type WorkspaceRecord, writeRecord } from '../workspace/record.ts'
import { runSetup } from '../workspace/setup.ts'
import { asStep, type LoopContext } from './context.ts'
import { expectsWorkspace, tellWorkspaceGone } from './missing-workspace.ts'
import type { TurnBook } from './turn-book.ts'

type Restored = { record: WorkspaceRecord; leftOut: readonly LeftOut[] }

/** A workspace that is ready to work in: cloned, found or restored, and set up once. Rejects with `BalletError`. */
export async function prepareWorkspace(
  context: LoopContext,
  turns: TurnBook,
  signal: AbortSignal,
): Promise<void> {
  const found = await restored(context, signal)
  const record = found?.record ?? (await opened(context, expectsWorkspace(context), signal))
  await setUp(context, { record, leftOut: found?.leftOut ?? [] }, turns, signal)
}

/** A fresh workspace in the place of one that was removed under this lease. Rejects with `BalletError`. */
export async function replaceWorkspace(
  context: LoopContext,
  turns: TurnBook,
  signal: AbortSignal,
): Promise<void> {
  const record = await opened(context, true, signal)
  await setUp(context, { record, leftOut: [] }, turns, signal)
}

async function setUp(
  context: LoopContext,
  { record, leftOut }: Restored,
  turns: TurnBook,
  signal: AbortSignal,
): Promise<void> {
  const { spec, plan, report, outgoing, clock } = context
  const without = leftOut.length === 0 ? {} : { leftOut: leftOut.map(({ file }) => file.name) }
  outgoing.item({ type: 'workspace', at: clock.now(), baseCommit: record.base, ...without })
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
async function restored(context: LoopContext, signal: AbortSignal): Promise<Restored | null> {
  const { spec, git, plan, report } = context
  if (spec.parked === null) return null
  const { withoutDamaged, ...place } = spec.parked
  const leftOut: LeftOut[] = []
  const work = await workOf(
    spec.parked.work,
    { ...place, ticket: plan.ticket },
    withoutDamaged === true ? leftOut : undefined,
  )
  if (work === null) return null
  const { record, moved, lostRefs } = await restoreWorkspace(git, plan, work, report, signal)
  if (spec.parked.restored) tellWorkspaceGone(context, 'restored')
  if (moved !== null) {
    report.notice('warning', BRANCH_MOVED, divergenceInWords(plan.branch, moved))
  }
  tellLeftOut(context, leftOut, lostRefs)
  return { record, leftOut }
}

/** Says to people and to the runtime what is not in the workspace any more. */
function tellLeftOut(
  { spec, report }: LoopContext,
  leftOut: readonly LeftOut[],
  lostRefs: readonly string[],
): void {
  if (leftOut.length === 0) return
  const files = leftOut.map(({ file, inWords }) => `${file.name} (${inWords})`)
  const refs = lostRefs.length === 0 ? '' : ` Not restored: ${lostRefs.join(', ')}.`
  const text = `The workspace is restored without kept files that are damaged: ${files.join('; ')}.${refs} They stay where they are, in ${spec.parked?.keptDir}, until the session is finished or deleted.`
  report.notice('warning', RESUMED_WITHOUT, text)
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
