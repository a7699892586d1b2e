import '../../sync/without-jit.ts'
import type { ProjectChange } from '../../../src-shared/contract.ts'
import { parseDuration } from '../../../src-shared/duration.ts'
import { NotificationKind, type PermissionMode, type Project } from '../../../src-shared/records.ts'
import { RuntimeName } from '../../../src-shared/runtimes.ts'
import { argumentsOf, stagesChange, stagesOf, textOfStages, wrongStages } from './stage-drafts.ts'

/** What is typed into the form of a project; empty texts mean the default. */
export type ProjectDraft = {
  name: string
  repo: string
  branch: string
  runtime: RuntimeName
  permission: PermissionMode
  model: string
  runtimeArgs: string
  setup: string
  setupLimit: string
  env: string
  window: string
  maxSessions: string
  /** As `stageDrafts` reads it. */
  stages: string
  /** One path or glob a line. */
  sources: string
  planner: 'on' | 'off'
  skill: string
  /** Kinds of notifications, a space between two. */
  notify: string
}

export const emptyProject: ProjectDraft = {
  name: '',
  repo: '',
  branch: '',
  runtime: 'claude-code',
  permission: 'full',
  model: '',
  runtimeArgs: '',
  setup: '',
  setupLimit: '',
  env: '',
  window: '',
  maxSessions: '',
  stages: '',
  sources: 'README*\n*.md\ndocs/**/*.md',
  planner: 'on',
  skill: '',
  notify: NotificationKind.options.join(' '),
}

export type Wrong = Partial<Record<keyof ProjectDraft, string>>

/** `shop` of `git@example.com:team/shop.git`: what the project is called when nobody says otherwise. */
export function nameOfRepo(repo: string): string {
  const last =
    repo
      .trim()
      .replace(/[/\\]+$/, '')
      .split(/[/:\\]/)
      .at(-1) ?? ''
  return last.replace(/\.git$/, '')
}

/** The variables of lines such as `NAME=value`, or which line is not one. */
export function parseEnv(text: string): { env: Record<string, string> } | { wrong: string } {
  const env: Record<string, string> = {}
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const [, name, value] = /^\s*([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line) ?? []
    if (name === undefined || value === undefined) {
      return { wrong: `“${line.trim().slice(0, 40)}” is not NAME=value` }
    }
    env[name] = value
  }
  return { env }
}

const sourcesOf = (text: string) => argumentsOf(text).map((line) => line.trim())

export const kindsOf = (notify: string): NotificationKind[] =>
  NotificationKind.options.filter((kind) => notify.split(' ').includes(kind))

/** What the form says of questions, as far as it is not as in `before`. */
function questionChange(draft: ProjectDraft, before: ProjectDraft) {
  const change: Pick<ProjectChange, 'sources' | 'planner' | 'notify'> = {}
  if (draft.sources.trim() !== before.sources.trim()) change.sources = sourcesOf(draft.sources)
  if (draft.planner !== before.planner) change.planner = draft.planner === 'on'
  if (kindsOf(draft.notify).join() !== kindsOf(before.notify).join()) {
    change.notify = kindsOf(draft.notify)
  }
  return change
}

/** What can be told wrong without asking the host; the remote is checked by the host. */
export function checkProject(draft: ProjectDraft): Wrong {
  const wrong: Wrong = {}
  if (draft.repo.trim() === '') wrong.repo = 'A project needs a repository.'
  if (draft.name.trim() === '' && nameOfRepo(draft.repo) === '')
    wrong.name = 'A project needs a name.'
  const env = parseEnv(draft.env)
  if ('wrong' in env) wrong.env = env.wrong
  if (draft.window.trim() !== '' && parseDuration(draft.window) === undefined) {
    wrong.window = 'Not a duration such as 90s, 10m, 2h, now or never.'
  }
  const limit = draft.setupLimit.trim() === '' ? null : parseDuration(draft.setupLimit)
  if (limit === undefined || limit === 0) {
    wrong.setupLimit = 'Not a duration of at least 1s, such as 90s, 10m or 2h, or never.'
  }
  const most = draft.maxSessions.trim()
  if (most !== '' && !(/^\d{1,3}$/.test(most) && Number(most) >= 1 && Number(most) <= 100)) {
    wrong.maxSessions = 'A number from 1 to 100.'
  }
  const stages = wrongStages(draft.stages)
  if (stages !== undefined) wrong.stages = stages
  return wrong
}

/** The settings that the host is given. */
export function projectSettings(draft: ProjectDraft) {
  const env = parseEnv(draft.env)
  const filled = (key: 'branch' | 'model' | 'setup' | 'setupLimit' | 'window' | 'skill') =>
    draft[key].trim() === '' ? {} : { [key]: draft[key].trim() }
  return {
    name: draft.name.trim() === '' ? nameOfRepo(draft.repo) : draft.name.trim(),
    repo: draft.repo.trim(),
    permission: draft.permission,
    ...(draft.runtime === emptyProject.runtime ? {} : { runtime: draft.runtime }),
    ...(draft.stages === '' ? {} : { stages: stagesOf(draft.stages) }),
    ...filled('branch'),
    ...filled('model'),
    ...filled('setup'),
    ...filled('setupLimit'),
    ...(argumentsOf(draft.runtimeArgs).length === 0
      ? {}
      : { runtimeArgs: argumentsOf(draft.runtimeArgs) }),
    ...filled('window'),
    ...filled('skill'),
    ...questionChange(draft, emptyProject),
    ...('env' in env && Object.keys(env.env).length > 0 ? { env: env.env } : {}),
    ...(draft.maxSessions.trim() === '' ? {} : { maxSessions: Number(draft.maxSessions) }),
  }
}

/** The form filled with a project as it is; values of its variables are known to the host only. */
export function draftOfProject(project: Project): ProjectDraft {
  return {
    name: project.name,
    repo: project.repo,
    branch: project.branch,
    runtime: project.runtime,
    permission: project.permission,
    model: project.model ?? '',
    runtimeArgs: project.runtimeArgs.join('\n'),
    setup: project.setup ?? '',
    setupLimit: project.setupLimit,
    env: '',
    window: project.window,
    maxSessions: project.maxSessions === undefined ? '' : String(project.maxSessions),
    stages: textOfStages(project.stages),
    sources: project.sources.join('\n'),
    planner: project.planner ? 'on' : 'off',
    skill: project.skill ?? '',
    notify: kindsOf(project.notify.join(' ')).join(' '),
  }
}

/** What the form changes of a project, with the variables to take away; nothing that stays as it is. */
export function projectChange(
  project: Project,
  draft: ProjectDraft,
  takenAway: readonly string[],
): ProjectChange {
  const before = draftOfProject(project)
  const changed = (key: keyof ProjectDraft) => draft[key].trim() !== before[key].trim()
  const change: ProjectChange = questionChange(draft, before)
  if (changed('name')) change.name = draft.name.trim()
  if (changed('repo')) change.repo = draft.repo.trim()
  if (changed('permission')) change.permission = draft.permission
  if (changed('runtime')) change.runtime = RuntimeName.parse(draft.runtime)
  const stages = stagesChange(before.stages, draft.stages)
  if (stages !== undefined) change.stages = stages
  for (const key of ['branch', 'model', 'setup', 'skill'] as const) {
    if (changed(key)) change[key] = draft[key].trim() === '' ? null : draft[key].trim()
  }
  if (changed('runtimeArgs')) change.runtimeArgs = argumentsOf(draft.runtimeArgs)
  for (const key of ['setupLimit', 'window'] as const) {
    if (changed(key)) change[key] = draft[key].trim() === '' ? '10m' : draft[key].trim()
  }
  if (changed('maxSessions')) {
    change.maxSessions = draft.maxSessions.trim() === '' ? null : Number(draft.maxSessions)
  }
  const env = parseEnv(draft.env)
  const given = 'env' in env ? env.env : {}
  const gone = takenAway.filter((name) => !(name in given)).map((name) => [name, null] as const)
  if (gone.length > 0 || Object.keys(given).length > 0) {
    change.env = { ...Object.fromEntries(gone), ...given }
  }
  return change
}

/**
 * What the form holds once what was submitted is saved: the saved values, but for a field that was written to
 * while the host looked at the remote.
 */
export function afterSave(
  now: ProjectDraft,
  submitted: ProjectDraft,
  saved: ProjectDraft,
): ProjectDraft {
  const written = Object.entries(now).filter(
    ([key, value]) => value !== submitted[key as keyof ProjectDraft],
  )
  return { ...saved, ...Object.fromEntries(written) }
}
