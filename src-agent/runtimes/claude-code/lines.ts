import { z } from 'zod'

/**
 * The lines that Claude Code prints with `--output-format stream-json`, as far as the driver reads them. Measured
 * with 2.1.197 and 2.1.332; every object may hold more.
 */

const parent = z.string().nullish()

const TokenUsage = z.looseObject({
  input_tokens: z.number().nullish(),
  output_tokens: z.number().nullish(),
  cache_read_input_tokens: z.number().nullish(),
  cache_creation_input_tokens: z.number().nullish(),
})
export type TokenUsage = z.infer<typeof TokenUsage>

/** One block of a message; what kind it is says `type`. */
export const ContentBlock = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  thinking: z.string().optional(),
  id: z.string().optional(),
  name: z.string().optional(),
  input: z.unknown().optional(),
  tool_use_id: z.string().optional(),
  is_error: z.boolean().nullish(),
  content: z.unknown().optional(),
})
export type ContentBlock = z.infer<typeof ContentBlock>

export const AssistantLine = z.looseObject({
  type: z.literal('assistant'),
  uuid: z.string().optional(),
  parent_tool_use_id: parent,
  message: z.looseObject({
    id: z.string(),
    model: z.string().optional(),
    content: z.array(ContentBlock),
    usage: TokenUsage.nullish(),
  }),
  error: z.string().nullish(),
})
export type AssistantLine = z.infer<typeof AssistantLine>

export const UserLine = z.looseObject({
  type: z.literal('user'),
  uuid: z.string().optional(),
  parent_tool_use_id: parent,
  isReplay: z.boolean().optional(),
  isSynthetic: z.boolean().optional(),
  message: z.looseObject({
    role: z.string().optional(),
    content: z.union([z.string(), z.array(ContentBlock)]),
  }),
  tool_use_result: z.unknown().optional(),
  tool_result_meta: z
    .array(z.looseObject({ id: z.string(), non_execution_kind: z.string().nullish() }))
    .optional()
    .catch(undefined),
})
export type UserLine = z.infer<typeof UserLine>

const StreamEvent = z.looseObject({
  type: z.string(),
  index: z.number().optional(),
  message: z.looseObject({ id: z.string(), model: z.string().optional() }).optional(),
  content_block: ContentBlock.optional(),
  delta: z
    .looseObject({
      type: z.string().optional(),
      text: z.string().optional(),
      thinking: z.string().optional(),
    })
    .optional(),
  usage: TokenUsage.nullish(),
})

const StreamLine = z.looseObject({
  type: z.literal('stream_event'),
  parent_tool_use_id: parent,
  event: StreamEvent,
})
export type StreamLine = z.infer<typeof StreamLine>

const ModelUsage = z.record(
  z.string(),
  z.looseObject({
    inputTokens: z.number().optional(),
    outputTokens: z.number().optional(),
    cacheReadInputTokens: z.number().optional(),
    cacheCreationInputTokens: z.number().optional(),
    costUSD: z.number().optional(),
    contextWindow: z.number().optional(),
  }),
)
export type ModelUsage = z.infer<typeof ModelUsage>

const ResultLine = z.looseObject({
  type: z.literal('result'),
  subtype: z.string(),
  is_error: z.boolean().optional(),
  api_error_status: z.number().nullish(),
  terminal_reason: z.string().nullish(),
  result: z.string().nullish(),
  errors: z.array(z.string()).nullish(),
  num_turns: z.number().optional(),
  total_cost_usd: z.number().optional(),
  modelUsage: ModelUsage.optional().catch(undefined),
  model_usage_since_last_result: ModelUsage.nullish().catch(undefined),
})
export type ResultLine = z.infer<typeof ResultLine>

const SystemLine = z.looseObject({ type: z.literal('system'), subtype: z.string() })
export type SystemLine = z.infer<typeof SystemLine>

const LifecycleLine = z.looseObject({
  type: z.literal('command_lifecycle'),
  command_uuid: z.string(),
  state: z.string(),
})
export type LifecycleLine = z.infer<typeof LifecycleLine>

const RateLimitLine = z.looseObject({
  type: z.literal('rate_limit_event'),
  rate_limit_info: z.looseObject({
    status: z.string(),
    /** Seconds since 1970. */
    resetsAt: z.number().nullish(),
    rateLimitType: z.string().nullish(),
    utilization: z.number().nullish(),
  }),
})
export type RateLimitLine = z.infer<typeof RateLimitLine>

const ControlResponseLine = z.looseObject({
  type: z.literal('control_response'),
  response: z.looseObject({
    subtype: z.string(),
    request_id: z.string(),
    response: z.unknown().optional(),
    error: z.string().optional(),
  }),
})
export type ControlResponseLine = z.infer<typeof ControlResponseLine>

const ControlRequestLine = z.looseObject({
  type: z.literal('control_request'),
  request_id: z.string(),
  request: z.looseObject({
    subtype: z.string(),
    tool_name: z.string().optional(),
    tool_use_id: z.string().optional(),
    input: z.unknown().optional(),
    permission_suggestions: z.array(z.looseObject({ type: z.string() })).nullish(),
  }),
})
export type ControlRequestLine = z.infer<typeof ControlRequestLine>

const ControlCancelLine = z.looseObject({
  type: z.literal('control_cancel_request'),
  request_id: z.string(),
})
export type ControlCancelLine = z.infer<typeof ControlCancelLine>

const Line = z.discriminatedUnion('type', [
  AssistantLine,
  UserLine,
  StreamLine,
  ResultLine,
  SystemLine,
  LifecycleLine,
  RateLimitLine,
  ControlResponseLine,
  ControlRequestLine,
  ControlCancelLine,
])
export type Line = z.infer<typeof Line>

/** Types that tell nothing which the timeline shows. */
const IGNORED = new Set([
  'tool_progress',
  'tool_use_summary',
  'keep_alive',
  'auth_status',
  'prompt_suggestion',
  'control_request_progress',
  'conversation_reset',
])

export type Decoded =
  | { kind: 'line'; line: Line }
  | { kind: 'ignored' }
  /** JSON, but not of a shape that the driver knows; `type` is what it calls itself. */
  | { kind: 'unknown'; type: string }
  | { kind: 'garbage' }

/** Reads one line of the runtime's output. */
export function decodeLine(text: string): Decoded {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { kind: 'garbage' }
  }
  const type = typeOf(value)
  if (type === null) return { kind: 'garbage' }
  if (IGNORED.has(type)) return { kind: 'ignored' }
  const line = Line.safeParse(value)
  return line.success ? { kind: 'line', line: line.data } : { kind: 'unknown', type }
}

function typeOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !('type' in value)) return null
  return typeof value.type === 'string' ? value.type : null
}
