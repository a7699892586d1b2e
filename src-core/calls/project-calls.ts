import type { z } from 'zod'
import type { ProjectChange } from '../../src-shared/contract.ts'
import { Project, type ProjectSettings } from '../../src-shared/records.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import { type Reader, receiptOf } from '../commit/committer.ts'
import type { Calls } from '../core.ts'
import { checkRuntimeName } from '../decide/known-runtimes.ts'
import {
  addProject,
  changeProject,
  checkProjectEdit,
  checkProjectName,
  deleteProject,
  type EditState,
  editProject,
  freeProjectName,
  isElsewhere,
} from '../decide/projects.ts'
import { REMOTE_PROBE_MS } from '../limits.ts'
import { viewRepo } from '../project/views.ts'
import type { ProjectRow } from '../storage/rows.ts'
import type { CallContext } from './context.ts'
import { resolveProject } from './resolve.ts'

type Settings = z.infer<typeof ProjectSettings>

export function projectCalls(context: CallContext): Calls['projects'] {
  const { committer, index, joins, ports } = context
  return {
    add: async ({ commandId, ...settings }) => {
      const receipt = receiptOf('projects.add', commandId, Project)
      const earlier = await committer.earlier(receipt)
      if (earlier !== undefined) return earlier
      const free = checkProjectName(index.projects, settings.name)
      if (!free.ok) return free
      const known = checkRuntimes(context, settings)
      if (!known.ok) return known
      const branch = await checkRemote(context, settings)
      if (!branch.ok) return branch
      return committer.transact<Project>(async (read, now) => {
        const projects = await read.rows({ table: 'project' })
        const decision = addProject(
          { projects },
          { settings, branch: branch.value },
          now,
          ports.ids,
        )
        if (!decision.ok) return decision
        const { change, answer } = decision.value
        return accept({ change, answer: joins.project(answer) })
      }, receipt)
    },

    list: async () => accept(index.projects.map((row) => joins.project(row))),

    show: async ({ ref }) => {
      const found = await resolveProject(committer.cache, ref)
      return found.ok ? accept(joins.project(found.value)) : found
    },

    edit: async ({ ref, commandId, ...change }) => {
      const receipt = receiptOf('projects.edit', commandId, Project)
      const earlier = await committer.earlier(receipt)
      if (earlier !== undefined) return earlier
      const before = await editState(committer.cache, ref)
      if (!before.ok) return before
      const possible = checkProjectEdit(before.value, change)
      if (!possible.ok) return possible
      const known = checkRuntimes(context, change)
      if (!known.ok) return known
      const place = remotePlace(before.value.project, change)
      const found = place === undefined ? undefined : await checkRemote(context, place)
      if (found !== undefined && !found.ok) return found
      return committer.transact<Project>(async (read) => {
        const state = await editState(read, before.value.project.id)
        if (!state.ok) return state
        const decision = editProject(state.value, change, found?.value)
        if (!decision.ok) return decision
        const { change: stored, answer } = decision.value
        return accept({ change: stored, answer: joins.project(answer) })
      }, receipt)
    },

    delete: ({ ref, commandId }) =>
      committer.transact<Project>(
        async (read) => {
          const found = await resolveProject(read, ref)
          if (!found.ok) return found
          const project = found.value
          const tickets = await read.rows({
            table: 'ticket',
            where: { projectId: project.id },
            limit: 2,
          })
          const decision = deleteProject({ project, tickets: tickets.length }, ports.ids)
          if (!decision.ok) return decision
          return accept({ change: decision.value.change, answer: joins.project(project) })
        },
        receiptOf('projects.delete', commandId, Project),
      ),
  }
}

/** Of what a project is given: what it had stays, also where its agent was taken out of the settings by hand. */
function checkRuntimes(
  { ports }: CallContext,
  { runtime, stages = {} }: Pick<ProjectChange, 'runtime' | 'stages'>,
): Result<undefined> {
  const named = [runtime, ...Object.values(stages).map((stage) => stage?.runtime)]
  for (const name of named) {
    if (name === undefined) continue
    const known = checkRuntimeName(name, ports.settings.current.acpAgents)
    if (!known.ok) return known
  }
  return accept(undefined)
}

async function editState(read: Reader, ref: string): Promise<Result<EditState>> {
  const found = await resolveProject(read, ref)
  if (!found.ok) return found
  const project = found.value
  const where = { projectId: project.id }
  return accept({
    project,
    projects: await read.rows({ table: 'project' }),
    tickets: await read.rows({ table: 'ticket', where }),
    sessions: await read.rows({ table: 'session', where }),
  })
}

/** What is asked of the remote; undefined where repository and branch stay. */
function remotePlace(
  project: ProjectRow,
  change: ProjectChange,
): Pick<Settings, 'repo' | 'branch'> | undefined {
  const { branch = project.branch } = change
  const repo = isElsewhere(project, change) ? (change.repo ?? project.repo) : project.repo
  if (repo === project.repo && branch === project.branch) return undefined
  return { repo, ...(branch === null ? {} : { branch }) }
}

/** The branch that work starts from, as the remote has it. */
export async function checkRemote(
  { fleet }: CallContext,
  settings: Pick<Settings, 'repo' | 'branch'>,
): Promise<Result<string>> {
  const { repo, branch } = settings
  const found = await fleet.ask(
    { kind: 'remote', repo, ...(branch === undefined ? {} : { branch }) },
    REMOTE_PROBE_MS,
  )
  if (!found.ok) return found
  if (branch !== undefined && found.value.branch !== branch) {
    return refuse(
      'project.branch-unknown',
      `The repository ${viewRepo(repo)} has no branch ${JSON.stringify(branch)}.`,
      `Name a branch that it has, such as ${found.value.branch}.`,
    )
  }
  return accept(found.value.branch)
}

/**
 * The project of that repository: given the settings where there is one, else made. A person's own project of that
 * name stays what it is, and the new one gets another name.
 */
export async function ensureProject(
  context: CallContext,
  settings: Settings,
): Promise<Result<ProjectRow>> {
  const branch = await checkRemote(context, settings)
  if (!branch.ok) return branch
  return context.committer.transact<ProjectRow>(async (read, now) => {
    const projects = await read.rows({ table: 'project' })
    const existing = projects.find(({ repo }) => repo === settings.repo)
    const name = freeProjectName(projects, settings.name)
    const command = { settings: { ...settings, name }, branch: branch.value }
    return existing === undefined
      ? addProject({ projects }, command, now, context.ports.ids)
      : accept(changeProject(existing, command))
  })
}
