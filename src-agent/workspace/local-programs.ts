import { someOf } from '../../src-shared/some-of.ts'
import { lookForPrograms } from '../git/local-programs.ts'
import type { Git } from '../git/run.ts'
import type { Report } from './report.ts'

/** Says which settings of the workspace's own git Ballet does not follow, since they name programs. */
export async function tellLocalPrograms(git: Git, cwd: string, report: Report): Promise<void> {
  const looked = await lookForPrograms((args, folder) => git.run(args, { cwd: folder }), cwd, true)
  // What git cannot read is told by the first command that needs it.
  if ('failed' in looked || looked.names.length === 0) return
  report.notice(
    'warning',
    'workspace.programs',
    `Ballet's own git does not follow what the settings of the workspace (its .git/config) name as programs or places: ${someOf(looked.names)}. Where the work needs one, set it up in your own git configuration (git config --global).`,
  )
}
