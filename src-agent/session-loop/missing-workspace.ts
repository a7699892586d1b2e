import { existsSync } from 'node:fs'
import { WORKSPACE_GONE } from '../../src-shared/agent-wire.ts'
import type { LoopContext } from './context.ts'

/** Whether the folder of the workspace is there; asked at once, before something is handed to a runtime that is in it. */
export function isWorkspaceThere({ plan }: Pick<LoopContext, 'plan'>): boolean {
  return existsSync(plan.workspaceDir)
}

/** Whether an earlier lease left the session a workspace, and nothing is kept of it. */
export function expectsWorkspace({ spec }: Pick<LoopContext, 'spec'>): boolean {
  return spec.parked === null && spec.resume !== null && spec.resume.conversation !== null
}

/** Says that the workspace was removed by something else, and what there is of the work. `what`: what comes now. */
export function tellWorkspaceGone(
  { plan, report }: Pick<LoopContext, 'plan' | 'report'>,
  what: 'a fresh one' | 'parked' | 'finished',
): void {
  const { workspaceDir, baseBranch, pushedCommit } = plan
  const gone = `The workspace ${workspaceDir} was not there any more`
  const begin =
    what === 'a fresh one'
      ? `${gone}. A fresh one is made.`
      : `${gone} when the session was ${what}.`
  const rest =
    pushedCommit === null
      ? `Nothing of the work had been pushed: there is what ${baseBranch} has.`
      : `What had been pushed is there, up to ${pushedCommit.slice(0, 12)}; what was not pushed is lost.`
  report.notice('warning', WORKSPACE_GONE, `${begin} ${rest}`)
}
