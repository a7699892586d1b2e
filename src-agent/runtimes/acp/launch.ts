import { randomBytes } from 'node:crypto'
import { RequestError } from '@agentclientprotocol/sdk'
import type { Instant, RequestId } from '../../../src-shared/ids.ts'
import { BalletError } from '../../../src-shared/refusal.ts'
import type { AcpAgent, RuntimeName } from '../../../src-shared/runtimes.ts'
import { endTree } from '../../process-tree/index.ts'
import type { DriverSignal, DriverSpec } from '../driver.ts'
import { cannotStart } from '../failures.ts'
import { SecretMask } from '../mask-secrets.ts'
import { readRepositoryNotes } from '../repository-notes.ts'
import { TurnTools } from '../turn-tools.ts'
import { AgentConnection, type Services } from './connection.ts'
import { startFailed } from './failures.ts'
import { type Handshake, initialize } from './handshake.ts'
import type { Limits } from './limits.ts'
import { instructionsOf } from './message.ts'
import type { Strange } from './message-stream.ts'
import type { Modes } from './modes.ts'
import { Normalizer } from './normalize.ts'
import { PermissionRequests } from './permission-requests.ts'
import { traitsOf } from './presets.ts'
import { AcpSession } from './session.ts'
import { Terminals } from './terminals.ts'
import { WorkspaceFiles } from './workspace-files.ts'

/** Of what an agent sends before its session is there to tell it, no more than this is kept. */
const EARLY_KEPT = 20
const EARLY_LENGTH = 1_000

export type DriverPorts = {
  now: () => Instant
  newRequestId: () => RequestId
  limits: Limits
}

export type LaunchOptions = {
  runtime: RuntimeName
  agent: AcpAgent
  spec: DriverSpec
  ports: DriverPorts
  onSignal: (signal: DriverSignal) => void
  /** Refs of the last turn's events; empty for a new conversation. */
  lastRefs: readonly string[]
  /** Begins the conversation, or loads one. What it throws ends the launch. */
  open: (started: Started) => Promise<Opened>
}

/** An agent that said what it can do. */
export type Started = {
  connection: AgentConnection
  handshake: Handshake
  /** The `params` of every `session/update` so far. */
  updates: readonly unknown[]
}

export type Opened = {
  conversation: string
  /** Nothing of the conversation was there before. */
  isNew: boolean
  /** It has no message yet: the first one begins with the instructions. */
  isEmpty: boolean
  modes: Modes | null
  /** Told when the session is there. */
  notices: readonly StartNotice[]
}

/** A warning unless it says otherwise. */
export type StartNotice = { code: string; text: string; level?: 'info' }

/** Starts an agent and brings it to the point where it takes a message. Nothing is left running when it rejects. */
export async function launchAgent(
  options: LaunchOptions,
): Promise<{ session: AcpSession; makeNormalizer: () => Normalizer }> {
  const { agent, spec, ports, onSignal } = options
  const traits = traitsOf(agent)
  const added = traits.env(spec.permission)
  const env = { ...spec.env, ...added }
  const mask = new SecretMask({ ...env, ...tokensOf(spec) })
  const held: { session: AcpSession | null; early: Strange[] } = { session: null, early: [] }
  const updates: unknown[] = []
  const tell = (make: (normalizer: Normalizer) => readonly DriverSignal[]) =>
    held.session?.tell(make(normalizer))
  const onRefused = (path: string, what: string, where = 'outside of the workspace') =>
    tell((to) =>
      to.refused(
        ports.now(),
        'acp.outside-workspace',
        `${agent.title} wanted to ${what} ${path}, which is ${where}: refused.`,
      ),
    )
  const terminals = new Terminals({
    ...{ cwd: spec.cwd, env: spec.env, marker: spec.marker, onOutside: onRefused },
    onOutput: (terminal) => tell((to) => to.calls.grew(terminal)),
  })
  const makeNormalizer = () =>
    new Normalizer({
      ...{ title: agent.title, cwd: spec.cwd, mask },
      servers: spec.mcpServers.map(({ name }) => name),
      scope: randomBytes(4).toString('hex'),
      outputOf: (terminal) => terminals.outputOf(terminal),
    })
  const normalizer = makeNormalizer()
  const files = new WorkspaceFiles(spec.cwd, onRefused)
  const services = servicesOf(files, terminals, () => held.session)
  await traits.before?.(env)
  const connection = await openConnection(options, { env, mask, services }, updates, held)
  try {
    const handshake = await initialize(connection, agent.title, traits.login, ports.limits)
    const opened = await options.open({ connection, handshake, updates })
    const notes = traits.readsNotes || !opened.isEmpty ? null : await readRepositoryNotes(spec.cwd)
    const tools = new TurnTools(spec.marker)
    await tools.rememberHelpers()
    if (!opened.isNew) normalizer.loaded(options.lastRefs)
    normalizer.openedIn(opened.modes)
    const session = new AcpSession({
      ...{ connection, normalizer, terminals, tools, onSignal },
      conversation: opened.conversation,
      version: handshake.version ?? 'unknown',
      title: agent.title,
      loginHint: handshake.loginHint,
      takesImages: handshake.takesImages,
      cwd: spec.cwd,
      marker: spec.marker,
      permissions: new PermissionRequests(spec.permission, spec.grants, spec.cwd),
      instructions: opened.isEmpty ? instructionsOf(spec.prompt, notes) : '',
      ...ports,
    })
    held.session = session
    for (const strange of held.early) session.strange(strange)
    for (const { level = 'warning', code, text } of opened.notices) {
      session.tell([normalizer.notice(ports.now(), level, code, text)])
    }
    return { session, makeNormalizer }
  } catch (error) {
    await endTree([spec.marker], { limitMs: 10_000 })
    await connection.ended
    throw error instanceof BalletError ? error : startFailed(agent.title, String(error))
  }
}

function tokensOf(spec: DriverSpec): Record<string, string> {
  return Object.fromEntries(
    spec.mcpServers.map(({ name, token }) => [`${name.toUpperCase()}_MCP_TOKEN`, token]),
  )
}

async function openConnection(
  { agent, spec }: LaunchOptions,
  parts: { env: Readonly<Record<string, string>>; mask: SecretMask; services: Services },
  updates: unknown[],
  held: { early: Strange[] },
): Promise<AgentConnection> {
  try {
    return await AgentConnection.open(
      {
        executable: spec.executable,
        args: [...agent.args, ...spec.args],
        cwd: spec.cwd,
        marker: spec.marker,
        title: agent.title,
        ...parts,
      },
      {
        onUpdate: (params) => updates.push(params),
        onStrange: (strange) => {
          if (held.early.length < EARLY_KEPT) held.early.push(shortened(strange))
        },
      },
    )
  } catch (error) {
    throw await cannotStart(agent.title, spec, error, 'runtimes')
  }
}

/** A copy: a slice would hold the whole line. */
function shortened(strange: Strange): Strange {
  if (strange.kind !== 'garbage') return strange
  return { kind: 'garbage', text: Buffer.from(strange.text.slice(0, EARLY_LENGTH)).toString() }
}

function servicesOf(
  files: WorkspaceFiles,
  terminals: Terminals,
  session: () => AcpSession | null,
): Services {
  return {
    'session/request_permission': async ({ params, signal }) =>
      (await session()?.askedPermission(params, signal)) ?? { outcome: { outcome: 'cancelled' } },
    'fs/read_text_file': async ({ params: { path, line, limit } }) => ({
      content: await files.read(path, line, limit),
    }),
    'fs/write_text_file': async ({ params: { path, content } }) => {
      await files.write(path, content)
      return {}
    },
    'terminal/create': async ({ params }) => {
      // Nothing would end one that is made when no turn runs.
      if (session()?.takesTerminals !== true) {
        throw new RequestError(-32_600, 'Ballet runs commands only in a turn.')
      }
      const terminalId = await terminals.create({
        command: params.command,
        args: params.args ?? [],
        env: params.env ?? [],
        cwd: params.cwd ?? null,
        outputLimitBytes: params.outputByteLimit ?? null,
      })
      return { terminalId }
    },
    'terminal/output': ({ params }) => terminals.output(params.terminalId),
    'terminal/wait_for_exit': ({ params }) => terminals.waitForExit(params.terminalId),
    'terminal/kill': async ({ params }) => {
      await terminals.kill(params.terminalId)
      return {}
    },
    'terminal/release': async ({ params }) => {
      await terminals.release(params.terminalId)
      return {}
    },
  }
}
