import { z } from 'zod'

/** The name under which an agent of the Agent Client Protocol is known: `acp:<this>`. */
export const AcpAgentName = z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/)

/** The runtimes that have a driver of their own. */
export const OwnRuntime = z.enum(['claude-code', 'opencode', 'codex'])

/** A coding agent program: one with a driver of its own, or `acp:<name>` for any agent of the Agent Client Protocol. */
export const RuntimeName = z.union([OwnRuntime, z.templateLiteral(['acp:', AcpAgentName])], {
  error: 'not the name of a runtime: claude-code, opencode, codex, or acp:<name of an agent>',
})
export type RuntimeName = z.infer<typeof RuntimeName>

/** How an agent of the Agent Client Protocol is started. */
export const AcpAgent = z.object({
  /** As people know it. */
  title: z.string().trim().min(1).max(80),
  /** The program, found on PATH, or an absolute path. */
  command: z.string().trim().min(1).max(4_096),
  args: z.array(z.string().max(2_000)).max(50).default([]),
})
export type AcpAgent = z.infer<typeof AcpAgent>

/** Agents of the Agent Client Protocol that Ballet knows, by name; `install` is a command. */
export const ACP_PRESETS: Readonly<Record<string, AcpAgent & { install: string }>> = {
  gemini: {
    title: 'Gemini CLI',
    command: 'gemini',
    args: ['--acp'],
    install: 'npm install -g @google/gemini-cli',
  },
  copilot: {
    title: 'GitHub Copilot CLI',
    command: 'copilot',
    args: ['--acp'],
    install: 'npm install -g @github/copilot',
  },
  qwen: {
    title: 'Qwen Code',
    command: 'qwen',
    args: ['--acp'],
    install: 'npm install -g @qwen-code/qwen-code',
  },
  goose: {
    title: 'Goose',
    command: 'goose',
    args: ['acp'],
    install: 'brew install block-goose-cli',
  },
  opencode: {
    title: 'opencode (ACP)',
    command: 'opencode',
    args: ['acp'],
    install: 'npm install -g opencode-ai',
  },
}

const OWN_TITLES = { 'claude-code': 'Claude Code', opencode: 'opencode', codex: 'Codex' } as const

/** What people call a runtime; `own` are the agents that the settings add. */
export function titleOfRuntime(
  runtime: RuntimeName,
  own: Readonly<Record<string, AcpAgent>> = {},
): string {
  const isOwn = OwnRuntime.safeParse(runtime)
  if (isOwn.success) return OWN_TITLES[isOwn.data]
  return acpAgentOf(runtime, own)?.title ?? runtime
}

/** How a runtime is logged in, for people; `login` as the runtime names it, such as `api_key` or `claude.ai`. */
export const loginText = (login: string): string =>
  login === 'api_key' ? 'an API key' : login.replaceAll('_', ' ')

/** The agent that an `acp:<name>` stands for; one of the settings hides the preset of its name. Null: there is none. */
export function acpAgentOf(
  runtime: string,
  own: Readonly<Record<string, AcpAgent>>,
): AcpAgent | null {
  if (!runtime.startsWith('acp:')) return null
  const name = runtime.slice('acp:'.length)
  return agentNamed(name, own) ?? agentNamed(name, ACP_PRESETS) ?? null
}

/** What every object has, such as `constructor`, is no agent. */
function agentNamed(
  name: string,
  agents: Readonly<Record<string, AcpAgent>>,
): AcpAgent | undefined {
  return Object.hasOwn(agents, name) ? agents[name] : undefined
}

/**
 * The name of the preset that an agent is, by its program, whatever it is called here: what is known of that one holds
 * for it. Null: it is none of them.
 */
export function presetOf({ command }: Pick<AcpAgent, 'command'>): string | null {
  const program = programOf(command)
  const found = Object.entries(ACP_PRESETS).find(([, preset]) => preset.command === program)
  return found?.[0] ?? null
}

/** The file's name without its folder and the ending that Windows gives it. */
function programOf(command: string): string {
  const file = command.split(/[\\/]/).at(-1) ?? ''
  return file.replace(/\.(exe|cmd)$/i, '')
}

/** What a runtime can do, as its driver says; asked for instead of its name. */
export const RuntimeCapabilities = z.object({
  /** `proven`: the driver shows that the conversation is loaded before anything is delivered. */
  resume: z.enum(['proven', 'unproven', 'none']),
  /** Its conversations can be brought to another workspace or machine; else resuming there begins a new one. */
  moves: z.boolean(),
  /** Can take a message in the middle of a turn, after the current tool call. */
  steer: z.boolean(),
  permissionRequests: z.boolean(),
  /** Takes Ballet's tools: its agents can ask. */
  mcp: z.boolean(),
  /** Tells the tokens of its turns. */
  usage: z.boolean(),
  /** Tells what its turns cost. */
  cost: z.boolean(),
  /** Messages can hold images. */
  images: z.boolean(),
  /** Can answer as the planner: a run that reads a folder and nothing else. */
  planner: z.boolean(),
})
export type RuntimeCapabilities = z.infer<typeof RuntimeCapabilities>

/** The versions that a driver was made for. */
export const RuntimeVersions = z.object({
  /** An older one is refused; null: any is tried. */
  minimum: z.string().nullable(),
  /** Each was seen to pass the conformance suite, the oldest first; a newer one is tried with a notice. */
  tested: z.array(z.string()),
})
export type RuntimeVersions = z.infer<typeof RuntimeVersions>

/** A runtime that this Ballet has a driver for. */
export const Runtime = z.object({
  runtime: RuntimeName,
  capabilities: RuntimeCapabilities,
  versions: RuntimeVersions,
})
export type Runtime = z.infer<typeof Runtime>

/** What an agent of the Agent Client Protocol can do of which no more is known than that it is one. */
export const ACP_CAPABILITIES: RuntimeCapabilities = {
  // What it tells while it loads a conversation shows that it has one, but not that nothing is missing.
  resume: 'unproven',
  moves: false,
  steer: false,
  permissionRequests: true,
  mcp: true,
  usage: false,
  cost: false,
  images: false,
  planner: false,
}

/**
 * What a runtime can do, by what the agents told of the runtimes that they know; `own` are the agents that the settings
 * add, of which is known what is known of their programs. Undefined while none has told anything, and for a runtime
 * without a driver.
 */
export function capabilitiesOf(
  runtime: string,
  told: ReadonlyMap<string, Pick<Runtime, 'capabilities'>>,
  own: Readonly<Record<string, AcpAgent>> = {},
): RuntimeCapabilities | undefined {
  if (!runtime.startsWith('acp:')) return told.get(runtime)?.capabilities
  const agent = acpAgentOf(runtime, own)
  const preset = agent === null ? null : presetOf(agent)
  const known = preset === null ? undefined : told.get(`acp:${preset}`)?.capabilities
  if (known !== undefined) return known
  const canDriveAny = [...told.keys()].some((name) => name.startsWith('acp:'))
  return canDriveAny ? ACP_CAPABILITIES : undefined
}
