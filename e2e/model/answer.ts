import { createHash } from 'node:crypto'
import type { MessagesRequest } from './messages.ts'
import type { Step } from './script.ts'

/** A finished answer of the model, before it is cut into stream events. */
export interface Answer {
  readonly id: string
  readonly model: string
  readonly blocks: readonly AnswerBlock[]
  readonly stopReason: string
  readonly usage: Usage
}

export type AnswerBlock =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_use'
      readonly id: string
      readonly name: string
      readonly input: Record<string, unknown>
    }

export interface Usage {
  readonly input_tokens: number
  readonly cache_creation_input_tokens: number
  readonly cache_read_input_tokens: number
  readonly output_tokens: number
}

/**
 * Builds the answer of a step. `makeId` gives the unique part of each id; everything else follows
 * from the request and the step alone.
 */
export function buildAnswer(request: MessagesRequest, step: Step, makeId: () => string): Answer {
  const calls = [
    ...(step.tool === undefined ? [] : [{ name: step.tool, input: step.input }]),
    ...(step.tools ?? []),
  ]
  const blocks: AnswerBlock[] = []
  if (step.thinking !== undefined) {
    const signature = createHash('sha512').update(step.thinking).digest('base64')
    blocks.push({ type: 'thinking', thinking: step.thinking, signature })
  }
  if (step.text !== undefined) blocks.push({ type: 'text', text: step.text })
  for (const call of calls) {
    blocks.push({
      type: 'tool_use',
      id: `toolu_${makeId()}`,
      name: call.name,
      input: call.input ?? {},
    })
  }
  return {
    id: `msg_${makeId()}`,
    model: request.model,
    blocks,
    stopReason: step.stop ?? (calls.length > 0 ? 'tool_use' : 'end_turn'),
    usage: { ...countUsage(request, blocks), ...definedOf(step.usage) },
  }
}

/** Tokens of a text, at about four characters each. */
export function countTokens(value: unknown): number {
  return Math.ceil((JSON.stringify(value) ?? '').length / 4)
}

/** As with a warm cache: what earlier requests sent is read, what is new since then is written. */
function countUsage(request: MessagesRequest, blocks: readonly AnswerBlock[]): Usage {
  const newest = request.messages.at(-1)
  return {
    input_tokens: 3,
    cache_creation_input_tokens: countTokens(newest),
    cache_read_input_tokens: countTokens(request.messages.slice(0, -1)),
    output_tokens: Math.max(1, countTokens(blocks)),
  }
}

function definedOf(usage: Step['usage']): Partial<Usage> {
  return Object.fromEntries(Object.entries(usage ?? {}).filter(([, value]) => value !== undefined))
}

/** The answer as the API gives it without streaming. */
export function wholeMessage(answer: Answer): Record<string, unknown> {
  return {
    id: answer.id,
    type: 'message',
    role: 'assistant',
    model: answer.model,
    content: answer.blocks,
    stop_reason: answer.stopReason,
    stop_sequence: null,
    usage: answer.usage,
  }
}

/** One server-sent event; `pause` marks the points between two pieces of streamed content. */
export interface StreamEvent {
  readonly data: { readonly type: string; readonly [field: string]: unknown }
  readonly pause?: true
}

/** The events of an answer in the order of the API. */
export function* streamEvents(answer: Answer, chunks: number | undefined): Generator<StreamEvent> {
  yield {
    data: {
      type: 'message_start',
      message: {
        ...wholeMessage(answer),
        content: [],
        stop_reason: null,
        usage: { ...answer.usage, output_tokens: 1 },
      },
    },
  }
  yield { data: { type: 'ping' } }
  for (const [index, block] of answer.blocks.entries()) {
    yield { data: { type: 'content_block_start', index, content_block: emptyBlock(block) } }
    for (const delta of deltas(block, chunks)) {
      yield { data: { type: 'content_block_delta', index, delta }, pause: true }
    }
    if (block.type === 'thinking') {
      const delta = { type: 'signature_delta', signature: block.signature }
      yield { data: { type: 'content_block_delta', index, delta } }
    }
    yield { data: { type: 'content_block_stop', index } }
  }
  yield {
    data: {
      type: 'message_delta',
      delta: { stop_reason: answer.stopReason, stop_sequence: null },
      usage: answer.usage,
    },
  }
  yield { data: { type: 'message_stop' } }
}

/** An event in the framing of the wire. */
export function encodeEvent(event: StreamEvent): string {
  return `event: ${event.data.type}\ndata: ${JSON.stringify(event.data)}\n\n`
}

function emptyBlock(block: AnswerBlock): Record<string, unknown> {
  switch (block.type) {
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' }
    case 'text':
      return { type: 'text', text: '' }
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: {} }
  }
}

function deltas(block: AnswerBlock, chunks: number | undefined): Record<string, unknown>[] {
  switch (block.type) {
    case 'thinking':
      return pieces(block.thinking, chunks).map((thinking) => ({
        type: 'thinking_delta',
        thinking,
      }))
    case 'text':
      return pieces(block.text, chunks).map((text) => ({ type: 'text_delta', text }))
    case 'tool_use':
      return pieces(JSON.stringify(block.input), 3).map((partial_json) => ({
        type: 'input_json_delta',
        partial_json,
      }))
  }
}

/** Cuts a text into so many pieces of about one length, never inside a character. */
export function pieces(text: string, wanted: number | undefined): string[] {
  const characters = [...text]
  const count = Math.min(wanted ?? Math.ceil(characters.length / 200), characters.length)
  return Array.from({ length: count }, (_, index) =>
    characters
      .slice(
        Math.round((index * characters.length) / count),
        Math.round(((index + 1) * characters.length) / count),
      )
      .join(''),
  )
}
