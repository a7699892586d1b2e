import type { Answer, AnswerBlock, StreamEvent } from './answer.ts'
import { pieces } from './answer.ts'
import { type ContentBlock, isRecord, type Message, type MessagesRequest } from './messages.ts'

/**
 * The Responses API in the terms of the Messages API: what a request says becomes messages, and an answer becomes the
 * items and the events of this API. A tool of a namespace is called `namespace__tool` on this side.
 */

type Item = Record<string, unknown>

/** Reads a request body; the text of the refusal when it is none. */
export function readResponsesRequest(body: unknown): MessagesRequest | string {
  if (!isRecord(body)) return 'The body is not a JSON object.'
  if (typeof body.model !== 'string') return "Missing required parameter: 'model'."
  const input =
    typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input
  if (!Array.isArray(input)) return "Missing required parameter: 'input'."
  const items = input.filter(isRecord)
  const instructions = [body.instructions, ...items.filter(isInstruction).map(textOf)]
  return {
    model: body.model,
    stream: body.stream === true,
    messages: messagesOf(items.filter((item) => !isInstruction(item))),
    system: instructions
      .filter((text) => typeof text === 'string')
      .map((text) => ({ type: 'text', text })),
    tools: (Array.isArray(body.tools) ? body.tools : []).filter(isRecord).flatMap(toolNames),
    maxTokens: typeof body.max_output_tokens === 'number' ? body.max_output_tokens : undefined,
  }
}

function isInstruction(item: Item): boolean {
  return item.role === 'developer' || item.role === 'system'
}

function toolNames(tool: Item): string[] {
  const name = typeof tool.name === 'string' ? tool.name : tool.type
  if (typeof name !== 'string') return []
  if (tool.type !== 'namespace') return [name]
  const inner = Array.isArray(tool.tools) ? tool.tools.filter(isRecord) : []
  return inner.flatMap(toolNames).map((each) => `${name}__${each}`)
}

type Joined = { role: string; content: ContentBlock[]; midTurn?: true }

/** The items of an answer are one message, and so are the results of its calls, as in the Messages API. */
function messagesOf(items: readonly Item[]): Message[] {
  const messages: Joined[] = []
  for (const item of items) {
    const { role, blocks } = blocksOf(item)
    const last = messages.at(-1)
    const isSaid = role === 'user' && blocks[0]?.type !== 'tool_result'
    if (last?.role === role && !isSaid && (role === 'assistant' || isResult(last))) {
      last.content.push(...blocks)
      continue
    }
    const midTurn = isSaid && last !== undefined && isUnderWay(last)
    messages.push({ role, content: [...blocks], ...(midTurn ? { midTurn } : {}) })
  }
  return messages
}

function isResult({ content }: Joined): boolean {
  return content[0]?.type === 'tool_result'
}

/** A turn ends with a text of the model, or with a mark: what comes right after a tool's result came while it ran. */
function isUnderWay(last: Joined): boolean {
  if (isResult(last)) return true
  return last.midTurn === true && !String(last.content[0]?.text).startsWith('<turn_aborted>')
}

function blocksOf(item: Item): { role: string; blocks: ContentBlock[] } {
  const id = String(item.call_id ?? item.id ?? '')
  switch (item.type) {
    case 'function_call':
    case 'custom_tool_call': {
      const prefix = typeof item.namespace === 'string' ? `${item.namespace}__` : ''
      const input = item.type === 'function_call' ? parsed(item.arguments) : { input: item.input }
      const name = `${prefix}${String(item.name)}`
      return { role: 'assistant', blocks: [{ type: 'tool_use', id, name, input }] }
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const content = partsOf({ content: item.output })
      return { role: 'user', blocks: [{ type: 'tool_result', tool_use_id: id, content }] }
    }
    case 'reasoning':
      return { role: 'assistant', blocks: [{ type: 'thinking', thinking: textOf(item) }] }
    default:
      return { role: item.role === 'assistant' ? 'assistant' : 'user', blocks: partsOf(item) }
  }
}

/** The texts of a content as they are; other parts, such as images, with all they hold. */
function partsOf({ content }: Item): ContentBlock[] {
  if (!Array.isArray(content)) return [{ type: 'text', text: String(content ?? '') }]
  return content
    .filter(isRecord)
    .map((part) =>
      typeof part.text === 'string'
        ? { type: 'text', text: part.text }
        : { ...part, type: String(part.type) },
    )
}

function textOf(item: Item): string {
  const content = item.content ?? item.summary
  if (typeof content === 'string') return content
  const parts = Array.isArray(content) ? content.filter(isRecord) : []
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('\n')
}

function parsed(json: unknown): unknown {
  try {
    return JSON.parse(String(json))
  } catch {
    return { input: json }
  }
}

/** The answer as the API gives it without streaming. */
export function wholeResponse(answer: Answer): Record<string, unknown> {
  const { usage } = answer
  const input =
    usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
  const isCut = answer.stopReason === 'max_tokens'
  return {
    id: `resp_${answer.id}`,
    object: 'response',
    model: answer.model,
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output: answer.blocks.map((block, index) => itemOf(answer, block, index)),
    usage: {
      input_tokens: input,
      input_tokens_details: {
        cached_tokens: usage.cache_read_input_tokens,
        cache_write_tokens: usage.cache_creation_input_tokens,
      },
      output_tokens: usage.output_tokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input + usage.output_tokens,
    },
  }
}

function itemOf(answer: Answer, block: AnswerBlock, index: number): Item {
  const id = `${answer.id}_${index}`
  switch (block.type) {
    case 'text':
      return {
        id,
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: block.text, annotations: [] }],
      }
    case 'thinking':
      return {
        id: `rs_${id}`,
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: block.thinking }],
        encrypted_content: block.signature,
      }
    case 'tool_use':
      return callItem(`fc_${id}`, block)
  }
}

function callItem(id: string, block: Extract<AnswerBlock, { type: 'tool_use' }>): Item {
  const call = { id, call_id: block.id, status: 'completed' }
  if (block.name === 'apply_patch') {
    return { ...call, type: 'custom_tool_call', name: block.name, input: block.input.input }
  }
  // mcp__ballet__ask_question: the last two underscores part the tool from its namespace.
  const [, namespace, tool] = /^(mcp__.+?)__(.+)$/u.exec(block.name) ?? []
  return {
    ...call,
    type: 'function_call',
    ...(namespace === undefined ? { name: block.name } : { name: tool, namespace }),
    arguments: JSON.stringify(block.input),
  }
}

/** The events of an answer in the order of the API. */
export function* responseEvents(
  answer: Answer,
  chunks: number | undefined,
): Generator<StreamEvent> {
  const whole = wholeResponse(answer)
  const begun = { ...whole, status: 'in_progress', output: [], usage: null }
  yield { data: { type: 'response.created', response: begun } }
  for (const [output_index, block] of answer.blocks.entries()) {
    const item = itemOf(answer, block, output_index)
    yield { data: { type: 'response.output_item.added', output_index, item: emptied(item) } }
    const place = { item_id: item.id, output_index }
    if (block.type === 'text') {
      for (const delta of pieces(block.text, chunks)) {
        const data = { type: 'response.output_text.delta', ...place, content_index: 0, delta }
        yield { data, pause: true }
      }
    }
    if (block.type === 'thinking') {
      const part = { type: 'summary_text', text: '' }
      yield {
        data: { type: 'response.reasoning_summary_part.added', ...place, summary_index: 0, part },
      }
      for (const delta of pieces(block.thinking, chunks)) {
        const type = 'response.reasoning_summary_text.delta'
        yield { data: { type, ...place, summary_index: 0, delta }, pause: true }
      }
    }
    if (block.type === 'tool_use') {
      const json = JSON.stringify(block.input)
      for (const delta of pieces(json, 3)) {
        const type = 'response.function_call_arguments.delta'
        yield { data: { type, ...place, delta }, pause: true }
      }
    }
    yield { data: { type: 'response.output_item.done', output_index, item } }
  }
  const isCut = whole.status === 'incomplete'
  yield { data: { type: isCut ? 'response.incomplete' : 'response.completed', response: whole } }
}

function emptied(item: Item): Item {
  switch (item.type) {
    case 'message':
      return { ...item, status: 'in_progress', content: [] }
    case 'reasoning':
      return { ...item, summary: [] }
    case 'custom_tool_call':
      return { ...item, status: 'in_progress', input: '' }
    default:
      return { ...item, status: 'in_progress', arguments: '' }
  }
}
