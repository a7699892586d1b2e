import { randomBytes } from 'node:crypto'
import type { PermissionMode } from '../../../src-shared/records.ts'
import { type AcpAgent, presetOf } from '../../../src-shared/runtimes.ts'
import { removeDeadLocks } from '../opencode/dead-locks.ts'
import { QUIET } from '../opencode/quiet.ts'

/** What Ballet knows of one agent beyond the protocol. */
export type AgentTraits = {
  /** Variables that are added to the runtime's environment. */
  env(permission: PermissionMode): Readonly<Record<string, string>>
  /** What has to be done before it is started with this environment. */
  before?(env: Readonly<Record<string, string>>): Promise<unknown>
  /** Reads AGENTS.md or the like of the workspace itself. */
  readsNotes: boolean
  /** Tells what the conversation cost. */
  cost: boolean
  /** Messages can hold images; of an agent that is not known nobody can say so before it runs. */
  images: boolean
  /** Versions that the conformance suite was seen to pass with. */
  tested: readonly string[]
  /** How to log in. */
  login: string
}

const SOME_AGENT: AgentTraits = {
  env: () => ({}),
  readsNotes: true,
  cost: false,
  images: false,
  tested: [],
  login:
    'Run the agent in a terminal and log in there, or set its key in the environment of the project; then send a message.',
}

/** By the names of the presets. */
const TRAITS: Readonly<Record<string, AgentTraits>> = {
  opencode: {
    env: (permission) => ({
      // Else everybody on this machine could use the server that it opens beside the protocol.
      OPENCODE_SERVER_PASSWORD: randomBytes(24).toString('base64url'),
      OPENCODE_PERMISSION: JSON.stringify(openCodePermissions(permission)),
      ...QUIET,
    }),
    before: removeDeadLocks,
    readsNotes: false,
    cost: true,
    images: true,
    tested: ['1.18.33'],
    login:
      'Run `opencode auth login` in a terminal, or set the key of the provider in the environment of the project; then send a message.',
  },
  gemini: {
    ...SOME_AGENT,
    images: true,
    login:
      'Run `gemini` in a terminal and log in there, or set GEMINI_API_KEY in the environment of the project; then send a message.',
  },
  copilot: {
    ...SOME_AGENT,
    login: 'Run `copilot` in a terminal and type /login; then send a message.',
  },
  qwen: {
    ...SOME_AGENT,
    login: 'Run `qwen` in a terminal and type /auth; then send a message.',
  },
  goose: {
    ...SOME_AGENT,
    login: 'Run `goose configure` in a terminal; then send a message.',
  },
}

/** By its program: an agent of the settings may be a known one under another name, or another one under a known name. */
export function traitsOf(agent: AcpAgent): AgentTraits {
  return TRAITS[presetOf(agent) ?? ''] ?? SOME_AGENT
}

/** It asks nothing by itself: the mode decides what it asks Ballet for. */
function openCodePermissions(permission: PermissionMode): Record<string, string> {
  // Ballet's own tools never ask, and its questions come through them.
  const always = { 'ballet_*': 'allow', question: 'deny' }
  if (permission === 'full') return { '*': 'allow', ...always }
  const reading = ['read', 'grep', 'glob', 'list', 'todowrite', 'todoread', 'skill', 'task']
  return {
    '*': 'ask',
    ...Object.fromEntries(reading.map((tool) => [tool, 'allow'])),
    ...(permission === 'edits' ? { edit: 'allow' } : {}),
    ...always,
  }
}
