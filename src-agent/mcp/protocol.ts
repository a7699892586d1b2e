import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CallToolRequestSchema,
  ErrorCode,
  isJSONRPCRequest,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { MCP_SERVER_NAME } from '../../src-shared/mcp-tools.ts'
import { listTools } from './tools.ts'

// Only imported when a session opens its server: the library is a fifth of an agent's memory.

export type ToolAnswer = { isError: boolean; text: string }
export type CallTool = (name: string, args: unknown) => Promise<ToolAnswer>

const VERSION = '1.0.0'

/** Of messages in one request; a runtime sends a few at most. */
const BATCH_LIMIT = 50

/**
 * Answers the messages of one HTTP request: what goes back, or null when there was nothing to answer. Each stands for
 * itself, so that a runtime that was started again goes on with the same server.
 */
export async function answerMessages(
  body: unknown,
  callTool: CallTool,
): Promise<JSONRPCMessage | JSONRPCMessage[] | null> {
  if (!Array.isArray(body)) return answerOne(body, callTool)
  if (body.length > BATCH_LIMIT) {
    const text = `A request may hold ${BATCH_LIMIT} messages at most. Send fewer at once.`
    return protocolError(ErrorCode.InvalidRequest, text)
  }
  const answers = await Promise.all(body.map((message) => answerOne(message, callTool)))
  const some = answers.filter((answer) => answer !== null)
  return some.length === 0 ? null : some
}

async function answerOne(body: unknown, callTool: CallTool): Promise<JSONRPCMessage | null> {
  const message = JSONRPCMessageSchema.safeParse(body)
  if (!message.success) return protocolError(ErrorCode.InvalidRequest, 'This is no message of MCP.')
  if (!isJSONRPCRequest(message.data)) return null
  const server = makeServer(callTool)
  const exchange = new OneRequest()
  try {
    await server.connect(exchange)
    return await exchange.ask(message.data)
  } finally {
    await server.close()
  }
}

/** An answer to something that has no id of its own. */
export function protocolError(code: number, message: string): JSONRPCMessage {
  return { jsonrpc: '2.0', error: { code, message } }
}

function makeServer(callTool: CallTool): Server {
  const server = new Server(
    { name: MCP_SERVER_NAME, version: VERSION },
    { capabilities: { tools: {} } },
  )
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listTools() }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const { isError, text } = await callTool(params.name, params.arguments)
    return { content: [{ type: 'text', text }], ...(isError ? { isError } : {}) }
  })
  return server
}

/** Carries one request to the library's server and its answer back. */
class OneRequest implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>
  onclose?: () => void
  onerror?: (error: Error) => void
  #answered: (answer: JSONRPCMessage) => void = () => undefined

  async start(): Promise<void> {}

  ask(message: JSONRPCMessage): Promise<JSONRPCMessage> {
    return new Promise((resolve) => {
      this.#answered = resolve
      this.onmessage?.(message)
    })
  }

  async send(message: JSONRPCMessage): Promise<void> {
    // The server has nothing to ask or to tell by itself.
    if ('id' in message && !('method' in message)) this.#answered(message)
  }

  async close(): Promise<void> {
    this.onclose?.()
  }
}
