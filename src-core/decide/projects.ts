import type { ProjectChange } from '../../src-shared/contract.ts'
import { type Instant, ProjectId } from '../../src-shared/ids.ts'
import type { ProjectSettings } from '../../src-shared/records.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import type { Ids } from '../ports.ts'
import { viewRepo } from '../project/views.ts'
import type { ProjectRow, SessionRow, TicketRow } from '../storage/rows.ts'
import { changeOf, type Decision, MIRROR_REMOVE } from './change.ts'
import { merged } from './merged.ts'
import { folded } from './references.ts'
import { isOver } from './session-states.ts'

const KEY_LIMIT = 10

/**
 * The key that begins a project's tickets' keys: letters and digits of its name in upper case, beginning with a
 * letter, at most 10; `P` for a name that has none; a number behind it where another project has the key.
 */
export function projectKey(name: string, taken: ReadonlySet<string>): string {
  const plain = name
    .normalize('NFKD')
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, '')
  const key = plain.replace(/^[0-9]+/, '').slice(0, KEY_LIMIT) || 'P'
  if (!taken.has(key)) return key
  for (let number = 2; ; number += 1) {
    const numbered = `${key.slice(0, KEY_LIMIT - String(number).length)}${number}`
    if (!taken.has(numbered)) return numbered
  }
}

/** Refuses a name that another project has, also in other letter case. */
export function checkProjectName(projects: readonly ProjectRow[], name: string): Result<undefined> {
  const same = projects.find((project) => folded(project.name) === folded(name))
  if (same === undefined) return accept(undefined)
  return refuse(
    'project.exists',
    `There is a project named ${JSON.stringify(same.name)} already.`,
    'Choose another name, or delete that project first.',
  )
}

/** The name, with a number behind it where another project has it, also in other letter case. */
export function freeProjectName(projects: readonly ProjectRow[], name: string): string {
  const taken = new Set(projects.map((project) => folded(project.name)))
  if (!taken.has(folded(name))) return name
  for (let number = 2; ; number += 1) {
    const numbered = `${name} ${number}`
    if (!taken.has(folded(numbered))) return numbered
  }
}

const rowOf = (settings: ProjectSettings, branch: string) => ({
  name: settings.name,
  repo: settings.repo,
  branch,
  runtime: settings.runtime,
  permission: settings.permission,
  model: settings.model ?? null,
  runtimeArgs: settings.runtimeArgs,
  setup: settings.setup ?? null,
  setupLimit: settings.setupLimit,
  stages: settings.stages,
  env: settings.env,
  window: settings.window,
  maxSessions: settings.maxSessions ?? null,
  sources: settings.sources,
  planner: settings.planner,
  skill: settings.skill ?? null,
  notify: [...new Set(settings.notify)],
})

/** `branch` is the one that the remote was found to have. */
export function addProject(
  state: { projects: readonly ProjectRow[] },
  command: { settings: ProjectSettings; branch: string },
  now: Instant,
  ids: Ids,
): Result<Decision<ProjectRow>> {
  const free = checkProjectName(state.projects, command.settings.name)
  if (!free.ok) return free
  const row: ProjectRow = {
    ...rowOf(command.settings, command.branch),
    id: ProjectId.parse(ids.uuid()),
    key: projectKey(command.settings.name, new Set(state.projects.map(({ key }) => key))),
    nextNumber: 1,
    createdAt: now,
  }
  return accept({
    answer: row,
    change: changeOf({
      puts: [{ table: 'project', row }],
      domain: [
        {
          kind: 'project.added',
          subject: row.id,
          data: { name: row.name, repo: viewRepo(row.repo) },
        },
      ],
    }),
  })
}

/** Gives a project other settings; its name, key and tickets stay. */
export function changeProject(
  project: ProjectRow,
  command: { settings: ProjectSettings; branch: string },
): Decision<ProjectRow> {
  const row: ProjectRow = {
    ...project,
    ...rowOf(command.settings, command.branch),
    name: project.name,
  }
  return {
    answer: row,
    change: changeOf({
      puts: [{ table: 'project', row }],
      domain: [{ kind: 'project.changed', subject: row.id, data: { repo: viewRepo(row.repo) } }],
    }),
  }
}

export type EditState = {
  project: ProjectRow
  projects: readonly ProjectRow[]
  tickets: readonly TicketRow[]
  sessions: readonly SessionRow[]
}

/** Whether another repository is named; the shown address of its own one is none. */
export const isElsewhere = (project: ProjectRow, { repo }: ProjectChange) =>
  repo !== undefined && repo !== project.repo && repo !== viewRepo(project.repo)

/**
 * Refuses another repository while work of a session may be in this one only, a name that is taken, and to take away a
 * variable, or what is said of a stage, that is not there.
 */
export function checkProjectEdit(state: EditState, change: ProjectChange): Result<undefined> {
  const { project, projects, sessions, tickets } = state
  const others = projects.filter(({ id }) => id !== project.id)
  if (isElsewhere(project, change)) {
    const open = sessions.find(({ state, workspace }) => !isOver(state) || workspace !== null)
    if (open !== undefined) {
      const key = tickets.find(({ id }) => id === open.ticketId)?.key ?? open.id
      return refuse(
        'project.in-use',
        isOver(open.state)
          ? `The session of ${key} still has its workspace, and its work belongs to ${viewRepo(project.repo)}.`
          : `The session of ${key} is ${open.state}, and its work belongs to ${viewRepo(project.repo)}.`,
        'Finish the sessions of the project first, or make a project of the other repository.',
      )
    }
  }
  const unknown = Object.entries(change.env ?? {}).find(
    ([name, value]) => value === null && !Object.hasOwn(project.env, name),
  )
  if (unknown !== undefined) {
    const names = Object.keys(project.env).sort()
    return refuse(
      'project.no-variable',
      `The project ${JSON.stringify(project.name)} has no variable ${unknown[0]}.`,
      names.length === 0 ? 'It has none at all.' : `It has ${names.join(', ')}.`,
    )
  }
  const noStage = Object.entries(change.stages ?? {}).find(
    ([stage, value]) => value === null && !Object.hasOwn(project.stages, stage),
  )
  if (noStage !== undefined) {
    const names = Object.keys(project.stages).sort()
    return refuse(
      'project.no-stage',
      `The project ${JSON.stringify(project.name)} says nothing of a stage ${noStage[0]}.`,
      names.length === 0 ? 'It says nothing of any stage.' : `It does of ${names.join(', ')}.`,
    )
  }
  return change.name === undefined ? accept(undefined) : checkProjectName(others, change.name)
}

/** `branch`: as the remote was found to have it; undefined where it was not asked. */
export function editProject(
  state: EditState,
  change: ProjectChange,
  branch: string | undefined,
): Result<Decision<ProjectRow>> {
  const free = checkProjectEdit(state, change)
  if (!free.ok) return free
  const { project, tickets, sessions } = state
  const { env, stages, branch: _, repo, ...given } = change
  const row: ProjectRow = {
    ...project,
    ...definedOf(given),
    // As it is shown, without its password, it is the same one.
    ...(repo === undefined || !isElsewhere(project, change) ? {} : { repo }),
    branch: branch ?? project.branch,
    env: merged(project.env, env),
    stages: merged(project.stages, stages),
  }
  const isNamed = row.name !== project.name
  const isMoved = isElsewhere(project, change)
  // Who follows the records has the name with each of them.
  const namedTickets = isNamed ? tickets : []
  // What was pushed to one repository is nothing to go on with in another.
  const changedSessions = sessions
    .filter(({ pushedCommit }) => isNamed || (isMoved && pushedCommit !== null))
    .map((session) => (isMoved ? { ...session, pushedCommit: null } : session))
  return accept({
    answer: row,
    change: changeOf({
      puts: [
        { table: 'project', row },
        ...namedTickets.map((ticket) => ({ table: 'ticket' as const, row: ticket })),
        ...changedSessions.map((session) => ({ table: 'session' as const, row: session })),
      ],
      domain: [
        { kind: 'project.changed', subject: row.id, data: { fields: Object.keys(change).sort() } },
      ],
    }),
  })
}

/** Without the fields that are undefined. */
function definedOf<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}

/** Its mirror is removed afterwards, also when the host ends first. */
export function deleteProject(
  state: { project: ProjectRow; tickets: number },
  ids: Ids,
): Result<Decision<ProjectRow>> {
  const { project, tickets } = state
  if (tickets > 0) {
    return refuse(
      'project.not-empty',
      `The project ${JSON.stringify(project.name)} has ${tickets === 1 ? 'a ticket' : 'tickets'}.`,
      'Delete its tickets first.',
    )
  }
  return accept({
    answer: project,
    change: changeOf({
      deletes: [{ table: 'project', id: project.id }],
      outbox: [{ id: ids.uuid(), effect: MIRROR_REMOVE, data: { project: project.id } }],
    }),
  })
}
