import { existsSync } from 'node:fs'
import { WORKSPACE_GONE } from '../../src-shared/agent-wire.ts'
import { type LoopContext, pushedSince } from './context.ts'

/** Whether the folder of the workspace is there; asked at once, before something is handed to a runtime that is in it. */
export function isWorkspaceThere({ plan }: Pick<LoopContext, 'plan'>): boolean {
  return existsSync(plan.workspaceDir)
}

/** Whether an earlier lease left the session a workspace, which nobody removed after all of it was kept. */
export function expectsWorkspace({ spec }: Pick<LoopContext, 'spec'>): boolean {
  const { parked, resume } = spec
  return (parked === null || parked.restored) && resume !== null && resume.conversation !== null
}

/** Says that the workspace was removed by something else, and what there is of the work. `what`: what comes now. */
export function tellWorkspaceGone(
  context: Pick<LoopContext, 'plan' | 'kept' | 'pushed' | 'report'>,
  what: 'a fresh one' | 'parked' | 'finished',
): void {
  const gone = goneInWords(context)
  const begin =
    what === 'a fresh one'
      ? `${gone}. A fresh one is made.`
      : `${gone} when the session was ${what}.`
  context.report.notice('warning', WORKSPACE_GONE, `${begin} ${whatIsLeft(context, what)}`)
}

/**
 * Says that it was removed, and is back with what is kept; `hasUnused`: not with all of that; `isPartial`: files of that
 * are damaged and were left out before.
 */
export function tellRestored(
  context: Pick<LoopContext, 'plan' | 'kept' | 'pushed' | 'report'>,
  {
    lost,
    isPartial,
    hasUnused,
  }: { lost: readonly string[]; isPartial: boolean; hasUnused: boolean },
): void {
  const since = pushedSince(context)
  const how =
    since === null
      ? 'as it was when the session was parked'
      : `as it was last pushed, up to ${since.slice(0, 12)}, with what was kept beside it when the session was parked`
  const unused = hasUnused
    ? ' The whole workspace as it was when the session was parked stays kept beside that.'
    : ''
  const damaged = isPartial ? ' Kept files that are damaged are left out, as before.' : ''
  const notThere = lost.length === 0 ? '' : ` Not restored: ${lost.join(', ')}.`
  const text = `${goneInWords(context)}. It is restored ${how}; what was done in it since is lost.${damaged}${notThere}${unused}`
  context.report.notice('warning', WORKSPACE_GONE, text)
}

function goneInWords({ plan }: Pick<LoopContext, 'plan'>): string {
  return `The workspace ${plan.workspaceDir} was not there any more`
}

function whatIsLeft(
  { plan, kept, pushed }: Pick<LoopContext, 'plan' | 'kept' | 'pushed'>,
  what: 'a fresh one' | 'parked' | 'finished',
): string {
  const { baseBranch } = plan
  const pushedCommit = pushed.last ?? plan.pushedCommit
  if (what === 'parked' && kept?.work.snapshot) {
    return 'What was kept when it was parked before stays kept; what was done since is lost.'
  }
  return pushedCommit === null
    ? `Nothing of the work had been pushed: there is what ${baseBranch} has.`
    : `What had been pushed is there, up to ${pushedCommit.slice(0, 12)}; what was not pushed is lost.`
}
