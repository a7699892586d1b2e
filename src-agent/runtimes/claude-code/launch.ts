import { mkdir, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { PermissionMode } from '../../../src-shared/records.ts'
import type { DriverSpec, McpServerAddress } from '../driver.ts'
import { readRepositoryNotes } from '../repository-notes.ts'
import { grantedAtLaunch } from './permission-rules.ts'

export type Launch = {
  spec: DriverSpec
  conversation: string
  resume: boolean
}

/** How long a server of MCP on this machine may take to answer, before the runtime goes on without it. */
export const MCP_CONNECT_LIMIT_MS = 5_000

/** Tools that ask, plan, wait, schedule or act on their own: Ballet has its own ways for these, or none. */
const REMOVED_TOOLS = [
  'AskUserQuestion',
  'EnterPlanMode',
  'ExitPlanMode',
  'CronCreate',
  'CronDelete',
  'CronList',
  'ScheduleWakeup',
  'RemoteTrigger',
  'PushNotification',
  'Monitor',
  'EnterWorktree',
  'ExitWorktree',
  'SendMessage',
  'ListAgents',
  'Workflow',
] as const

const PERMISSION_ARGS: Readonly<Record<PermissionMode, readonly string[]>> = {
  full: ['--permission-mode', 'bypassPermissions'],
  edits: ['--permission-mode', 'acceptEdits', '--permission-prompt-tool', 'stdio'],
  ask: ['--permission-mode', 'default', '--permission-prompt-tool', 'stdio'],
}

/** Writes the files of the launch and gives its command line. Project arguments come last, so that they win. */
export async function prepareLaunch({ spec, conversation, resume }: Launch): Promise<string[]> {
  await mkdir(spec.scratchDir, { recursive: true, mode: 0o700 })
  const promptFile = join(spec.scratchDir, 'prompt.md')
  const mcpFile = join(spec.scratchDir, 'mcp.json')
  const notes = await readRepositoryNotes(spec.cwd)
  const prompt = [spec.prompt, notes].filter((part) => part !== null && part !== '').join('\n\n')
  await writeFile(promptFile, prompt, { mode: 0o600 })
  await writeFile(mcpFile, JSON.stringify(mcpConfig(spec.mcpServers)), { mode: 0o600 })
  const { permission, settings } = grantedAtLaunch(spec.permission, spec.grants)
  const settingsFile = join(spec.scratchDir, 'settings.json')
  if (settings !== null) await writeFile(settingsFile, JSON.stringify(settings), { mode: 0o600 })
  return [
    ...'-p --input-format stream-json --output-format stream-json --verbose'.split(' '),
    ...'--include-partial-messages --replay-user-messages'.split(' '),
    // Project and local settings, hooks and MCP servers of the repository would run code and redirect keys.
    ...'--setting-sources user --strict-mcp-config --mcp-config'.split(' '),
    mcpFile,
    '--disallowedTools',
    REMOVED_TOOLS.join(','),
    ...allowedServers(spec.mcpServers),
    ...(prompt === '' ? [] : ['--append-system-prompt-file', promptFile]),
    ...PERMISSION_ARGS[permission],
    ...(settings === null ? [] : ['--settings', settingsFile]),
    resume ? '--resume' : '--session-id',
    conversation,
    ...(spec.model === null ? [] : ['--model', spec.model]),
    ...spec.args,
  ]
}

/** In a file that only the user can read, since arguments and environments are seen by others. */
function mcpConfig(servers: readonly McpServerAddress[]): object {
  const entries = servers.map(({ name, url, token }) => [
    name,
    // Loaded up front: a tool that must be searched for first is not used.
    { type: 'http', url, headers: { Authorization: `Bearer ${token}` }, alwaysLoad: true },
  ])
  return { mcpServers: Object.fromEntries(entries) }
}

/** Tools of the given servers never ask, in any permission mode. */
function allowedServers(servers: readonly McpServerAddress[]): string[] {
  if (servers.length === 0) return []
  return ['--allowedTools', servers.map(({ name }) => `mcp__${name}`).join(',')]
}

/** Left by a Claude Code that Ballet itself was started from, or wrong for a held-open session. */
const REMOVED_VARIABLES = [
  'CLAUDECODE',
  'CLAUDE_CODE_ENTRYPOINT',
  'CLAUDE_CODE_SSE_PORT',
  'CLAUDE_CODE_SESSION_ID',
  // Would go on with a cut turn before anybody said so, and repeat its last tool call.
  'CLAUDE_CODE_RESUME_INTERRUPTED_TURN',
] as const

/** The environment of the runtime: the given one, and what makes it drivable. */
export function launchEnvironment(
  env: Readonly<Record<string, string>>,
  isRoot = process.getuid?.() === 0,
): Record<string, string> {
  const own: Record<string, string> = { ...env }
  for (const name of REMOVED_VARIABLES) delete own[name]
  return {
    ...own,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
    // One message, one result: nothing outlives its turn, and no turn begins by itself.
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
    CLAUDE_CODE_DISABLE_CRON: '1',
    CLAUDE_CODE_DISABLE_WORKFLOWS: '1',
    // The todo list as one tool whose every call holds the whole list.
    CLAUDE_CODE_ENABLE_TODO_TOOLS: '1',
    CLAUDE_CODE_ENABLE_TASKS: '0',
    CLAUDE_CODE_FORWARD_SUBAGENT_TEXT: '1',
    MCP_TIMEOUT: String(MCP_CONNECT_LIMIT_MS),
    // Without it Claude Code refuses to run without permission prompts as root.
    ...(isRoot ? { IS_SANDBOX: '1' } : {}),
  }
}

/** The folder in which Claude Code keeps its login and its conversations. */
export function configFolder(env: Readonly<Record<string, string>>): string {
  const set = env.CLAUDE_CONFIG_DIR
  if (set !== undefined && set !== '') return set
  return join(env.HOME ?? env.USERPROFILE ?? homedir(), '.claude')
}
