import { inboxOf } from '../../src-shared/inbox.ts'
import { accept } from '../../src-shared/refusal.ts'
import type { Calls } from '../core.ts'
import type { StoredRow } from '../storage/rows.ts'
import type { CallContext } from './context.ts'
import { resolveProject } from './resolve.ts'

export function inboxCalls({ committer, joins }: CallContext): Calls['inbox'] {
  return {
    list: async ({ project: ref, kind }) => {
      const { cache } = committer
      const project = ref === undefined ? undefined : await resolveProject(cache, ref)
      if (project !== undefined && !project.ok) return project
      const open = { state: 'open' } as const
      const [waiting, questions, requests, assumptions] = await Promise.all([
        cache.rows({ table: 'session', where: { state: ['waiting', 'parked', 'failed'] } }),
        cache.rows({
          table: 'question',
          where: { state: ['open', 'answered'], inputId: null },
        }),
        cache.rows({ table: 'request', where: open }),
        cache.rows({ table: 'assumption', where: open }),
      ])
      const sessions = new Map<string, StoredRow<'session'>>(waiting.map((row) => [row.id, row]))
      for (const { sessionId } of [...questions, ...requests, ...assumptions]) {
        if (sessions.has(sessionId)) continue
        const row = await cache.row('session', sessionId)
        if (row !== undefined) sessions.set(row.id, row)
      }
      const records = {
        sessions: await viewsOf([...sessions.values()], (row) => joins.session(row)),
        questions: await viewsOf(questions, (row) => joins.question(row)),
        requests: await viewsOf(requests, (row) => joins.request(row)),
        assumptions: await viewsOf(assumptions, (row) => joins.assumption(row)),
      }
      return accept(inboxOf(records, { project: project?.value.id, kind }))
    },
  }
}

/** Without those whose ticket or project is gone meanwhile. */
async function viewsOf<R, V>(
  rows: readonly R[],
  view: (row: R) => Promise<V | undefined>,
): Promise<V[]> {
  const views = await Promise.all(rows.map(view))
  return views.filter((each) => each !== undefined) as V[]
}
