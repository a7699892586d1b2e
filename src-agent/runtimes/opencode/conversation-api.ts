import { z } from 'zod'
import type { Delivery } from '../../../src-shared/agent-wire.ts'
import type { McpServerAddress } from '../driver.ts'
import { isNotFound, type OpencodeClient } from './client.ts'
import { type Model, promptBody } from './message.ts'
import type { Reply } from './permission-requests.ts'
import type { Rule } from './permission-rules.ts'
import { PermissionPrompt, SessionInfo, type Status, StoredMessage } from './wire.ts'

/** How long a server of MCP may take to answer, before the runtime goes on without it. */
const MCP_LIMIT_MS = 15_000
/**
 * The first call for a folder makes the server read its configuration and load what that names. It may wait 60 s for a
 * lock that one on another machine left in a shared home.
 */
const FIRST_LIMIT_MS = 90_000
const ABORT_LIMIT_MS = 2_000

const McpStatus = z.record(
  z.string(),
  z.looseObject({ status: z.string(), error: z.string().optional() }),
)

const Providers = z.looseObject({
  providers: z.array(
    z.looseObject({
      id: z.string(),
      models: z.record(
        z.string(),
        z.looseObject({
          limit: z.looseObject({ context: z.number() }).optional().catch(undefined),
        }),
      ),
    }),
  ),
})

/** The calls of opencode's server that the driver makes. They reject as `OpencodeClient.ask` does. */
export class ConversationApi {
  readonly client: OpencodeClient

  constructor(client: OpencodeClient) {
    this.client = client
  }

  async version(): Promise<string> {
    const Health = z.looseObject({ version: z.string() })
    return (await this.client.ask({ method: 'GET', path: '/global/health' }, Health)).version
  }

  /** The session's id. */
  async create(permission: readonly Rule[]): Promise<string> {
    // Without a title of ours another call of the model would make one.
    const body = { title: 'Ballet', permission }
    return (await this.client.ask({ method: 'POST', path: '/session', body }, SessionInfo)).id
  }

  async allow(id: string, permission: readonly Rule[]): Promise<void> {
    await this.client.tell({ method: 'PATCH', path: `/session/${id}`, body: { permission } })
  }

  /** Null when the server has no such session. */
  async session(id: string): Promise<SessionInfo | null> {
    try {
      return await this.client.ask({ method: 'GET', path: `/session/${id}` }, SessionInfo)
    } catch (error) {
      if (isNotFound(error)) return null
      throw error
    }
  }

  /** Ids of the sessions of its subagents. */
  async children(id: string): Promise<string[]> {
    const call = { method: 'GET', path: `/session/${id}/children` } as const
    return (await this.client.ask(call, z.array(SessionInfo))).map((child) => child.id)
  }

  async messages(id: string): Promise<StoredMessage[]> {
    const call = { method: 'GET', path: `/session/${id}/message`, limitMs: 60_000 } as const
    return this.client.ask(call, z.array(StoredMessage))
  }

  async isBusy(id: string): Promise<boolean> {
    const States = z.record(z.string(), z.looseObject({ type: z.string() }))
    const states = await this.client.ask({ method: 'GET', path: '/session/status' }, States)
    const state: Pick<Status, 'type'> | undefined = states[id]
    return state !== undefined && state.type !== 'idle'
  }

  async prompt(id: string, delivery: Delivery, model: Model | null): Promise<void> {
    const body = promptBody(delivery, model)
    await this.client.tell({ method: 'POST', path: `/session/${id}/prompt_async`, body })
  }

  async abort(id: string): Promise<void> {
    const path = `/session/${id}/abort`
    await this.client.tell({ method: 'POST', path, limitMs: ABORT_LIMIT_MS })
  }

  async removeMessage(id: string, message: string): Promise<void> {
    await this.client.tell({ method: 'DELETE', path: `/session/${id}/message/${message}` })
  }

  async prompts(): Promise<PermissionPrompt[]> {
    return this.client.ask({ method: 'GET', path: '/permission' }, z.array(PermissionPrompt))
  }

  async reply(prompt: string, reply: Reply): Promise<void> {
    await this.client.tell({ method: 'POST', path: `/permission/${prompt}/reply`, body: reply })
  }

  /** The names of the servers of MCP in the user's own configuration; starts them. */
  async servers(): Promise<string[]> {
    const call = { method: 'GET', path: '/mcp', limitMs: FIRST_LIMIT_MS } as const
    const status = await this.client.ask(call, McpStatus)
    return Object.keys(status)
  }

  /** Adds a server of MCP to what runs, so that its token is in no file. Gives why it is not reached, or null. */
  async addServer({ name, url, token }: McpServerAddress): Promise<string | null> {
    const headers = { Authorization: `Bearer ${token}` }
    const config = { type: 'remote', url, headers, oauth: false, timeout: MCP_LIMIT_MS }
    const body = { name, config }
    const call = { method: 'POST', path: '/mcp', body, limitMs: MCP_LIMIT_MS * 2 } as const
    const entry = (await this.client.ask(call, McpStatus))[name]
    if (entry?.status === 'connected') return null
    return entry?.error ?? entry?.status ?? 'it does not know the server'
  }

  /** How many tokens each model holds, by `provider/model`. */
  async windows(): Promise<Map<string, number>> {
    const call = { method: 'GET', path: '/config/providers' } as const
    const { providers } = await this.client.ask(call, Providers)
    return new Map(
      providers.flatMap(({ id, models }) =>
        Object.entries(models).flatMap(([model, { limit }]) =>
          limit === undefined ? [] : [[`${id}/${model}`, limit.context] as const],
        ),
      ),
    )
  }
}
