import { z } from 'zod'

/** What opencode's server says, as far as the driver reads it. Fields that it does not need are left as they come. */

const Time = z.looseObject({
  created: z.number().optional(),
  completed: z.number().optional(),
  start: z.number().optional(),
  end: z.number().optional(),
})

const Tokens = z.looseObject({
  input: z.number().catch(0),
  output: z.number().catch(0),
  reasoning: z.number().catch(0),
  cache: z.looseObject({ read: z.number().catch(0), write: z.number().catch(0) }),
})
export type Tokens = z.infer<typeof Tokens>

export const RuntimeError = z.looseObject({
  name: z.string(),
  data: z
    .looseObject({
      message: z.string().optional(),
      statusCode: z.number().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
})
export type RuntimeError = z.infer<typeof RuntimeError>

export const MessageInfo = z.looseObject({
  id: z.string(),
  sessionID: z.string(),
  role: z.string(),
  parentID: z.string().optional(),
  providerID: z.string().optional(),
  modelID: z.string().optional(),
  finish: z.string().optional(),
  cost: z.number().optional(),
  tokens: Tokens.optional().catch(undefined),
  time: Time.catch({}),
  error: RuntimeError.optional().catch(undefined),
})
export type MessageInfo = z.infer<typeof MessageInfo>

export const Part = z.looseObject({
  id: z.string(),
  sessionID: z.string(),
  messageID: z.string(),
  type: z.string(),
  text: z.string().optional(),
  synthetic: z.boolean().optional(),
  metadata: z.record(z.string(), z.unknown()).optional().catch(undefined),
  time: Time.optional().catch(undefined),
  tool: z.string().optional(),
  callID: z.string().optional(),
  state: z
    .looseObject({
      status: z.string(),
      input: z.unknown().optional(),
      output: z.string().optional(),
      error: z.string().optional(),
      metadata: z.record(z.string(), z.unknown()).optional().catch(undefined),
      time: Time.optional().catch(undefined),
      attachments: z.array(z.looseObject({ mime: z.string().optional() })).optional(),
    })
    .optional(),
})
export type Part = z.infer<typeof Part>

/** A message of a conversation, as the server and an export give it. */
export const StoredMessage = z.looseObject({ info: MessageInfo, parts: z.array(Part) })
export type StoredMessage = z.infer<typeof StoredMessage>

export const SessionInfo = z.looseObject({
  id: z.string(),
  directory: z.string(),
  parentID: z.string().optional(),
  time: z.looseObject({ updated: z.number().optional() }).catch({}),
})
export type SessionInfo = z.infer<typeof SessionInfo>

export const PermissionPrompt = z.looseObject({
  id: z.string(),
  sessionID: z.string(),
  permission: z.string(),
  patterns: z.array(z.string()).catch([]),
  metadata: z.record(z.string(), z.unknown()).catch({}),
  always: z.array(z.string()).catch([]),
  tool: z.looseObject({ messageID: z.string(), callID: z.string() }).optional(),
})
export type PermissionPrompt = z.infer<typeof PermissionPrompt>

const Status = z.looseObject({
  type: z.string(),
  attempt: z.number().optional(),
  message: z.string().optional(),
  /** Milliseconds since 1970 at which a call of the model is tried again. */
  next: z.number().optional(),
})
export type Status = z.infer<typeof Status>

const ofSession = <T extends string, F extends z.ZodRawShape>(type: T, fields: F) =>
  z.looseObject({
    type: z.literal(type),
    properties: z.looseObject({ sessionID: z.string(), ...fields }),
  })

const KnownEvent = z.discriminatedUnion('type', [
  ofSession('session.created', { info: SessionInfo }),
  ofSession('session.status', { status: Status }),
  ofSession('session.idle', {}),
  z.looseObject({
    type: z.literal('session.error'),
    properties: z.looseObject({ sessionID: z.string().optional(), error: RuntimeError.optional() }),
  }),
  ofSession('session.compacted', {}),
  ofSession('message.updated', { info: MessageInfo }),
  z.looseObject({
    type: z.literal('message.part.updated'),
    properties: z.looseObject({ part: Part }),
  }),
  ofSession('message.part.delta', {
    messageID: z.string(),
    partID: z.string(),
    field: z.string(),
    delta: z.string(),
  }),
  z.looseObject({ type: z.literal('permission.asked'), properties: PermissionPrompt }),
  ofSession('permission.replied', { requestID: z.string() }),
])
export type RuntimeEvent = z.infer<typeof KnownEvent>

/** Events that tell nothing which the timeline shows, or tell it a second time. */
const SILENT =
  /^(?:server|plugin|catalog|integration|reference|project|file|lsp|mcp|installation|ide|vcs|pty|tui|command|worktree|workspace|sync|question|todo|models-dev|account|skill|agent|config)\.|^session\.(?:updated|deleted|diff|next)|^message\.(?:removed|part\.removed)|\.v2\./

export type DecodedEvent =
  | { kind: 'event'; event: RuntimeEvent }
  | { kind: 'silent' }
  | { kind: 'unknown'; type: string }
  | { kind: 'garbage' }

/** Decodes the data of one event. What is of a known type and does not fit is `unknown` like a type that is not known. */
export function decodeEvent(text: string): DecodedEvent {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { kind: 'garbage' }
  }
  const known = KnownEvent.safeParse(value)
  if (known.success) return { kind: 'event', event: known.data }
  const type =
    typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined
  if (typeof type !== 'string') return { kind: 'garbage' }
  return SILENT.test(type) ? { kind: 'silent' } : { kind: 'unknown', type }
}
