import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import type { Reader } from '../commit/committer.ts'
import type { Calls } from '../core.ts'
import { parkToMove } from '../decide/moving.ts'
import { exportSession } from '../moving/export-session.ts'
import { importSession } from '../moving/import-session.ts'
import { remoteKey } from '../moving/remote-key.ts'
import { viewRepo } from '../project/views.ts'
import type { ProjectRow } from '../storage/rows.ts'
import { type CallContext, orGone } from './context.ts'
import { resolveProject } from './resolve.ts'
import { sessionCommand } from './session-command.ts'

/** The calls that move a session to another host. */
export function movingCalls(context: CallContext): Pick<Calls['sessions'], 'export' | 'import'> {
  const { committer, joins, ports } = context
  return {
    export: async ({ ref, ...target }) => {
      const parking = await sessionCommand(
        context,
        ref,
        (facts, now) => parkToMove(facts, now, ports.ids),
        undefined,
      )
      if (!parking.ok) return parking
      return exportSession(context, parking.value.id, target)
    },

    import: async ({ project, ...source }) => {
      const findProject = (read: Reader, repo: string) =>
        project === undefined ? projectOf(read, repo) : resolveProject(read, project)
      const id = await importSession(context, { ...source, findProject })
      if (!id.ok) return id
      const row = await committer.cache.row('session', id.value)
      return orGone('session', row && (await joins.session(row)))
    },
  }
}

/** By the remote; refused where none, or more than one, has it. */
async function projectOf(read: Reader, repo: string): Promise<Result<ProjectRow>> {
  const all = await read.rows({ table: 'project' })
  const same = all.filter((project) => remoteKey(viewRepo(project.repo)) === remoteKey(repo))
  const [only] = same
  if (only !== undefined && same.length === 1) return accept(only)
  if (only === undefined) {
    return refuse(
      'export.no-project',
      `No project here has the remote ${repo}.`,
      'Add the project first, or name the one that it belongs to: `--project`, or Project in the window.',
    )
  }
  return refuse(
    'export.which-project',
    `${same.map(({ name }) => JSON.stringify(name)).join(' and ')} have the remote ${repo}.`,
    'Name the one that it belongs to: `--project`, or Project in the window.',
  )
}
