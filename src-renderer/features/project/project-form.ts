import '../../sync/without-jit.ts'
import { parseDuration } from '../../../src-shared/duration.ts'
import type { PermissionMode } from '../../../src-shared/records.ts'

/** What is typed into the form of a new project; empty texts mean the default. */
export type ProjectDraft = {
  name: string
  repo: string
  branch: string
  permission: PermissionMode
  model: string
  setup: string
  env: string
  window: string
  maxSessions: string
}

export const emptyProject: ProjectDraft = {
  name: '',
  repo: '',
  branch: '',
  permission: 'full',
  model: '',
  setup: '',
  env: '',
  window: '',
  maxSessions: '',
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
  const most = draft.maxSessions.trim()
  if (most !== '' && !(/^\d{1,3}$/.test(most) && Number(most) >= 1 && Number(most) <= 100)) {
    wrong.maxSessions = 'A number from 1 to 100.'
  }
  return wrong
}

/** The settings that the host is given. */
export function projectSettings(draft: ProjectDraft) {
  const env = parseEnv(draft.env)
  const filled = (key: 'branch' | 'model' | 'setup' | 'window') =>
    draft[key].trim() === '' ? {} : { [key]: draft[key].trim() }
  return {
    name: draft.name.trim() === '' ? nameOfRepo(draft.repo) : draft.name.trim(),
    repo: draft.repo.trim(),
    permission: draft.permission,
    ...filled('branch'),
    ...filled('model'),
    ...filled('setup'),
    ...filled('window'),
    ...('env' in env && Object.keys(env.env).length > 0 ? { env: env.env } : {}),
    ...(draft.maxSessions.trim() === '' ? {} : { maxSessions: Number(draft.maxSessions) }),
  }
}
