import { mkdir, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { PermissionMode } from '../../../src-shared/records.ts'
import { MARK_VARIABLE, markOf } from '../../process-tree/index.ts'
import type { DriverSpec } from '../driver.ts'
import { readRepositoryNotes } from '../repository-notes.ts'

/**
 * What a thread is begun or resumed with. Measured with 0.171.0: without a trust level for the workspace the server
 * would write one into the user's config.toml, and start what the repository's `.codex/config.toml` names.
 */
export async function threadParams(spec: DriverSpec): Promise<Record<string, unknown>> {
  await mkdir(spec.scratchDir, { recursive: true, mode: 0o700 })
  const notes = await readRepositoryNotes(spec.cwd)
  const instructions = [spec.prompt, notes].filter((part) => part !== null && part !== '')
  return {
    cwd: spec.cwd,
    ...(spec.model === null ? {} : { model: spec.model }),
    ...POLICIES[spec.permission],
    developerInstructions: instructions.join('\n\n'),
    config: await threadConfig(spec),
  }
}

/**
 * In the modes that ask, every command is asked about (`untrusted`), and one that a person allowed runs as it is: in a
 * sandbox it would fail where it needs the network or writes elsewhere. Edits in the workspace that need no question
 * are allowed by the driver.
 */
const POLICIES: Readonly<Record<PermissionMode, object>> = {
  full: { approvalPolicy: 'never', sandbox: 'danger-full-access' },
  edits: { approvalPolicy: 'untrusted', sandbox: 'danger-full-access' },
  ask: { approvalPolicy: 'untrusted', sandbox: 'danger-full-access' },
}

async function threadConfig(spec: DriverSpec): Promise<Record<string, unknown>> {
  const folders = new Set([spec.cwd, await realpath(spec.cwd)])
  return {
    projects: Object.fromEntries([...folders].map((each) => [each, { trust_level: 'untrusted' }])),
    // They are in the instructions already, the same for every runtime.
    project_doc_max_bytes: 0,
    check_for_update_on_startup: false,
    // Also where the user keeps variables from commands: by it the processes of a session are found.
    [`shell_environment_policy.set.${MARK_VARIABLE}`]: markOf(spec.marker),
    ...Object.fromEntries(
      spec.mcpServers.map(({ name, url, token }) => [
        `mcp_servers.${name}`,
        {
          url,
          // Not by a variable of the environment, which commands would see.
          http_headers: { Authorization: `Bearer ${token}` },
          default_tools_approval_mode: 'approve',
          startup_timeout_sec: 10,
        },
      ]),
    ),
  }
}

/** Project arguments come last, so that they win. */
export function serverArguments(spec: DriverSpec): string[] {
  return ['app-server', '-c', 'check_for_update_on_startup=false', ...spec.args]
}

/** Left by a Codex that Ballet itself was started from. */
const REMOVED_VARIABLES = ['CODEX_SANDBOX', 'CODEX_SANDBOX_NETWORK_DISABLED', 'CODEX_THREAD_ID']

/** The environment of the server: the given one, without what belongs to another one. */
export function launchEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  const own = { ...env }
  for (const name of REMOVED_VARIABLES) delete own[name]
  return own
}

/** The folder in which Codex keeps its configuration, its login and its conversations. */
export function codexHome(env: Readonly<Record<string, string>>): string {
  const set = env.CODEX_HOME
  if (set !== undefined && set !== '') return set
  return join(env.HOME ?? env.USERPROFILE ?? homedir(), '.codex')
}
