import { v7 as uuid } from 'uuid'
import { MCP_SERVER_NAME } from '../../src-shared/mcp-tools.ts'
import { type McpServer, openMcpServer } from '../mcp/http-server.ts'
import { PendingCalls } from '../mcp/pending-calls.ts'
import type { ToolAnswer } from '../mcp/protocol.ts'
import { readCall } from '../mcp/tools.ts'
import type { McpServerAddress } from '../runtimes/driver.ts'
import { refusalOf } from '../workspace/failure.ts'
import { type LoopContext, timed } from './context.ts'
import type { Conversation } from './conversation.ts'

/** Ballet's tools for the runtime of one session, from its first launch to the end of its lease. */
export class BalletTools {
  readonly #context: LoopContext
  readonly #conversation: Pick<Conversation, 'turns' | 'call'>
  readonly #pending: PendingCalls
  #opening: Promise<McpServer | null> | null = null
  #isClosed = false

  constructor(context: LoopContext, conversation: Pick<Conversation, 'turns' | 'call'>) {
    this.#context = context
    this.#conversation = conversation
    this.#pending = new PendingCalls(context.clock)
  }

  /** The server that the runtime shall use; none, told by a notice, when it cannot be opened. Never rejects. */
  async open(): Promise<readonly McpServerAddress[]> {
    this.#opening ??= this.#isClosed ? Promise.resolve(null) : this.#listen()
    const server = await this.#opening
    if (server === null) return []
    const { name, url, token } = server
    return [{ name, url, token }]
  }

  /** Core's word on a call. */
  answer(call: string, answer: ToolAnswer): void {
    this.#pending.answer(call, answer)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#pending.close()
    await (await this.#opening)?.close()
  }

  async #listen(): Promise<McpServer | null> {
    try {
      return await openMcpServer((name, args) => this.#called(name, args))
    } catch (error) {
      const { message } = refusalOf(error, `opening the server of the tools \`${MCP_SERVER_NAME}\``)
      const text = `${message} The agent goes on without Ballet's tools: it cannot ask questions.`
      const event = { kind: 'notice', level: 'error', code: 'mcp.unreachable', text } as const
      timed(this.#context, { type: 'event', event })
      return null
    }
  }

  async #called(name: string, args: unknown): Promise<ToolAnswer> {
    const read = readCall(name, args, uuid)
    if ('refusal' in read) return { isError: true, text: read.refusal }
    const call = uuid()
    const answered = this.#pending.wait(call, read.made.tool)
    this.#conversation.call(() => {
      const { isRunning, turn } = this.#conversation.turns
      const of = isRunning ? { turn } : {}
      timed(this.#context, { type: 'mcp.call', call, ...of, made: read.made })
    })
    return answered
  }
}
