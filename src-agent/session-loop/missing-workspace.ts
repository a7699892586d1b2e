import { existsSync } from 'node:fs'
import { WORKSPACE_GONE } from '../../src-shared/agent-wire.ts'
import type { LoopContext } from './context.ts'

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
  { plan, spec, report }: Pick<LoopContext, 'plan' | 'spec' | 'report'>,
  what: 'a fresh one' | 'restored' | 'parked' | 'finished',
): void {
  const gone = `The workspace ${plan.workspaceDir} was not there any more`
  if (what === 'restored') {
    const text = `${gone}. It is restored as it was when the session was parked; what was done in it since is lost.`
    report.notice('warning', WORKSPACE_GONE, text)
    return
  }
  const begin =
    what === 'a fresh one'
      ? `${gone}. A fresh one is made.`
      : `${gone} when the session was ${what}.`
  report.notice('warning', WORKSPACE_GONE, `${begin} ${whatIsLeft({ plan, spec }, what)}`)
}

function whatIsLeft(
  { plan, spec }: Pick<LoopContext, 'plan' | 'spec'>,
  what: 'a fresh one' | 'parked' | 'finished',
): string {
  const { baseBranch, pushedCommit } = plan
  if (what === 'parked' && spec.parked?.work.snapshot) {
    return 'What was kept when it was parked before stays kept; what was done since is lost.'
  }
  return pushedCommit === null
    ? `Nothing of the work had been pushed: there is what ${baseBranch} has.`
    : `What had been pushed is there, up to ${pushedCommit.slice(0, 12)}; what was not pushed is lost.`
}
