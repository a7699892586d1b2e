/** The parts of a Messages API request that the server reads. */

export interface TextBlock {
  readonly type: 'text'
  readonly text: string
}

export interface OtherBlock {
  readonly type: string
  readonly [field: string]: unknown
}

export type ContentBlock = TextBlock | OtherBlock

export interface Message {
  readonly role: string
  readonly content: string | readonly ContentBlock[]
  /** It was handed over while a turn ran, as far as the wire shows that. */
  readonly midTurn?: true
}

export interface MessagesRequest {
  readonly model: string
  readonly stream: boolean
  readonly messages: readonly Message[]
  readonly system: unknown
  /** Names of the tools that are offered. */
  readonly tools: readonly string[]
  readonly maxTokens: number | undefined
}

/** Reads a request body; the text of the refusal when it is none. */
export function readMessagesRequest(body: unknown): MessagesRequest | string {
  if (!isRecord(body)) return 'The body is not a JSON object.'
  if (typeof body.model !== 'string') return 'model: Field required'
  if (!Array.isArray(body.messages) || body.messages.length === 0) {
    return 'messages: at least one message is required'
  }
  const messages: Message[] = []
  for (const [index, message] of body.messages.entries()) {
    if (!isRecord(message) || typeof message.role !== 'string') {
      return `messages.${index}: a role is required`
    }
    const content = message.content
    if (typeof content === 'string') {
      messages.push({ role: message.role, content })
    } else if (Array.isArray(content)) {
      messages.push({ role: message.role, content: content.filter(isBlock) })
    } else {
      return `messages.${index}.content: text or a list of blocks is required`
    }
  }
  const tools = (Array.isArray(body.tools) ? body.tools : []).flatMap((tool) =>
    isRecord(tool) && typeof tool.name === 'string' ? [tool.name] : [],
  )
  return {
    model: body.model,
    stream: body.stream === true,
    messages: tools.includes('bash') ? messages.map(withMidTurn) : messages,
    system: body.system,
    tools,
    maxTokens: typeof body.max_tokens === 'number' ? body.max_tokens : undefined,
  }
}

/** What a tool of opencode gives when it was ended. */
const CUT = /interrupted|aborted/iu

/**
 * opencode puts what was said in a turn behind the results of its tools, without a mark: as it puts what was said after
 * a turn that was cut in them.
 */
function withMidTurn(message: Message): Message {
  if (message.role !== 'user' || typeof message.content === 'string') return message
  const results = message.content.filter(({ type }) => type === 'tool_result')
  const isCut = results.some((result) => CUT.test(wholeText(result)))
  const hasMore = results.length > 0 && results.length < message.content.length
  return hasMore && !isCut ? { ...message, midTurn: true } : message
}

/** The texts of a message, in order; without tool results. */
export function textsOf(message: Message): string[] {
  if (typeof message.content === 'string') return [message.content]
  return message.content.flatMap((block) =>
    block.type === 'text' && typeof block.text === 'string' ? [block.text] : [],
  )
}

/** All text in a message, a system prompt or a list of them: tool inputs and results included. */
export function wholeText(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(wholeText).filter(Boolean).join('\n')
  if (!isRecord(value)) return ''
  const input = value.input === undefined ? '' : JSON.stringify(value.input)
  return [wholeText(value.text), wholeText(value.thinking), wholeText(value.content), input]
    .filter(Boolean)
    .join('\n')
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isBlock(value: unknown): value is ContentBlock {
  return isRecord(value) && typeof value.type === 'string'
}
