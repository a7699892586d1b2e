import { z } from 'zod'

/**
 * What Ballet reads of the messages of `codex app-server` (0.171.0): JSON-RPC, one message a line, without the
 * `jsonrpc` field. Everything that is not needed is left out, so that a newer version may say more.
 */

export const Incoming = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.unknown().optional(),
  result: z.unknown().optional(),
  error: z.looseObject({ code: z.number().optional(), message: z.string() }).optional(),
})
export type Incoming = z.infer<typeof Incoming>

/** A step of a turn: a message, a thought, the call of a tool. */
export const Item = z.looseObject({ type: z.string(), id: z.string() })
export type Item = z.infer<typeof Item>

export const UserMessage = z.looseObject({
  type: z.literal('userMessage'),
  id: z.string(),
  /** What the client called the message: the delivery's id for one of Ballet. */
  clientId: z.string().nullish().catch(null),
})

export const AgentMessage = z.looseObject({ type: z.literal('agentMessage'), text: z.string() })

export const Reasoning = z.looseObject({
  type: z.literal('reasoning'),
  summary: z.array(z.string()).default([]),
  content: z.array(z.string()).default([]),
})

export const CommandExecution = z.looseObject({
  type: z.literal('commandExecution'),
  command: z.string(),
  cwd: z.string().nullish().catch(null),
  status: z.string(),
  aggregatedOutput: z.string().nullish().catch(null),
  exitCode: z.number().nullish().catch(null),
  durationMs: z.number().nullish().catch(null),
  commandActions: z
    .array(z.looseObject({ type: z.string() }))
    .nullish()
    .catch(null),
})

export const FileChange = z.looseObject({
  type: z.literal('fileChange'),
  status: z.string(),
  changes: z.array(
    z.looseObject({
      path: z.string(),
      /** Where an update moves the file to; what is neither a path nor nothing makes the item an unknown one. */
      kind: z.looseObject({
        type: z.string(),
        move_path: z.string().nullish(),
        movePath: z.string().nullish(),
      }),
      diff: z.string(),
    }),
  ),
})
export type FileChange = z.infer<typeof FileChange>

export const McpToolCall = z.looseObject({
  type: z.literal('mcpToolCall'),
  server: z.string(),
  tool: z.string(),
  status: z.string(),
  arguments: z.unknown(),
  result: z
    .looseObject({ content: z.array(z.unknown()) })
    .nullish()
    .catch(null),
  error: z.looseObject({ message: z.string() }).nullish().catch(null),
  durationMs: z.number().nullish().catch(null),
})

export const TurnError = z.looseObject({
  message: z.string(),
  /** A word, or an object whose one key is the word. */
  codexErrorInfo: z.unknown(),
  additionalDetails: z.string().nullish().catch(null),
})
export type TurnError = z.infer<typeof TurnError>

export const Turn = z.looseObject({
  id: z.string(),
  status: z.string(),
  error: TurnError.nullish().catch(null),
  items: z.array(z.unknown()).default([]),
  /** Seconds since 1970. */
  startedAt: z.number().nullish().catch(null),
  completedAt: z.number().nullish().catch(null),
  durationMs: z.number().nullish().catch(null),
})
export type Turn = z.infer<typeof Turn>

export const TurnNews = z.looseObject({ turn: Turn })
export const ItemNews = z.looseObject({ item: Item, turnId: z.string().optional() })
export const DeltaNews = z.looseObject({ itemId: z.string(), delta: z.string() })
export const ErrorNews = z.looseObject({ error: TurnError, willRetry: z.boolean() })
export const PlanNews = z.looseObject({
  plan: z.array(z.looseObject({ step: z.string(), status: z.string() })),
})
export const MessageNews = z.looseObject({
  message: z.string().optional(),
  summary: z.string().optional(),
})

const Tokens = z.looseObject({
  totalTokens: z.number(),
  /** With those that were read from the cache or written to it. */
  inputTokens: z.number(),
  cachedInputTokens: z.number().default(0),
  cacheWriteInputTokens: z.number().default(0),
  outputTokens: z.number(),
})
export type Tokens = z.infer<typeof Tokens>

export const UsageNews = z.looseObject({
  tokenUsage: z.looseObject({
    /** Of the thread so far. */
    total: Tokens,
    /** Of the last answer of the model. */
    last: Tokens,
    modelContextWindow: z.number().nullish().catch(null),
  }),
})

export const RateLimitNews = z.looseObject({
  rateLimits: z.looseObject({
    primary: z.unknown(),
    secondary: z.unknown(),
    rateLimitReachedType: z.string().nullish().catch(null),
  }),
})
export const RateLimitWindow = z.looseObject({
  usedPercent: z.number(),
  /** Seconds since 1970. */
  resetsAt: z.number().nullish().catch(null),
})

export const McpNews = z.looseObject({
  name: z.string(),
  status: z.string(),
  error: z.string().nullish().catch(null),
})

export const ResolvedNews = z.looseObject({ requestId: z.union([z.string(), z.number()]) })

export const ThreadResult = z.looseObject({
  thread: z.looseObject({ id: z.string(), path: z.string().nullish().catch(null) }),
})

export const TurnsResult = z.looseObject({ data: z.array(Turn) })

export const AccountResult = z.looseObject({
  account: z.unknown(),
  requiresOpenaiAuth: z.boolean(),
})

export const CommandApproval = z.looseObject({
  itemId: z.string(),
  command: z.string().nullish().catch(null),
  cwd: z.string().nullish().catch(null),
  reason: z.string().nullish().catch(null),
  /** A plain command, word by word, that could be allowed with whatever follows it. */
  proposedExecpolicyAmendment: z.array(z.string()).nullish().catch(null),
})

export const FileApproval = z.looseObject({
  itemId: z.string(),
  reason: z.string().nullish().catch(null),
})

export const Elicitation = z.looseObject({
  serverName: z.string(),
  _meta: z.looseObject({ codex_approval_kind: z.string().optional() }).nullish().catch(null),
})
