import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { DriverSpec } from '../driver.ts'
import { readRepositoryNotes } from '../repository-notes.ts'
import { writeGuard } from './guard.ts'
import { configPermission, rulesOf } from './permission-rules.ts'
import { QUIET } from './quiet.ts'

/** Ballet's own settings, which are merged over the user's. */
export type OwnConfig = Readonly<Record<string, unknown>>

/** Would come before Ballet's own, or change how its server is spoken to. */
const REMOVED_VARIABLES = [
  'OPENCODE_SERVER_USERNAME',
  'OPENCODE_SERVER_PASSWORD',
  'OPENCODE_PERMISSION',
  'OPENCODE_PURE',
  'OPENCODE_PID',
  'OPENCODE',
] as const

/** The environment of every opencode that Ballet starts. */
export function launchEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  const own: Record<string, string> = { ...env }
  for (const name of REMOVED_VARIABLES) delete own[name]
  return { ...own, ...QUIET }
}

/** For work on stored conversations, in which no tool runs. */
export const BARE_CONFIG: OwnConfig = { autoupdate: false, share: 'disabled' }

/** Would bring the person's configuration back. */
const CONFIG_VARIABLES = ['OPENCODE_CONFIG_CONTENT', 'OPENCODE_CONFIG_DIR'] as const

/**
 * The environment for such work: with the person's conversations and without their configuration, of which it needs
 * nothing, neither a plugin to be loaded nor a package to be installed first. `folder` is made and filled.
 */
export async function bareEnvironment(
  env: Readonly<Record<string, string>>,
  folder: string,
): Promise<Record<string, string>> {
  const own: Record<string, string> = { ...env }
  for (const name of CONFIG_VARIABLES) delete own[name]
  const config = join(folder, 'config', 'opencode')
  await mkdir(join(config, 'node_modules'), { recursive: true, mode: 0o700 })
  // What it would install is there, as far as it looks.
  const packages = { packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } } }
  await writeFile(join(config, 'package-lock.json'), JSON.stringify(packages))
  return {
    ...own,
    XDG_CONFIG_HOME: join(folder, 'config'),
    XDG_STATE_HOME: join(folder, 'state'),
  }
}

/** Writes the files of a session and gives its configuration. It holds no secret: tools can read it. */
export async function sessionConfig(spec: DriverSpec): Promise<OwnConfig> {
  await mkdir(spec.scratchDir, { recursive: true, mode: 0o700 })
  const guard = await writeGuard(spec.scratchDir, spec.env)
  const notes = await readRepositoryNotes(spec.cwd)
  const prompt = [spec.prompt, notes].filter((part) => part !== null && part !== '').join('\n\n')
  const promptFile = join(spec.scratchDir, 'prompt.md')
  await writeFile(promptFile, prompt, { mode: 0o600 })
  const servers = spec.mcpServers.map(({ name }) => name)
  return {
    ...BARE_CONFIG,
    plugin: [guard],
    permission: configPermission(rulesOf(spec.permission, servers)),
    ...(prompt === '' ? {} : { instructions: [promptFile] }),
    ...(spec.model === null ? {} : { model: spec.model }),
  }
}

/** Writes the configuration where only the user reads it, and gives its path. */
export async function writeConfig(scratchDir: string, config: OwnConfig): Promise<string> {
  await mkdir(scratchDir, { recursive: true, mode: 0o700 })
  const path = join(scratchDir, 'opencode.json')
  await writeFile(path, JSON.stringify(config), { mode: 0o600 })
  return path
}
