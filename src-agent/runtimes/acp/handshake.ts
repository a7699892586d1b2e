import { z } from 'zod'
import { BalletError } from '../../../src-shared/refusal.ts'
import type { McpServerAddress } from '../driver.ts'
import { endedInStart } from '../failures.ts'
import { type AgentConnection, agentErrorOf } from './connection.ts'
import { RUN_IT, startFailed } from './failures.ts'
import type { Limits } from './limits.ts'
import { AUTH_REQUIRED, detailOf } from './turn-end.ts'

const PROTOCOL_VERSION = 1

const flag = z.boolean().optional().catch(undefined)

const Initialized = z.looseObject({
  protocolVersion: z.number(),
  agentCapabilities: z
    .looseObject({
      loadSession: flag,
      mcpCapabilities: z.looseObject({ http: flag }).nullish().catch(null),
      promptCapabilities: z.looseObject({ image: flag }).nullish().catch(null),
    })
    .nullish()
    .catch(null),
  authMethods: z
    .array(z.looseObject({ name: z.string(), description: z.string().nullish().catch(null) }))
    .nullish()
    .catch(null),
  agentInfo: z.looseObject({ version: z.string() }).nullish().catch(null),
})

/** What an agent says of itself before its first conversation. */
export type Handshake = {
  version: string | null
  loadsSessions: boolean
  takesHttpServers: boolean
  takesImages: boolean
  loginHint: string
}

/** Rejects with `BalletError`, code `runtime.start-failed`. */
export async function initialize(
  connection: AgentConnection,
  title: string,
  loginHint: string,
  limits: Limits,
): Promise<Handshake> {
  const params = {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
    clientInfo: { name: 'ballet', title: 'Ballet', version: '1' },
  }
  const answer = await ask(connection, 'initialize', params, {
    title,
    limitMs: limits.initializeMs,
  })
  const { success, data } = Initialized.safeParse(answer)
  if (!success) throw startFailed(title, 'it does not speak the Agent Client Protocol.')
  if (data.protocolVersion !== PROTOCOL_VERSION) {
    throw startFailed(
      title,
      `it speaks version ${data.protocolVersion} of the Agent Client Protocol, and Ballet version ${PROTOCOL_VERSION}.`,
    )
  }
  const ways = (data.authMethods ?? []).map(({ name, description }) => description ?? name)
  return {
    version: data.agentInfo?.version ?? null,
    loadsSessions: data.agentCapabilities?.loadSession === true,
    takesHttpServers: data.agentCapabilities?.mcpCapabilities?.http === true,
    takesImages: data.agentCapabilities?.promptCapabilities?.image === true,
    loginHint:
      ways.length === 0 ? loginHint : `${loginHint} The agent says: ${ways.slice(0, 5).join('; ')}`,
  }
}

/**
 * Asks the agent for something of its start. Rejects with `runtime.start-failed`, `runtime.not-logged-in`, or with what
 * `refused` makes of an error that it answered with.
 */
export async function ask(
  connection: AgentConnection,
  method: string,
  params: unknown,
  options: {
    title: string
    limitMs: number
    loginHint?: string
    refused?: (why: string) => BalletError
  },
): Promise<unknown> {
  const { title, limitMs, loginHint } = options
  try {
    return await connection.request(method, params, limitMs)
  } catch (error) {
    const answered = agentErrorOf(error)
    if (answered?.code === AUTH_REQUIRED && loginHint !== undefined) {
      throw new BalletError({
        code: 'runtime.not-logged-in',
        message: `${title} is not logged in: ${detailOf(answered, title)}`,
        hint: loginHint,
      })
    }
    if (answered !== null) {
      const why = detailOf(answered, title)
      throw options.refused?.(why) ?? startFailed(title, why)
    }
    if ((await connection.endedSoon()) === null) {
      throw startFailed(title, error instanceof Error ? error.message : String(error))
    }
    const { exited, stderr } = connection.process
    throw endedInStart(title, await exited, stderr, () => RUN_IT)
  }
}

/** The servers of MCP as the protocol gives them, and what the agent cannot take. */
export function serversFor(
  handshake: Handshake,
  servers: readonly McpServerAddress[],
  title: string,
): { servers: readonly unknown[]; notices: { code: string; text: string }[] } {
  if (handshake.takesHttpServers) {
    return {
      servers: servers.map(({ name, url, token }) => ({
        ...{ type: 'http', name, url },
        headers: [{ name: 'Authorization', value: `Bearer ${token}` }],
      })),
      notices: [],
    }
  }
  const notices = servers.map(({ name }) => ({
    code: 'mcp.unreachable',
    text: `${title} takes no servers of MCP over HTTP, so it has no tools of \`${name}\`: the agent goes on, but cannot ask questions.`,
  }))
  return { servers: [], notices }
}
