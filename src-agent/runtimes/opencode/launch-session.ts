import type { Instant, RequestId } from '../../../src-shared/ids.ts'
import { BalletError } from '../../../src-shared/refusal.ts'
import { endTree } from '../../process-tree/index.ts'
import type { DriverSignal, DriverSpec, McpServerAddress } from '../driver.ts'
import { SecretMask } from '../mask-secrets.ts'
import { ServerRefusal, whyOf } from './client.ts'
import { ConversationApi } from './conversation-api.ts'
import { removeDeadLocks } from './dead-locks.ts'
import { EventStream } from './event-stream.ts'
import { guardIsUp } from './guard.ts'
import { sessionConfig } from './launch.ts'
import { modelOf } from './message.ts'
import { Normalizer } from './normalize.ts'
import { Grants, rulesOf } from './permission-rules.ts'
import { globalConfigFile } from './places.ts'
import { startServer } from './server.ts'
import { OpencodeSession } from './session.ts'

const GUARD_LIMIT_MS = 5_000

export type DriverPorts = {
  now: () => Instant
  newRequestId: () => RequestId
  freePort?: () => Promise<number>
  readyLimitMs?: number
}

export type LaunchOptions = {
  spec: DriverSpec
  ports: DriverPorts
  onSignal: (signal: DriverSignal) => void
  /** Gives the conversation to go on with, proven; null for a new one. What it throws ends the launch. */
  conversation: (api: ConversationApi) => Promise<string | null>
}

/** Starts a server and brings it to the point where it takes a message. Nothing is left running when it rejects. */
export async function launchSession(options: LaunchOptions): Promise<OpencodeSession> {
  const { spec, ports } = options
  const model = modelOf(spec.model)
  const mask = new SecretMask({ ...spec.env, ...tokensOf(spec.mcpServers) })
  await removeDeadLocks(spec.env)
  const server = await startServer({
    ...{ executable: spec.executable, cwd: spec.cwd, env: spec.env, args: spec.args },
    ...{ marker: spec.marker, mask, scratchDir: spec.scratchDir },
    config: await sessionConfig(spec),
    ...(ports.freePort === undefined ? {} : { freePort: ports.freePort }),
    ...(ports.readyLimitMs === undefined ? {} : { readyLimitMs: ports.readyLimitMs }),
  })
  const api = new ConversationApi(server.client)
  try {
    const version = await api.version()
    const servers = [
      ...new Set([...(await api.servers()), ...spec.mcpServers.map(({ name }) => name)]),
    ]
    const unreached = await addServers(api, spec.mcpServers)
    const rules = rulesOf(
      spec.permission,
      spec.mcpServers.map(({ name }) => name),
    )
    const known = await options.conversation(api)
    if (known !== null) await api.allow(known, rules)
    const conversation = known ?? (await api.create(rules))
    const normalizer = new Normalizer({ conversation, cwd: spec.cwd, mask, servers })
    let session: OpencodeSession | undefined
    const events = new EventStream(server.client, {
      onEvent: (decoded, text) => session?.take(decoded, text),
      onOversized: (head, bytes) => session?.takeOversized(head, bytes),
      onAgain: async () => session?.catchUp(),
      onLost: (why) => void session?.giveUp(`told nothing more (${why})`),
    })
    await events.open()
    const isGuarded = await guardIsUp(spec.scratchDir, GUARD_LIMIT_MS)
    session = new OpencodeSession({
      ...{ conversation, version, server, api, model, normalizer },
      marker: spec.marker,
      grants: new Grants(spec.grants),
      closeEvents: () => events.close(),
      onSignal: options.onSignal,
      now: ports.now,
      newRequestId: ports.newRequestId,
    })
    for (const each of unreached) session.tell('error', 'mcp.unreachable', unreachedText(each))
    const unread = spec.env.OPENCODE_CONFIG ?? ''
    if (unread !== '')
      session.tell('warning', 'runtime.config-unread', unreadText(unread, spec.env))
    if (!isGuarded) session.tell('warning', 'runtime.unguarded', UNGUARDED)
    // Only the share of the context that is used is shown by it.
    api.windows().then(
      (windows) => normalizer.spending.know(windows),
      () => undefined,
    )
    return session
  } catch (error) {
    const isAnswer = error instanceof BalletError || error instanceof ServerRefusal
    const isGone = server.process.gone || (!isAnswer && (await server.process.endsSoon()))
    await endTree([spec.marker], { graceMs: 0, limitMs: 10_000 })
    if (isGone) throw await server.endedInStart()
    if (error instanceof BalletError) throw error
    const why = mask.mask(whyOf(error))
    throw new BalletError(
      {
        code: 'runtime.start-failed',
        message: `opencode did not get ready: ${why}`,
        hint: 'Run `opencode` in a terminal to see whether it works there, then try again.',
      },
      { cause: error },
    )
  }
}

type Unreached = { name: string; why: string }

async function addServers(
  api: ConversationApi,
  servers: readonly McpServerAddress[],
): Promise<Unreached[]> {
  const unreached: Unreached[] = []
  for (const server of servers) {
    // A session that cannot ask is worth a second try: it gives the first up for any reason, and does not say which.
    const once = await api.addServer(server).catch(whyOf)
    const why = once === null ? null : await api.addServer(server).catch(whyOf)
    if (why !== null) unreached.push({ name: server.name, why })
  }
  return unreached
}

function unreachedText({ name, why }: Unreached): string {
  return `opencode does not reach the tools of \`${name}\` (${why}): the agent goes on, but cannot ask questions. Stop and start the session to try again.`
}

function unreadText(path: string, env: DriverSpec['env']): string {
  return `OPENCODE_CONFIG names ${path}, which is not read: in Ballet's sessions that variable leads to Ballet's own settings. What is in ${globalConfigFile(env)} is read: put providers and the like there.`
}

const UNGUARDED =
  "The plugin that hides the password of opencode's server was not loaded, or could not do all of it: the tools of this session can see it, and could allow their own requests."

/** For the mask: no token is ever shown. */
function tokensOf(servers: readonly McpServerAddress[]): Record<string, string> {
  return Object.fromEntries(
    servers.map(({ name, token }) => [`${name.toUpperCase()}_MCP_TOKEN`, token]),
  )
}
