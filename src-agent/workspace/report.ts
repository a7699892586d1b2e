/** What work on a workspace tells on its way; few of it, and in words for the timeline. */
export type Report = {
  step(step: string, status: 'started' | 'done' | 'failed', detail?: string): void
  notice(level: 'info' | 'warning', code: string, text: string): void
}

/** Everything that work on one session's workspace needs besides git. */
export type WorkspacePlan = {
  dataDir: string
  session: string
  ticket: string
  repo: string
  baseBranch: string
  branch: string
  pushedCommit: string | null
  mirrorDir: string
  workspaceDir: string
}
