import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { McpServerAddress } from '../driver.ts'
import { MCP_CONNECT_LIMIT_MS } from './launch.ts'
import { type Notice, notice } from './notices.ts'
import type { RuntimeProcess } from './runtime-process.ts'

const POLL_MS = 5
const ANSWER_LIMIT_MS = 5_000

const Status = z.looseObject({
  mcpServers: z.array(
    z.looseObject({
      name: z.string(),
      status: z.string(),
      error: z.string().nullish().catch(null),
    }),
  ),
})

/** A server that the runtime does not reach, and what the runtime says of it. */
type Unreachable = { name: string; why: string }

/** Waits until the runtime has tried every server, and gives those that it did not reach. Never rejects. */
export async function unreachableServers(
  process: RuntimeProcess,
  servers: readonly McpServerAddress[],
): Promise<Unreachable[]> {
  if (servers.length === 0) return []
  try {
    return await watch(process, servers)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return servers.map(({ name }) => ({ name, why }))
  }
}

async function watch(
  process: RuntimeProcess,
  servers: readonly McpServerAddress[],
): Promise<Unreachable[]> {
  const deadline = performance.now() + MCP_CONNECT_LIMIT_MS
  for (;;) {
    const found = await readStatus(process)
    const open = servers.flatMap(({ name }) => {
      const entry = found.find((candidate) => candidate.name === name)
      return entry?.status === 'connected' ? [] : [{ name, entry }]
    })
    const isSettled = open.every(({ entry }) => entry !== undefined && entry.status !== 'pending')
    if (isSettled || performance.now() > deadline) {
      return open.map(({ name, entry }) => ({
        name,
        why: entry === undefined ? 'it does not know the server' : (entry.error ?? entry.status),
      }))
    }
    await sleep(POLL_MS)
  }
}

async function readStatus(process: RuntimeProcess) {
  const answer = await process.control({ subtype: 'mcp_status' }, ANSWER_LIMIT_MS)
  return Status.parse(answer).mcpServers
}

export function unreachableNotice({ name, why }: Unreachable): Notice {
  const text = `Claude Code does not reach the tools of \`${name}\` (${why}): the agent goes on, but cannot ask questions. Stop and start the session to try again.`
  return notice('error', 'mcp.unreachable', text)
}

/** For the mask: no token is ever shown. */
export function tokensOf(servers: readonly McpServerAddress[]): Record<string, string> {
  return Object.fromEntries(
    servers.map(({ name, token }) => [`${name.toUpperCase()}_MCP_TOKEN`, token]),
  )
}
