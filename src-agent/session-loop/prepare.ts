import { BRANCH_MOVED, RESUMED_WITHOUT, type RuntimeReport } from '../../src-shared/agent-wire.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { divergenceInWords } from '../parking/divergence.ts'
import { type LeftOut, workOf } from '../parking/kept-work.ts'
import { restoreWorkspace } from '../parking/restore.ts'
import { openWorkspace } from '../workspace/clone.ts'
import { type WorkspaceRecord, writeRecord } from '../workspace/record.ts'
import { runSetup } from '../workspace/setup.ts'
import { asStep, keptNow, type LoopContext, timed } from './context.ts'
import { expectsWorkspace, tellRestored, tellWorkspaceGone } from './missing-workspace.ts'
import type { TurnBook } from './turn-book.ts'

/** `leftOut`: names of kept files that it does without. */
type Restored = { record: WorkspaceRecord; leftOut: readonly string[] }

/** A workspace that is ready to work in: cloned, found or restored, and set up once. Rejects with `BalletError`. */
export async function prepareWorkspace(
  context: LoopContext,
  turns: TurnBook,
  signal: AbortSignal,
): Promise<void> {
  const { parked } = context.spec
  const found = parked === null ? null : await restored(context, parked.restored, signal)
  await setUp(
    context,
    found ?? (await opened(context, expectsWorkspace(context), signal)),
    turns,
    signal,
  )
}

/**
 * A workspace in the place of one that was removed under this lease, with what is kept of it and what was pushed.
 * Rejects with `BalletError`.
 */
export async function replaceWorkspace(
  context: LoopContext,
  turns: TurnBook,
  signal: AbortSignal,
): Promise<void> {
  const found = await restored(context, true, signal)
  await setUp(context, found ?? (await opened(context, true, signal)), turns, signal)
}

async function setUp(
  context: LoopContext,
  found: Restored,
  turns: TurnBook,
  signal: AbortSignal,
): Promise<void> {
  const { spec, plan, report, clock } = context
  const { record } = found
  tellWorkspace(context, found)
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

/** Tells that there is a workspace, and without which kept files. */
export function tellWorkspace(context: LoopContext, { record, leftOut }: Restored): void {
  const without = leftOut.length === 0 ? {} : { leftOut: [...leftOut] }
  timed(context, { type: 'workspace', baseCommit: record.base, ...without })
}

/** `expected`: it was there before. */
async function opened(
  context: LoopContext,
  expected: boolean,
  signal: AbortSignal,
): Promise<Restored> {
  const { git, report, pushed } = context
  const plan = { ...context.plan, pushedCommit: pushed.last ?? context.plan.pushedCommit }
  report.step('workspace', 'started')
  const { record, fresh } = await openWorkspace(git, plan, report, signal)
  report.step('workspace', 'done')
  if (expected && fresh) tellWorkspaceGone(context, 'a fresh one')
  return { record, leftOut: [] }
}

/** Null when nothing of a workspace was kept. `isGone`: it was there since, and was removed by something else. */
export async function restored(
  context: LoopContext,
  isGone: boolean,
  signal: AbortSignal,
): Promise<Restored | null> {
  const { git, plan, report } = context
  const kept = keptNow(context)
  if (kept === null) return null
  const { withoutDamaged, behind, ...place } = kept
  const leftOut: LeftOut[] = []
  const work = await workOf(
    kept.work,
    { ...place, ticket: plan.ticket },
    withoutDamaged === true ? leftOut : undefined,
  )
  if (work === null) return null
  const { record, moved, lost } = await restoreWorkspace(git, plan, work, report, signal)
  // It is older than what was pushed, and nothing may be written over that.
  const unused = behind ? kept.work.files.filter(({ kind }) => kind === 'archive') : []
  const isPartial = kept.partial === true
  if (isGone) tellRestored(context, { lost, isPartial, hasUnused: unused.length > 0 })
  if (moved !== null) {
    report.notice('warning', BRANCH_MOVED, divergenceInWords(plan.branch, moved))
  }
  tellLeftOut(context, leftOut, lost)
  const names = [...leftOut.map(({ file }) => file), ...unused].map(({ name }) => name)
  for (const name of names) context.leftOut.add(name)
  return { record, leftOut: names }
}

/** Says to people and to the runtime what is not in the workspace any more. */
function tellLeftOut(
  { kept, report }: LoopContext,
  leftOut: readonly LeftOut[],
  lost: readonly string[],
): void {
  if (leftOut.length === 0) return
  const files = leftOut.map(({ file, inWords }) => `${file.name} (${inWords})`)
  const refs = lost.length === 0 ? '' : ` Not restored: ${lost.join(', ')}.`
  const text = `The workspace is restored without kept files that are damaged: ${files.join('; ')}.${refs} They stay where they are, in ${kept?.keptDir}, until the session is finished or deleted.`
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
