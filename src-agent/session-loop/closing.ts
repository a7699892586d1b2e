import { NOT_PUSHED } from '../../src-shared/agent-wire.ts'
import { BalletError, type Refusal } from '../../src-shared/refusal.ts'
import { refusalOf } from '../workspace/failure.ts'
import { commitAndPush } from '../workspace/finish.ts'
import { kindOf, removeWorkspace } from '../workspace/folders.ts'
import { pushSnapshot } from '../workspace/snapshot.ts'
import type { LoopContext } from './context.ts'
import { tellWorkspaceGone } from './missing-workspace.ts'
import { restored, tellWorkspace } from './prepare.ts'

/** How long the host may take to store that the work is pushed, before the workspace is removed. */
const STORED_LIMIT_MS = 20_000

/** How long the push of a stop may take. The host ends an agent that does not stop within 5 minutes. */
const STOP_PUSH_LIMIT_MS = 120_000

export async function hasWorkspace({ plan }: LoopContext): Promise<boolean> {
  return (await kindOf(plan.workspaceDir)) === 'folder'
}

/**
 * Commits, pushes, and then removes the workspace; nothing may be writing to it any more. Gives whether the
 * workspace is still there. Rejects with `BalletError` when the work could not be pushed.
 */
export async function finishWork(
  context: LoopContext,
  message: string,
  signal: AbortSignal,
): Promise<{ kept: boolean }> {
  const { git, plan, report, outgoing, clock } = context
  if (!(await hasWorkspace(context))) {
    // What is kept of it ends with the session: it goes to the branch first.
    const found = await restored(context, true, signal)
    if (found === null) {
      tellWorkspaceGone(context, 'finished')
      return { kept: false }
    }
    tellWorkspace(context, found)
  }
  const pushed = await commitAndPush(git, plan, message, report, signal)
  if (pushed !== null) outgoing.item({ type: 'pushed', at: clock.now(), commit: pushed })
  outgoing.item({ type: 'finished', at: clock.now() })
  // Only when that is on record may the clone that could prove it go: where it is gone after that, nothing is missed.
  if (!(await outgoing.settled(STORED_LIMIT_MS))) {
    const text = `The work is pushed, but the host does not store anything: the workspace ${plan.workspaceDir} is kept.`
    report.notice('warning', 'finish.kept', text)
    return { kept: true }
  }
  try {
    const isGone = await removeWorkspace(plan.dataDir, plan.workspaceDir)
    if (!isGone) context.log('warn', 'a removed workspace could not be deleted yet', { ...plan })
    return { kept: false }
  } catch (error) {
    const { message: why } = refusalOf(error, 'removing the workspace')
    report.notice('warning', 'finish.kept', `The work is pushed, the workspace is kept: ${why}`)
    return { kept: true }
  }
}

/**
 * Pushes a snapshot and keeps the workspace; what cannot be pushed in time, or by `atOnce`, stays in it, said in a notice
 * and in the answer.
 */
export async function stopWork(
  context: LoopContext,
  { signal, atOnce }: { signal: AbortSignal; atOnce: AbortSignal | undefined },
): Promise<Refusal | undefined> {
  const { git, plan, report, outgoing, clock } = context
  if (!(await hasWorkspace(context))) return undefined
  const limit = new AbortController()
  const cancel = clock.after(STOP_PUSH_LIMIT_MS, () => limit.abort())
  const signals = [signal, limit.signal, ...(atOnce === undefined ? [] : [atOnce])]
  try {
    const pushed = await pushSnapshot(git, plan, report, AbortSignal.any(signals))
    if (pushed !== null) outgoing.item({ type: 'pushed', at: clock.now(), commit: pushed })
    return undefined
  } catch (error) {
    const { message: why, hint } = whyNotPushed(error, { limit: limit.signal, atOnce })
    const message = `The work was not pushed and is only in ${plan.workspaceDir}. ${why}`
    report.notice('warning', NOT_PUSHED, hint === undefined ? message : `${message} ${hint}`)
    return { code: NOT_PUSHED, message, ...(hint === undefined ? {} : { hint }) }
  } finally {
    cancel()
  }
}

function whyNotPushed(
  error: unknown,
  { limit, atOnce }: { limit: AbortSignal; atOnce: AbortSignal | undefined },
): Refusal {
  const refusal = refusalOf(error, 'pushing a snapshot')
  if (refusal.code !== 'git.cancelled') return refusal
  const hint = 'It is pushed when the session is finished, or stopped again later.'
  const { code } = refusal
  if (atOnce?.aborted === true)
    return { code, message: 'Nobody wanted to wait for its push.', hint }
  if (!limit.aborted) return refusal
  const seconds = STOP_PUSH_LIMIT_MS / 1_000
  return { code, message: `The remote did not take it within ${seconds} s.`, hint }
}

/** What prepares the session goes on although it was told to yield: nothing is known of its workspace. */
export function notYielded(): BalletError {
  return new BalletError({
    code: 'session.not-yielded',
    message: 'What prepared the session did not end in time, and may still write to its workspace.',
    hint: 'Nothing is lost. Try again in a moment.',
  })
}
